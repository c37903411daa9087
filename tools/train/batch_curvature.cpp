#include "tools/train/batch_curvature.hpp"

#include <algorithm>
#include <optional>

#include "autograd/curvature.hpp"
#include "autograd/restored.hpp"
#include "tensor/error.hpp"
#include "tensor/random.hpp"

namespace glim {
namespace {

// Random numbers, mode and buffers of a model, until the end of the block.
class Undisturbed {
 public:
  explicit Undisturbed(Module& model) : model_(model), training_(model.training()) {
    for (const auto& [name, buffer] : model.named_buffers())
      buffers_.emplace_back(buffer, buffer.clone());
  }
  ~Undisturbed() {
    for (auto& [buffer, value] : buffers_) buffer.copy_(value);
    model_.train(training_);
  }
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;

 private:
  Module& model_;
  bool training_;
  std::vector<std::pair<Tensor, Tensor>> buffers_;
  Restored<Generator> random_{generator()};
};

// The model's parameters that the loss on the tape reads.
NamedParameters read_on(const Tape& tape, const Module& model) {
  NamedParameters leaves;
  for (const auto& [name, p] : model.named_parameters())
    if (tape.node_of(p) >= 0 && p.requires_grad()) leaves.emplace_back(name, p);
  return leaves;
}

std::vector<Var> vars_of(const NamedParameters& leaves) {
  std::vector<Var> xs;
  for (const auto& [name, p] : leaves) xs.push_back(p);
  return xs;
}

// An optimizer that states no threshold has none, and Adam has none before its first update.
std::optional<Optimizer::Stability> stability_of(const Optimizer& optimizer) {
  try {
    return optimizer.stability();
  } catch (const StateError&) {
    return {};
  }
}

constexpr LanczosOptions kTwoDigits{.tolerance = 1e-2, .steps = 15};

}  // namespace

BatchCurvature curvature_of_update(Trainer& trainer, Index first, Index end) {
  Learner& learner = trainer.learner();
  const Undisturbed undisturbed(learner.model());
  const Index shards = trainer.options().shards;
  Index targets = 0;
  Tape tape;
  Var loss;
  for (Index shard = 0; shard < shards; ++shard) {
    draw_as(trainer.state(), shard);
    for (Index part = first + shard; part < end; part += shards) {
      const BatchSize size = learner.size(Split::Train, part);
      if (size.samples == 0) continue;
      targets += size.targets;
      const Var sum = learner.loss(Split::Train, part, trainer.state().step).loss;
      loss = loss.defined() ? loss + sum : sum;
    }
  }
  loss = loss / static_cast<double>(targets);
  BatchCurvature found;
  try {
    const NamedParameters leaves = read_on(tape, learner.model());
    Hessian h(tape, loss, vars_of(leaves));
    found.largest = h.lanczos(kTwoDigits).values.back();
    const auto stability = stability_of(trainer.optimizer());
    if (!stability) return found;
    std::vector<Tensor> p;
    if (!stability->preconditioner.empty())
      for (const auto& [name, leaf] : leaves) p.push_back(stability->preconditioner.at(name));
    const double rate = trainer.schedule().rate(trainer.state().step + 1);
    h.precondition(p);
    found.stepped = rate * (p.empty() ? found.largest : h.lanczos(kTwoDigits).values.back());
    found.threshold = stability->threshold;
  } catch (const NonFiniteError&) {
  }
  return found;
}

std::vector<std::string> require_curvature(Learner& learner) {
  const Undisturbed undisturbed(learner.model());
  learner.model().eval();
  Tape tape;
  const Var loss = learner.probe(0);
  try {
    const Hessian h(tape, loss, vars_of(read_on(tape, learner.model())));
    h.lanczos({.tolerance = 0, .steps = 1});
    std::vector<std::string> kinks;
    for (const std::string& kink : h.kinks())
      if (const std::string op = kink.substr(0, kink.find(' '));
          std::ranges::find(kinks, op) == kinks.end())
        kinks.push_back(op);
    return kinks;
  } catch (const Error& e) {
    throw ValueError("--record-curvature", e.problem());
  }
}

}  // namespace glim

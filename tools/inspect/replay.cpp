#include "tools/inspect/replay.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

#include "optim/clip.hpp"
#include "tensor/error.hpp"
#include "tools/inspect/report/training_run.hpp"
#include "tools/train/learners/kinds.hpp"
#include "tools/train/learners/translation.hpp"
#include "tools/train/trainer.hpp"

namespace glim {
namespace {

// Of the batches first … end - 1, in eval() meanwhile.
std::vector<ReplayedSentence> sentences_of(TranslationLearner& learner, Index first, Index end) {
  auto parameters = learner.model().named_parameters();
  double targets = 0;
  for (Index b = first; b < end; ++b)
    targets += static_cast<double>(learner.size(Split::Train, b).targets);
  std::vector<ReplayedSentence> list;
  learner.model().eval();
  for (Index b = first; b < end; ++b) {
    std::vector<SentencePair> pairs = learner.batch_pairs(b);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      Measures ignored;
      Tape tape;
      tape.backward(mul(learner.pair_loss(b, i, ignored), 1 / targets));
      double norm = kNan;
      try {
        norm = gradient_norm(parameters);
      } catch (const NonFiniteError&) {  // the largest of all
      }
      list.push_back({pairs[i], norm});
      learner.model().zero_grad();
    }
  }
  learner.model().train();
  auto size = [](const ReplayedSentence& s) {
    return std::isnan(s.gradient_norm) ? HUGE_VAL : s.gradient_norm;
  };
  std::stable_sort(list.begin(), list.end(),
                   [&](const auto& a, const auto& b) { return size(a) > size(b); });
  return list;
}

// As a shell reads it.
std::string shell_word(const std::string& text) {
  if (std::all_of(text.begin(), text.end(),
                  [](unsigned char c) { return std::isalnum(c) || std::strchr("_-./+,:@", c); }))
    return text;
  std::string quoted = "'";
  for (char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace

ReplayedStep replay_step(const std::string& folder, Index step) {
  const TrainingRun run = read_training_run(folder);
  const Recording& r = run.recording;
  Index reached = r.stopped_at;
  for (const auto* steps : {&r.step, &run.train.step})
    if (!steps->empty()) reached = std::max(reached, steps->back());
  if (step < 1 || step > reached)
    throw ValueError("--step", fmt::format("the run in {} has the steps 1 to {}", folder, reached));
  auto files = steps_to_return_to(folder);
  auto after = files.lower_bound(step);
  if (after == files.begin())
    throw FileError(
        folder,
        "holds no step-N.safetensors from before the step: glim train --record keeps some, "
        "unless the model is too large");
  const std::string& file = std::prev(after)->second;

  Checkpoint from = load_checkpoint(file);
  if (!sequence_kind(from.kind))
    throw ValueError("--run",
                     fmt::format("the model in {} is of kind '{}', which reads no sentence pairs",
                                 folder, from.kind));
  TrainOptions options = from.options;
  options.out = folder;
  std::unique_ptr<Learner> learner = make_learner(options, &from);
  if (learner->fingerprint() != from.state.data)
    throw ValueError("--run", "the training data are no longer those of the run in " + folder);
  Trainer trainer(options, *learner, std::move(from));
  ReplayedStep result;
  result.from = trainer.state().step;
  auto& pairs = dynamic_cast<TranslationLearner&>(*learner);
  try {
    auto replayed = trainer.replay(step, [&](Index first, Index end) {
      result.sentences = sentences_of(pairs, first, end);
      Checkpoint& before = result.before;
      before.kind = learner->kind();
      before.description = learner->description();
      before.options = options;
      before.config_toml = options.to_toml();
      before.state = trainer.state();
      for (auto& [name, tensor] : learner->model().state_dict())
        before.weights[name] = tensor.clone();
    });
    result.loss = replayed.loss;
    result.gradient_norm = replayed.gradient_norm;
  } catch (const NonFiniteError&) {
    if (result.sentences.empty()) throw;
    result.loss = result.gradient_norm = kNan;
  }
  for (std::size_t i = 0; i < r.step.size(); ++i)
    if (r.step[i] == step) result.recorded = r.loss[i];
  return result;
}

std::string replay_command(const std::string& folder, const std::string& kind, Index step) {
  return sequence_kind(kind)
             ? fmt::format("glim inspect --run {} --step {}", shell_word(folder), step)
             : "";
}

}  // namespace glim

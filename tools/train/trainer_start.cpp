// A trainer before its first update: optimizer, number of updates, and the state of a run that goes on.
#include "optim/adam.hpp"
#include "optim/muon.hpp"
#include "optim/sgd.hpp"
#include "tensor/random.hpp"
#include "tools/common/toml.hpp"
#include "tools/train/trainer.hpp"

namespace glim {

Index planned_updates(const TrainOptions& o, Learner& learner) {
  // Batches differ in number a little from epoch to epoch; the first epoch's number is used for all.
  Index per_epoch = learner.begin(Split::Train, 0);
  Index updates = (per_epoch + o.accumulate - 1) / o.accumulate;
  Index all = updates * std::min(o.epochs, (Index{1} << 53) / std::max<Index>(updates, 1));
  return o.max_steps > 0 ? std::min(all, o.max_steps) : all;
}

namespace {

std::unique_ptr<Optimizer> make_optimizer(const TrainOptions& o, const Module& model) {
  auto parameters = model.named_parameters();
  if (o.optimizer == "sgd")
    return std::make_unique<Sgd>(
        parameters, SgdOptions{.momentum = o.momentum, .weight_decay = o.weight_decay});
  const AdamOptions a{.beta1 = o.beta1,
                      .beta2 = o.beta2,
                      .eps = o.epsilon,
                      .weight_decay = o.weight_decay,
                      .decay_matrices_only = o.optimizer == "adamw"};
  if (o.optimizer == "muon") {
    NamedParameters hidden, others;
    for (const auto& [name, p] : parameters)
      (p.rank() == 2 && name.find("layers.") != name.npos ? hidden : others).emplace_back(name, p);
    if (hidden.empty())
      throw ValueError("--optimizer", "muon updates matrices of numbered layers, and kind " +
                                          o.kind + " has none: take adamw");
    const MuonOptions m{.weight_decay = o.weight_decay,
                        .momentum = o.momentum,
                        .match_rms_adamw = true};  // one rate for all
    return std::make_unique<Muon>(hidden, m, others, a);
  }
  if (o.optimizer == "adamw") return std::make_unique<AdamW>(parameters, a);
  return std::make_unique<Adam>(parameters, a);
}

}  // namespace

Trainer::Trainer(const TrainOptions& options, Learner& learner, std::string config_toml,
                 const Processes& processes)
    : options_(options),
      learner_(learner),
      config_toml_(std::move(config_toml)),
      optimizer_(make_optimizer(options, learner.model())),
      total_steps_(planned_updates(options, learner)),
      schedule_(make_schedule(options, total_steps_)),
      shards_(learner.model().named_parameters(), options.shards, processes) {
  state_.seed = options.seed;
  state_.stream = static_cast<Index>(generator().stream());
  state_.data = learner.fingerprint();
}

Trainer::Trainer(const TrainOptions& options, Learner& learner, Checkpoint checkpoint,
                 const Processes& processes)
    : Trainer(options, learner, std::move(checkpoint.config_toml), processes) {
  state_ = checkpoint.state;
  saved_last_ = true;
  begins_ = false;
  if (state_.data != learner.fingerprint())
    throw ValueError("--resume",
                     "the training data are not those that the checkpoint was made with");
  const TrainOptions& was = checkpoint.options;
  bool room = state_.epoch < options_.epochs &&
              (options_.max_steps == 0 || state_.step < options_.max_steps);
  bool other_end = was.epochs != options_.epochs || was.max_steps != options_.max_steps ||
                   was.patience != options_.patience || was.enough != options_.enough;
  if (room && other_end) state_.finished = false;
  Index batches = learner_.begin(Split::Train, state_.epoch);
  if (state_.batch > batches)
    throw FileError(in_folder(options_.out, kLastFile),
                    "is at batch " + std::to_string(state_.batch) + " of an epoch that has " +
                        std::to_string(batches));
  learner_.model().load_state_dict(checkpoint.weights);
  try {
    optimizer_->load_state_dict(checkpoint.optimizer);
  } catch (const ValueError& e) {
    throw FileError(checkpoint.file, "is no file to resume from: of its optimizer " + e.problem());
  }
}

namespace {
// The value of an option that is no TrainOptions's.
std::string configured(const Checkpoint& c, std::string_view option, std::string otherwise) {
  for (const auto& [name, value] : read_toml(c.config_toml, "the checkpoint's configuration"))
    if (name == option) otherwise = value;
  return otherwise;
}
}  // namespace

GemmEngine gemm_engine_of(const Checkpoint& c) {
  return choose_gemm_engine(configured(c, "gemm", "builtin").c_str());
}
MatmulPrecision matmul_precision_of(const Checkpoint& c) {
  return matmul_precision_of(configured(c, "matmul-precision", "highest"));
}

}  // namespace glim

#include "tools/train/trainer.hpp"

#include <chrono>
#include <cmath>
#include <filesystem>

#include "autograd/magnification.hpp"
#include "nn/loss.hpp"
#include "optim/adam.hpp"
#include "optim/averaging.hpp"
#include "optim/clip.hpp"
#include "optim/sgd.hpp"
#include "tensor/elementwise.hpp"

namespace glim {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Tensor ids_of(const std::vector<std::int64_t>& list, Index rows, Index columns) {
  return from_vector(list, {rows, columns});
}

std::string in_folder(const std::string& folder, const std::string& name) {
  return (std::filesystem::path(folder) / name).string();
}

std::unique_ptr<Optimizer> make_optimizer(const TrainOptions& o, const Transformer& model) {
  auto parameters = model.named_parameters();
  if (o.optimizer == "sgd") {
    SgdOptions s;
    s.momentum = o.momentum;
    s.weight_decay = o.weight_decay;
    return std::make_unique<Sgd>(parameters, s);
  }
  AdamOptions a;
  a.beta1 = o.beta1;
  a.beta2 = o.beta2;
  a.eps = o.epsilon;
  a.weight_decay = o.weight_decay;
  if (o.optimizer == "adamw") return std::make_unique<AdamW>(parameters, a);
  return std::make_unique<Adam>(parameters, a);
}

void add_sums(Measures& to, const LossSums& sums) {
  to.kl += sums.kl;
  to.smoothed_ce += sums.smoothed_ce;
  to.nll += sums.nll;
  to.tokens += sums.tokens;
}
Measures per_token(Measures m) {
  auto n = static_cast<double>(std::max<Index>(m.tokens, 1));
  return {m.kl / n, m.smoothed_ce / n, m.nll / n, m.tokens};
}

}  // namespace

double Measures::perplexity() const { return std::exp(nll); }

Trainer::Trainer(const TrainOptions& options, const Dataset& data, std::string config_toml)
    : options_(options), data_(data), config_toml_(std::move(config_toml)) {
  seed(static_cast<std::uint64_t>(options.seed));
  build();
  state_.seed = options.seed;
  state_.stream = static_cast<Index>(generator().stream());
  state_.data = data.fingerprint();
}

Trainer::Trainer(const TrainOptions& options, const Dataset& data, Checkpoint from)
    : options_(options),
      data_(data),
      config_toml_(std::move(from.config_toml)),
      state_(from.state) {
  if (state_.data != data.fingerprint())
    throw ValueError("--resume",
                     "the training data are not those that the checkpoint was made with");
  build();
  model_->load_state_dict(from.weights);
  optimizer_->load_state_dict(from.optimizer);
}

void Trainer::build() {
  const TokenizerPair& t = data_.tokenizers;
  model_ = std::make_unique<Transformer>(
      transformer_config(options_, t.source->size(), t.target->size()));
  if (options_.precision == "float64") model_->to(DType::Float64);
  optimizer_ = make_optimizer(options_, *model_);
  // Batches differ in number a little from epoch to epoch; those of the first stand for all.
  auto per_epoch = static_cast<Index>(batches_of(0).size());
  total_steps_ = (per_epoch + options_.accumulate - 1) / options_.accumulate * options_.epochs;
  if (options_.max_steps > 0) total_steps_ = std::min(total_steps_, options_.max_steps);
  schedule_ = make_schedule(options_, total_steps_);
}

std::vector<std::vector<std::int64_t>> Trainer::batches_of(Index epoch) const {
  return epoch_batches(data_.train_tokens.pairs, batch_options(options_),
                       static_cast<std::uint64_t>(options_.seed), epoch);
}

static Var loss_of(Transformer& model, const Batch& b, double smoothing, LossSums& sums) {
  Tensor source = ids_of(b.source, b.size, b.source_length);
  Tensor target_in = ids_of(b.target_in, b.size, b.target_length);
  Tensor target_out = ids_of(b.target_out, b.size * b.target_length, 1).reshape({-1});
  Var logits = model.forward(source, target_in);  // (B, T, V) -> (B·T, V)
  return label_smoothing_loss(reshape(logits, {-1, logits.size(-1)}), target_out, smoothing,
                              model.config().pad, &sums);
}

Var Trainer::batch_loss(const Batch& batch, Index tokens, LossSums& sums) {
  Var total = loss_of(*model_, batch, options_.label_smoothing, sums);
  return mul(total, 1 / static_cast<double>(tokens));
}

Trainer::Update Trainer::update(const std::vector<Batch>& batches) {
  generator().set_state(static_cast<std::uint64_t>(state_.seed),
                        static_cast<std::uint64_t>(state_.stream));
  Index tokens = 0;
  for (const Batch& b : batches) tokens += b.target_tokens;
  Measures measured;
  for (const Batch& b : batches) {
    LossSums sums;
    Tape tape;
    Var loss = batch_loss(b, tokens, sums);
    add_sums(measured, sums);
    if (!std::isfinite(sums.kl))
      diagnose(batches, state_.seed, state_.stream, "the loss is not finite");
    tape.backward(loss);
  }
  auto parameters = model_->named_parameters();
  double norm = 0;
  try {
    norm = options_.clip > 0 ? clip_gradient_norm(parameters, options_.clip)
                             : gradient_norm(parameters);
  } catch (const NonFiniteError& e) {
    model_->zero_grad();
    diagnose(batches, state_.seed, state_.stream, e.problem());
  }
  optimizer_->set_rate(schedule_->rate(state_.step + 1));
  optimizer_->step();
  optimizer_->zero_grad();
  ++state_.step;
  state_.stream = static_cast<Index>(generator().stream());
  state_.tokens += measured.tokens;
  for (const Batch& b : batches) state_.samples += b.size;
  state_.epoch_kl += measured.kl;
  state_.epoch_ce += measured.smoothed_ce;
  state_.epoch_nll += measured.nll;
  state_.epoch_tokens += measured.tokens;
  return {per_token(measured), norm};
}

std::string Trainer::kept_checkpoint() const {
  std::string last = in_folder(options_.out, "last.safetensors");
  std::error_code error;
  return std::filesystem::exists(last, error) ? "the last good checkpoint is " + last
                                              : "there was no checkpoint yet";
}

void Trainer::diagnose(const std::vector<Batch>& batches, Index seed_value, Index stream,
                       const std::string& what) {
  std::string found = "no op gave such a number when the step was run again";
  std::string place;
  for (auto& [name, p] : model_->named_parameters())
    if (!all_finite(p.value())) {
      found = "the parameter " + name + " is not finite";
      place = name;
      break;
    }
  if (place.empty()) {
    generator().set_state(static_cast<std::uint64_t>(seed_value),
                          static_cast<std::uint64_t>(stream));
    Index tokens = 0;
    for (const Batch& b : batches) tokens += b.target_tokens;
    try {
      Magnify magnify(Magnification::Explicit);
      for (const Batch& b : batches) {
        LossSums sums;
        Tape tape({.check_finite = true});
        tape.backward(batch_loss(b, tokens, sums));
      }
    } catch (const NonFiniteError& e) {
      found = "first in " + e.one_line();
    }
  }
  throw NonFiniteError("train", "step " + std::to_string(state_.step + 1) + ": " + what + "; " +
                                    found + "; " + kept_checkpoint() +
                                    " (a lower --rate, a longer --warmup or --clip may help)");
}

Measures measure(Transformer& model, const std::vector<TokenPair>& pairs,
                 const BatchOptions& options, double smoothing) {
  bool training = model.training();
  model.eval();
  Paused no_tape;
  BatchOptions sorted = options;
  sorted.shuffle = false;
  Measures total;
  for (const auto& index : epoch_batches(pairs, sorted, 0, 0)) {
    LossSums sums;
    loss_of(model, make_batch(pairs, index, sorted), smoothing, sums);
    add_sums(total, sums);
  }
  model.train(training);
  return per_token(total);
}

Measures Trainer::validate() {
  if (data_.valid_tokens.pairs.empty()) return {};
  return measure(*model_, data_.valid_tokens.pairs, batch_options(options_),
                 options_.label_smoothing);
}

void Trainer::save(const std::string& name, bool with_optimizer, TrainObserver& observer) {
  // A finite step can still end in weights that are not: they replace no good checkpoint.
  for (const auto& [parameter, p] : model_->named_parameters())
    if (!all_finite(p.value()))
      throw NonFiniteError("train", "the parameter " + parameter + " is not finite after step " +
                                        std::to_string(state_.step) + "; " + kept_checkpoint() +
                                        " (a lower --rate, a longer --warmup or --clip may help)");
  Checkpoint c;
  c.model = model_->config();
  c.tokenizers = data_.tokenizers;
  c.options = options_;
  c.config_toml = config_toml_;
  c.state = state_;
  c.weights = model_->state_dict();
  if (with_optimizer) c.optimizer = optimizer_->state_dict();
  std::string path = in_folder(options_.out, name);
  save_checkpoint(path, c);
  observer.saved(path);
}

// Returns true when patience has run out.
bool Trainer::validate_and_save(TrainObserver& observer, bool epoch_end, double seconds) {
  ValidationReport report;
  report.train =
      per_token({state_.epoch_kl, state_.epoch_ce, state_.epoch_nll, state_.epoch_tokens});
  report.valid = validate();
  report.step = state_.step;
  report.epoch = state_.epoch + (epoch_end ? 0 : 1);
  report.epoch_end = epoch_end;
  report.seconds = seconds;
  ++state_.validations;
  // KL is what training lowers; without smoothing it is the NLL.
  double now_at = report.valid.tokens > 0 ? report.valid.kl : report.train.kl;
  report.improved = state_.validations == 1 || now_at < state_.best;
  if (report.improved) {
    state_.best = now_at;
    state_.best_step = state_.step;
    state_.bad_validations = 0;
  } else {
    ++state_.bad_validations;
  }
  if (epoch_end) {
    state_.epoch_kl = state_.epoch_ce = state_.epoch_nll = 0;
    state_.epoch_tokens = 0;
  }
  observer.validated(report);
  bool enough = options_.patience > 0 && state_.bad_validations >= options_.patience;
  bool end = enough || (epoch_end && state_.epoch >= options_.epochs) ||
             (options_.max_steps > 0 && state_.step >= options_.max_steps);
  state_.finished = end;
  // `last` comes after the others: a run that dies in between resumes before them and writes them
  // again, the same.
  if (report.improved) save("best.safetensors", false, observer);
  if (epoch_end && options_.average > 0) {
    save("epoch-" + std::to_string(state_.epoch) + ".safetensors", false, observer);
    std::error_code ignored;
    std::filesystem::remove(
        in_folder(options_.out,
                  "epoch-" + std::to_string(state_.epoch - options_.average) + ".safetensors"),
        ignored);
  }
  if (end && options_.average > 0) save_average(observer);
  save("last.safetensors", true, observer);
  return end;
}

void Trainer::save_average(TrainObserver& observer) {
  std::vector<StateDict> states;
  for (Index e = std::max<Index>(1, state_.epoch - options_.average + 1); e <= state_.epoch; ++e)
    states.push_back(
        load_checkpoint(in_folder(options_.out, "epoch-" + std::to_string(e) + ".safetensors"))
            .weights);
  if (states.empty()) return;
  StateDict trained;
  for (auto& [name, tensor] : model_->state_dict()) trained[name] = tensor.clone();
  model_->load_state_dict(average(states));
  save("average.safetensors", false, observer);
  model_->load_state_dict(trained);
}

bool Trainer::run(TrainObserver& observer, const std::atomic<bool>& stop) {
  model_->train();
  observer.started(state_);
  if (state_.finished && (state_.epoch < options_.epochs &&
                          (options_.max_steps == 0 || state_.step < options_.max_steps)))
    state_.finished = false;  // more epochs or steps were asked for
  while (!state_.finished) {
    auto order = batches_of(state_.epoch);
    auto count = static_cast<Index>(order.size());
    double epoch_start = now();
    while (state_.batch < count) {
      double start = now();
      Index end = std::min(count, state_.batch + options_.accumulate);
      std::vector<Batch> batches;
      for (Index i = state_.batch; i < end; ++i)
        batches.push_back(make_batch(data_.train_tokens.pairs, order[static_cast<std::size_t>(i)],
                                     batch_options(options_)));
      Update u = update(batches);
      state_.batch = end;
      observer.stepped({u.loss, optimizer_->rate(), u.gradient_norm, now() - start, state_.step,
                        state_.epoch + 1, state_.batch, count});
      bool limit = options_.max_steps > 0 && state_.step >= options_.max_steps;
      bool epoch_end = state_.batch >= count;
      if (epoch_end) break;
      if (limit || (options_.valid_every > 0 && state_.step % options_.valid_every == 0)) {
        if (validate_and_save(observer, false, now() - epoch_start)) return true;
      } else if (options_.save_every > 0 && state_.step % options_.save_every == 0) {
        save("last.safetensors", true, observer);
      }
      if (stop) {
        save("last.safetensors", true, observer);
        return false;
      }
    }
    ++state_.epoch;
    state_.batch = 0;
    if (validate_and_save(observer, true, now() - epoch_start)) break;
    if (stop) return false;
  }
  return true;
}

}  // namespace glim

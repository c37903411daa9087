// The networks of the label-smoothing study, trained alike but for the smoothing.
#include <algorithm>

#include "models/transformer/transformer.hpp"
#include "nn/activation.hpp"
#include "nn/loss.hpp"
#include "nn/sequential.hpp"
#include "optim/adam.hpp"
#include "tensor/ops/index.hpp"
#include "tools/kinds/pairs.hpp"
#include "tools/study/features.hpp"
#include "tools/study/measures.hpp"
#include "tools/study/sequences.hpp"
#include "tools/study/training.hpp"

namespace glim::label_smoothing {
namespace {

constexpr Index kLeastRows = 10;  // of a class that is looked at

TrainOptions run_options(std::uint64_t seed, bool small, double smoothing) {
  TrainOptions o;
  o.task = "phrasebook";
  o.target_tokenizer = "char";
  o.set("layers", small ? 1 : 2).set("d_model", small ? 32 : 64).set("heads", 4);
  o.set("d_ff", 128).set("norm", "pre").set("dropout", 0.1);
  o.epochs = 8;
  o.max_steps = small ? 10 : 0;
  o.batch_tokens = 1024;
  o.schedule = "cosine";
  o.rate = 2e-3;
  o.warmup = small ? 2 : 100;
  o.label_smoothing = smoothing;
  o.seed = static_cast<Index>(seed);
  return o;
}

// The decoder's output at each target token of the first `count` pairs.
Features decoder_features(Transformer& model, const std::vector<TokenPair>& pairs,
                          std::size_t count) {
  Features f;
  std::vector<Tensor> parts;
  for (std::size_t first = 0; first < count; first += 50) {
    std::vector<std::int64_t> index;
    for (std::size_t i = first; i < std::min(first + 50, count); ++i)
      index.push_back(static_cast<std::int64_t>(i));
    Batch b = make_batch(pairs, index);
    Tensor hidden =
        reshape(model.decode(b.target_in, model.encode(b.source), b.source).hidden.value(),
                {b.target_out.numel(), -1});
    std::vector<Index> kept;
    Index row = -1;
    for (Index target : b.target_out.to_vector<Index>()) {
      ++row;
      if (target == model.pad()) continue;
      kept.push_back(row);
      f.classes.push_back(target);
    }
    parts.push_back(rows_of(hidden, kept));
  }
  f.rows = concatenate(parts, 0).to(DType::Float64);
  return f;
}

}  // namespace

Trained train_classifier(const Points& train, const Points& held_out, double smoothing,
                         Index steps) {
  constexpr Index kClasses = 10, kFeatures = 64, kBatch = 200;
  Sequential body;
  body.append<Linear>(train.x.size(1), 2 * kFeatures);
  body.append<ReLU>();
  body.append<Linear>(2 * kFeatures, kFeatures);
  body.append<ReLU>();
  Linear head(kFeatures, kClasses);
  NamedParameters parameters = body.named_parameters();
  for (auto& [name, p] : head.named_parameters()) parameters.push_back({"head." + name, p});
  Adam adam(parameters, {.rate = 1e-3});
  CrossEntropyOptions loss;
  loss.label_smoothing = smoothing;
  Index batches = train.x.size(0) / kBatch;
  for (Index step = 0; step < steps; ++step) {
    Index first = step % batches * kBatch;
    Tape tape;
    Var logits = head(body(Var(narrow(train.x, 0, first, kBatch).contiguous())));
    tape.backward(
        cross_entropy(logits, narrow(train.classes, 0, first, kBatch).contiguous(), loss));
    adam.step();
    adam.zero_grad();
  }
  auto features = [&](const Points& p) {
    return Features{body(Var(p.x)).value().to(DType::Float64), p.classes.to_vector<Index>()};
  };
  return {cluster_spread(features(train), kLeastRows),
          cluster_spread(features(held_out), kLeastRows),
          accuracy_of(head(body(Var(held_out.x))), held_out.classes)};
}

Trained train_transformer(std::uint64_t seed, bool small, double smoothing) {
  TrainOptions o = run_options(seed, small, smoothing);
  StudyRun run = train_for_study(o);
  if (run.diverged) throw NonFiniteError("label-smoothing", "the training run diverged");
  auto& translation = dynamic_cast<TranslationLearner&>(*run.learner);
  auto& model = dynamic_cast<Transformer&>(translation.sequence_model());
  model.eval();
  const std::vector<TokenPair>&held_out = translation.data().valid_tokens.pairs,
        &known = translation.data().train_tokens.pairs;
  const std::size_t count = std::min(held_out.size(), known.size());
  Features f = decoder_features(model, known, count);
  return {cluster_spread(f, kLeastRows),
          cluster_spread(decoder_features(model, held_out, count), kLeastRows), run.valid.nll, f};
}

}  // namespace glim::label_smoothing

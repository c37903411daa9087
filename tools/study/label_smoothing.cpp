// label-smoothing: what it asks of the logits, and what it does to the features before them.
//
// Szegedy et al. 2016 (arXiv 1512.00567), section 7: with a smoothed target q the gradient of the
// cross-entropy by the logits is p - q, which is 0 at p = q: no logit is pushed without end. Müller
// et al. 2019 (arXiv 1906.02629), abstract and section 2: training examples of a class then group in
// tighter clusters in the layer before the logits.
//
// The first is checked on the losses themselves, in float64. For the second two networks are trained
// alike but for ε = 0 and 0.1, and tight is a small ratio of the variance within classes to the
// variance between them. Their words are about training examples, so these decide; examples not
// trained on are shown beside. Twice:
//
//   classifier    as Müller's, trained until it knows its data: 10 classes of points N(template, I)
//                 in 32 dimensions, features of 64 ReLUs
//   Transformer   trained on the phrasebook; the features are the decoder's output at each target
//                 token, the class is that token (a character)
//
// The pictures are Müller's: three classes of the Transformer on the plane through their means.
#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/magnification.hpp"
#include "models/transformer/transformer.hpp"
#include "nn/activation.hpp"
#include "nn/loss.hpp"
#include "nn/sequential.hpp"
#include "optim/adam.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/study/all_studies.hpp"
#include "tools/study/features.hpp"
#include "tools/study/measures.hpp"
#include "tools/study/statistics.hpp"
#include "tools/study/training.hpp"
#include "tools/train/learners/translation.hpp"

namespace glim {

double smoothing_gradient_error(const Tensor& logits, const Tensor& target, double smoothing,
                                double epsilon, Index pad) {
  Index rows = logits.size(0), classes = logits.size(1);
  Tensor p = softmax(logits), wanted = p.clone(), wanted_torch = p.clone();
  auto t = target.to_vector<Index>();
  auto v = static_cast<double>(classes);
  for (Index i = 0; i < rows; ++i)
    for (Index c = 0; c < classes; ++c) {
      Index truth = t[static_cast<std::size_t>(i)];
      double q = c == truth ? 1 - epsilon : c == pad ? 0 : epsilon / (v - 2);
      double* element = wanted.data<double>() + i * classes + c;
      *element = truth == pad ? 0 : *element - q;
      wanted_torch.data<double>()[i * classes + c] -= (c == truth ? 1 - epsilon : 0) + epsilon / v;
    }
  auto error = [&](const auto& loss, const Tensor& expected) {
    Var x = Var::leaf(logits.clone());
    Tape tape;
    tape.backward(loss(x));
    return max(abs(sub(x.grad(), expected))).item();
  };
  CrossEntropyOptions options;
  options.label_smoothing = smoothing;
  options.reduction = Reduction::Sum;
  return std::max(
      error([&](const Var& x) { return label_smoothing_loss(x, target, smoothing, pad); }, wanted),
      error([&](const Var& x) { return cross_entropy(x, target, options); }, wanted_torch));
}

namespace {

TrainOptions run_options(std::uint64_t seed, bool small, double smoothing) {
  TrainOptions o;
  o.task = "phrasebook";
  o.target_tokenizer = "char";
  o.layers = small ? 1 : 2;
  o.d_model = small ? 32 : 64;
  o.heads = 4;
  o.d_ff = 128;
  o.norm = "pre";
  o.dropout = 0.1;
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
                          std::size_t count, const TrainOptions& options) {
  Features f;
  std::vector<Tensor> parts;
  for (std::size_t first = 0; first < count; first += 50) {
    std::vector<std::int64_t> index;
    for (std::size_t i = first; i < std::min(first + 50, count); ++i)
      index.push_back(static_cast<std::int64_t>(i));
    Batch b = make_batch(pairs, index, batch_options(options));
    Tensor src = from_vector(b.source, {b.size, b.source_length});
    Tensor hidden = reshape(
        model.decode(from_vector(b.target_in, {b.size, b.target_length}), model.encode(src), src)
            .hidden.value(),
        {b.size * b.target_length, -1});
    std::vector<Index> kept;
    for (std::size_t i = 0; i < b.target_out.size(); ++i) {
      if (b.target_out[i] == model.pad()) continue;
      kept.push_back(static_cast<Index>(i));
      f.classes.push_back(b.target_out[i]);
    }
    parts.push_back(rows_of(hidden, kept));
  }
  f.rows = concatenate(parts, 0).to(DType::Float64);
  return f;
}

// Points N(template, I) about templates N(0, ¼), and their classes.
struct Points {
  Tensor x, classes;
};
Points draw_points(const Tensor& templates, Index count) {
  Tensor classes = random_integers({count}, 0, templates.size(0), generator().next());
  Tensor noise = normal({count, templates.size(1)}, 0, 1, generator().next());
  return {add(index_select(templates, 0, classes), noise), classes};
}

struct ClassifierRun {
  double spread = 0, train_spread = 0, accuracy = 0;  // accuracy: held out
};

ClassifierRun train_classifier(const Points& train, const Points& held_out, double smoothing,
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
  auto spread = [&](const Points& p) {
    return cluster_spread({body(Var(p.x)).value().to(DType::Float64), p.classes.to_vector<Index>()},
                          10);
  };
  Tensor found = argmax(head(body(Var(held_out.x))).value(), -1);
  return {spread(held_out), spread(train),
          mean(equal(found, held_out.classes).to(DType::Float64)).item()};
}

Measurement trained_pair(std::uint64_t seed, bool small) {
  Measurement m;
  double error = 0;
  const Index classes = 12, rows = 40;
  for (Magnification how : {Magnification::Fused, Magnification::Explicit})
    for (double smoothing : {0.0, 0.1, 0.5}) {
      Magnify magnify(how);
      Tensor logits = normal({rows, classes}, 0, 3, generator().next(), DType::Float64);
      Tensor target = random_integers({rows}, 0, classes, generator().next());
      error = std::max(error, smoothing_gradient_error(logits, target, smoothing, smoothing, 0));
    }
  m.values["gradient"] = error;
  {
    Tensor templates = normal({10, 32}, 0, 0.5, generator().next());
    Points train = draw_points(templates, small ? 400 : 2000);
    Points held_out = draw_points(templates, small ? 400 : 2000);
    const Index steps = small ? 20 : 1000;
    RandomKey weights = generator().next();  // both start from the same
    auto trained = [&](double smoothing) {
      Generator before = generator();
      generator().set_state(weights.seed + 1, weights.stream);
      ClassifierRun run = train_classifier(train, held_out, smoothing, steps);
      generator() = before;
      return run;
    };
    ClassifierRun hard = trained(0), smoothed = trained(0.1);
    m.values["classifier_ratio"] = smoothed.spread / hard.spread;
    m.values["classifier_train_ratio"] = smoothed.train_spread / hard.train_spread;
    m.values["classifier_hard"] = hard.accuracy;
    m.values["classifier_smoothed"] = smoothed.accuracy;
  }
  std::vector<double> spreads, train_spreads;
  for (double smoothing : {0.0, 0.1}) {
    TrainOptions o = run_options(seed, small, smoothing);
    StudyRun run = train_for_study(o);
    if (run.diverged) throw NonFiniteError("label-smoothing", "the training run diverged");
    auto& translation = dynamic_cast<TranslationLearner&>(*run.learner);
    auto& model = dynamic_cast<Transformer&>(translation.sequence_model());
    model.eval();
    const std::vector<TokenPair>&held_out = translation.data().valid_tokens.pairs,
          &known = translation.data().train_tokens.pairs;
    std::size_t count = std::min(held_out.size(), known.size());
    auto features = [&](const std::vector<TokenPair>& pairs) {
      return decoder_features(model, pairs, count, o);
    };
    auto spread = [](const Features& f) { return cluster_spread(f, 10); };
    Features f = features(known);
    train_spreads.push_back(spread(f));
    spreads.push_back(spread(features(held_out)));
    bool smoothed = smoothing > 0;
    m.values[smoothed ? "nll_smoothed" : "nll_hard"] = run.valid.nll;
    m.values[smoothed ? "spread_smoothed" : "spread_hard"] = train_spreads.back();
    draw_plane(f, smoothed ? "smoothed" : "hard", m);
  }
  m.values["train_ratio"] = train_spreads[1] / train_spreads[0];
  m.values["ratio"] = spreads[1] / spreads[0];
  return m;
}

}  // namespace

Study label_smoothing_study() {
  return {
      "label-smoothing",
      "The logit gradient equals p - q; the penultimate features of training "
      "examples cluster more tightly.",
      "Szegedy et al. 2016, arXiv 1512.00567, section 7; Müller et al. 2019, arXiv 1906.02629",
      "gradient: 40 rows of 12 classes, ε 0, 0.1, 0.5, both losses, fused and explicit, float64; "
      "classifier: 32, 128, 64, 10 units, ReLU, 2,000 points and 2,000 held out, 1,000 updates of "
      "200, Adam at 1e-3; Transformers of 2 + 2 layers, d 64, d_ff 128, 4 heads, dropout 0.1, 8 "
      "epochs of the phrasebook at 1,024 tokens, peak rate 2e-3, 500 sentences trained on and 500 "
      "held out, "
      "characters "
      "that occur 10 times or more",
      "gradient: 40 rows of 12 classes, ε 0, 0.1, 0.5; classifier: 32, 128, 64, 10 units, 400 "
      "points, 20 updates; Transformers of 1 + 1 layers, d 32, 10 updates",
      {
          {"gradient", "largest |∂ℓ/∂logits - (p - q)|", 0, 1e-14,
           "an identity; what is left is rounding of numbers below 1 (2^-53 = 1e-16 each)."},
          {"classifier_train_ratio",
           "classifier: variance within/between classes, ε = 0.1 against ε = 0", 0, 0.99,
           "tighter is below 1; a hundredth less is no difference."},
          {"train_ratio", "Transformer: the same", 0, 0.99,
           "the claim names no kind of network (theirs are image classifiers)."},
          {"classifier_ratio", "classifier: the same, of held-out data", 0, 0.99,
           "the same criterion, for data that the claim does not mention.", false},
          {"ratio", "Transformer: the same, of held-out data", 0, 0.99,
           "the same criterion, for data that the claim does not mention.", false},
          {"classifier_hard", "classifier, ε = 0: accuracy, held out", 0, 1, "shown.", false},
          {"classifier_smoothed", "classifier, ε = 0.1: accuracy, held out", 0, 1, "shown.", false},
          {"spread_hard", "Transformer, ε = 0: variance within/between classes", 0, kInf, "shown.",
           false},
          {"spread_smoothed", "Transformer, ε = 0.1: the same", 0, kInf, "shown.", false},
          {"nll_hard", "Transformer, ε = 0: validation NLL (nats per token)", 0, kInf, "shown.",
           false},
          {"nll_smoothed", "Transformer, ε = 0.1: the same", 0, kInf, "shown.", false},
      },
      {{"hard", "Features of three characters, ε = 0", "along μ₂ - μ₁", "across", false, false,
        true},
       {"smoothed", "Features of three characters, ε = 0.1", "along μ₂ - μ₁", "across", false,
        false, true}},
      trained_pair};
}

}  // namespace glim

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

#include "autograd/op_form.hpp"
#include "autograd/restored.hpp"
#include "nn/loss.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/study/measures.hpp"

namespace glim::label_smoothing {

double smoothing_gradient_error(const Tensor& logits, const Tensor& target, double smoothing,
                                double epsilon, Index pad) {
  Index rows = logits.size(0), classes = logits.size(1);
  Tensor p = softmax(logits), dx_glim = p.clone(), dx_torch = p.clone();
  auto t = target.to_vector<Index>();
  auto v = static_cast<double>(classes);
  for (Index i = 0; i < rows; ++i)
    for (Index c = 0; c < classes; ++c) {
      Index truth = t[static_cast<std::size_t>(i)];
      double q = c == truth ? 1 - epsilon : c == pad ? 0 : epsilon / (v - 2);
      double* element = dx_glim.data<double>() + i * classes + c;
      *element = truth == pad ? 0 : *element - q;
      dx_torch.data<double>()[i * classes + c] -= (c == truth ? 1 - epsilon : 0) + epsilon / v;
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
      error([&](const Var& x) { return label_smoothing_loss(x, target, smoothing, pad); }, dx_glim),
      error([&](const Var& x) { return cross_entropy(x, target, options); }, dx_torch));
}

namespace {

// About templates N(0, ¼).
Points draw_points(const Tensor& templates, Index count) {
  Tensor classes = random_integers({count}, 0, templates.size(0), generator().next());
  Tensor noise = normal({count, templates.size(1)}, 0, 1, generator().next());
  return {add(index_select(templates, 0, classes), noise), classes};
}

}  // namespace

Measurement measure(std::uint64_t seed, bool small) {
  Measurement m;
  double error = 0;
  const Index classes = 12, rows = 40;
  for (OpForm how : {OpForm::Fused, OpForm::Explicit})
    for (double smoothing : {0.0, 0.1, 0.5}) {
      UseForm use(how);
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
      Restored random_numbers(generator());
      generator().set_state(weights.seed + 1, weights.stream);
      return train_classifier(train, held_out, smoothing, steps);
    };
    Trained hard = trained(0), smoothed = trained(0.1);
    m.values["classifier_ratio"] = smoothed.held_out_spread / hard.held_out_spread;
    m.values["classifier_train_ratio"] = smoothed.train_spread / hard.train_spread;
    m.values["classifier_hard"] = hard.score;
    m.values["classifier_smoothed"] = smoothed.score;
  }
  Trained hard = train_transformer(seed, small, 0), smoothed = train_transformer(seed, small, 0.1);
  m.values["nll_hard"] = hard.score;
  m.values["nll_smoothed"] = smoothed.score;
  m.values["spread_hard"] = hard.train_spread;
  m.values["spread_smoothed"] = smoothed.train_spread;
  m.values["train_ratio"] = smoothed.train_spread / hard.train_spread;
  m.values["ratio"] = smoothed.held_out_spread / hard.held_out_spread;
  draw_plane(hard.features, "hard", m);
  draw_plane(smoothed.features, "smoothed", m);
  return m;
}

}  // namespace glim::label_smoothing

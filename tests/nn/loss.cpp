// Losses against torch's, and the properties of label smoothing.
#include "nn/loss.hpp"

#include <cmath>
#include <limits>

#include "nn/linear.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tests/catch.hpp"
#include "tests/reference.hpp"

namespace test_loss {

using namespace glim;

namespace {

constexpr DType kDouble = DType::Float64;

Reduction reduction_named(const std::string& name) {
  return name == "none" ? Reduction::None : name == "sum" ? Reduction::Sum : Reduction::Mean;
}

// Value and gradient of every case whose name begins with `prefix`; returns how many there were.
int check_losses(const std::string& prefix, double wider,
                 const std::function<Var(const Var& x, const Var& target, const Var& weight,
                                         const nlohmann::json& config)>& loss) {
  Reference ref("layers");
  int cases = 0;
  for (const std::string& name : ref.cases(prefix)) {
    ++cases;
    in_every_form([&](DType dtype) {
      INFO(name << " " << name_of(dtype));
      Var x = Var::leaf(ref.get(name + ".x", dtype)), target(ref.get(name + ".target", dtype));
      Var weight = ref.has(name + ".weight") ? Var(ref.get(name + ".weight", dtype)) : Var();
      const bool both = ref.has(name + ".dtarget");
      if (both) target = Var::leaf(target.value());
      Tape tape;
      Var y = loss(x, target, weight, ref.config(name));
      double tolerance = wider * tolerance_of(dtype);
      CHECK(distance(y.value(), ref.get(name + ".y")) <= tolerance);
      tape.backward(y, ref.get(name + ".dy", dtype));
      CHECK(distance(x.grad(), ref.get(name + ".dx")) <= tolerance);
      if (both) CHECK(distance(target.grad(), ref.get(name + ".dtarget")) <= tolerance);
    });
  }
  return cases;
}

// KL to the smoothed target by token, where id 0 is padding: of this batch's tokens, or of `tokens`.
MeasuredLoss by_token(const Var& logits, const Tensor& target, double smoothing, Index tokens = 0) {
  auto [loss, sums] = label_smoothing_loss(reshape(logits, {target.numel(), logits.size(-1)}),
                                           reshape(target, {-1}), smoothing, 0);
  return {loss / static_cast<double>(tokens > 0 ? tokens : sums.tokens), sums};
}

// The distribution that the smoothed loss aims at, from its gradient p - q.
Tensor smoothed_target(const Tensor& target, Index classes, double smoothing, Index pad) {
  Var logits = Var::leaf(normal({target.numel(), classes}, 0, 1, {9, 1}, kDouble));
  Tape tape;
  tape.backward(label_smoothing_loss(logits, target, smoothing, pad));
  Tensor real = unsqueeze(not_equal(target, static_cast<double>(pad)), 1).to(kDouble);
  return sub(mul(softmax(logits.value()), real), logits.grad());
}

}  // namespace

TEST_CASE("losses equal torch's", "[loss][reference]") {
  CHECK(check_losses("cross_entropy_", 1,
                     [](const Var& x, const Var& target, const Var& weight, const auto& c) {
                       return cross_entropy(
                           x, target,
                           {.ignore_index = c.value("ignore_index", kIgnoreNothing),
                            .label_smoothing = c.value("label_smoothing", 0.0),
                            .reduction = reduction_named(c["reduction"]),
                            .weight = weight});
                     }) == 37);
  CHECK(check_losses("mse_", 1, [](const Var& x, const Var& target, const Var&, const auto& c) {
          return mse_loss(x, target, reduction_named(c["reduction"]));
        }) == 3);
}

TEST_CASE("a distribution on one class is that class", "[loss]") {
  Var logits(normal({2, 3, 5}, 0, 2, {3, 1}, kDouble)),
      weight(uniform({5}, 0.5, 2, {3, 2}, kDouble));
  Tensor target = from_vector<Index>({3, 0, 1, 4, 0, 2}, {2, 3});
  for (double smoothing : {0.0, 0.2, 1.0})
    for (Reduction r : {Reduction::None, Reduction::Sum}) {
      CrossEntropyOptions o{.label_smoothing = smoothing, .reduction = r, .weight = weight};
      Tensor classes = cross_entropy(logits, target, o).value();
      CHECK(close(cross_entropy(logits, one_hot(target, 5, kDouble), o).value(), classes, 1e-13));
    }
}

// A class with no logit (-∞) takes no part where its share or its weight is 0.
TEST_CASE("0 ln 0 is 0 in a cross-entropy", "[loss]") {
  const double none = -std::numeric_limits<double>::infinity();
  Var logits = Var::leaf(from_vector<double>({1, none, 2, 0.5, 1, none}, {2, 3}));
  Var q = Var::leaf(from_vector<double>({0.25, 0, 0.75, 0, 1, 0}, {2, 3}));
  Var weight(from_vector<double>({1, 1, 0}, {3}));
  Tape tape;
  Var loss = cross_entropy(logits, q, {.reduction = Reduction::Sum});
  const double p = std::exp(-1.0) / (1 + std::exp(-1.0)), r = 1 / (1 + std::exp(-0.5));
  CHECK(loss.item() == Approx(-0.25 * std::log(p) - 0.75 * std::log(1 - p) - std::log(r)));
  Tensor zero_weight = from_vector<Index>({0, 2}, {2});
  loss = loss + cross_entropy(logits, zero_weight, {.reduction = Reduction::Sum, .weight = weight});
  tape.backward(loss);
  CHECK(all_finite(logits.grad()));
  CHECK(all_finite(q.grad()));
  CHECK(logits.grad().at<double>({0, 1}) == 0);
  // ∂L/∂q = -ln p where q is 0, too.
  CHECK(q.grad().at<double>({1, 0}) == Approx(-std::log(1 - r)));
}

TEST_CASE("mean squared error has a gradient for both", "[loss][reference]") {
  Reference ref("layers");
  Var x = Var::leaf(ref.get("mse_mean.x")), y = Var::leaf(ref.get("mse_mean.target"));
  Tape tape;
  tape.backward(mse_loss(x, y), ref.get("mse_mean.dy"));
  CHECK(close(x.grad(), ref.get("mse_mean.dx")));
  CHECK(close(y.grad(), ref.get("mse_mean.dtarget")));
}

TEST_CASE("ignored rows count nowhere", "[loss]") {
  Var logits = Var::leaf(normal({4, 5}, 0, 2, {1, 1}, kDouble));
  Tensor target = from_vector<Index>({3, -1, 0, -1}, {4});  // ignored ones need be no class
  Tape tape;
  Var loss = cross_entropy(logits, target, {.ignore_index = -1, .label_smoothing = 0.2});
  tape.backward(loss);
  Tensor rows = index_select(logits.value(), 0, from_vector<Index>({0, 2}, {2}));
  Var of_rows = cross_entropy(Var(rows), from_vector<Index>({3, 0}, {2}), {.label_smoothing = 0.2});
  CHECK(loss.item() == Approx(of_rows.item()).epsilon(1e-14));
  for (Index row : {1, 3})
    CHECK(same_bits(select(logits.grad(), 0, row).contiguous(), zeros({5}, kDouble)));
}

TEST_CASE("a mean over nothing is zero, with zero gradient", "[loss]") {
  Var logits = Var::leaf(normal({2, 5}, 0, 2, {1, 1}));
  Tensor target = zeros({2}, DType::Int64);
  Tape tape;
  Var loss = cross_entropy(logits, target, {.ignore_index = 0, .label_smoothing = 0.1});
  CHECK(loss.item() == 0);
  Var smoothed = label_smoothing_loss(logits, target, 0.1, 0);
  CHECK(smoothed.item() == 0);
  tape.backward(add(loss, smoothed));
  CHECK(same_bits(abs(logits.grad()), zeros({2, 5})));
  Var empty_logits(zeros({0, 5}));
  CHECK(cross_entropy(empty_logits, zeros({0}, DType::Int64)).item() == 0);
  CHECK(cross_entropy(empty_logits, zeros({0, 5})).item() == 0);
  for (double smoothing : {0.0, 0.1}) {  // Σ w[t] is 0
    CrossEntropyOptions o{.label_smoothing = smoothing, .weight = Var(tensor({0, 1, 1, 1, 1}))};
    Var x = Var::leaf(normal({2, 5}, 0, 2, {1, 1}));
    Tape again;
    Var of_zero_weights = cross_entropy(x, target, o);
    CHECK(of_zero_weights.item() == 0);
    again.backward(of_zero_weights);
    CHECK(same_bits(abs(x.grad()), zeros({2, 5})));
  }
  CHECK(label_smoothing_loss(empty_logits, zeros({0}, DType::Int64), 0.1, 0).item() == 0);
}

TEST_CASE("the fused projection and loss of no rows has zero gradients", "[loss]") {
  { Tensor before = full({5, 3}, 7.0); }  // what a new tensor's memory may hold
  Var x = Var::leaf(zeros({0, 3})), weight = Var::leaf(ones({5, 3})), bias = Var::leaf(ones({5}));
  Tape tape;
  Var loss = linear_label_smoothing_loss(x, weight, bias, empty({0}, DType::Int64), 0.1, 0);
  CHECK(loss.item() == 0);
  tape.backward(loss);
  CHECK(weight.grad().to_vector<float>() == std::vector<float>(15, 0.0f));
  CHECK(bias.grad().to_vector<float>() == std::vector<float>(5, 0.0f));
}

TEST_CASE("the smoothed distribution", "[loss][smoothing]") {
  Tensor target = from_vector<Index>({3, 0, 1, 4, 0}, {5});
  for (double smoothing : {0.0, 0.1, 0.6}) {
    for (Index classes : {5, 9}) {
      INFO("smoothing " << smoothing << " classes " << classes);
      Tensor q = smoothed_target(target, classes, smoothing, 0);
      for (Index n = 0; n < 5; ++n) {
        Tensor row = select(q, 0, n);
        Index t = static_cast<Index>(target.at<std::int64_t>({n}));
        if (t == 0) {  // padding: nothing at all
          CHECK(same_bits(abs(row.contiguous()), zeros({classes}, kDouble)));
          continue;
        }
        CHECK(sum(row).item() == Approx(1).epsilon(1e-13));
        for (Index v = 0; v < classes; ++v) {
          double expected = v == t   ? 1 - smoothing
                            : v == 0 ? 0
                                     : smoothing / static_cast<double>(classes - 2);
          CHECK(std::abs(row.at<double>({v}) - expected) <= 1e-14);
        }
      }
    }
  }
}

TEST_CASE("the smallest vocabularies", "[loss][smoothing]") {
  // V = 3: pad, the target, and one other class, which takes all of ε.
  Tensor q = smoothed_target(from_vector<Index>({1, 2}, {2}), 3, 0.25, 0);
  CHECK(close(q, from_vector<double>({0, 0.75, 0.25, 0, 0.25, 0.75}, {2, 3}), 1e-14));
  q = smoothed_target(from_vector<Index>({1, 2}, {2}), 3, 0, 0);
  CHECK(close(q, from_vector<double>({0, 1, 0, 0, 0, 1}, {2, 3}), 1e-14));
  // V = 2 leaves no class for ε.
  Var two = Var(zeros({1, 2}));
  Tensor one = from_vector<Index>({1}, {1});
  CHECK_THROWS_AS(label_smoothing_loss(two, one, 0.1, 0), ValueError);
  CHECK(label_smoothing_loss(two, one, 0, 0).item() == Approx(std::log(2)));
}

TEST_CASE("without smoothing the loss is plain cross-entropy", "[loss][smoothing]") {
  Var logits = Var(normal({6, 7}, 0, 2, {4, 1}, kDouble));
  Tensor target = from_vector<Index>({3, 0, 1, 6, 0, 2}, {6});
  auto [loss_var, sums] = by_token(logits, target, 0);
  double loss = loss_var.item();
  CHECK(loss == Approx(cross_entropy(logits, target, {.ignore_index = 0}).item()).epsilon(1e-14));
  CHECK(sums.tokens == 4);
  CHECK(sums.kl == Approx(sums.nll));
  CHECK(sums.smoothed_ce == Approx(sums.nll));
}

TEST_CASE("the divisor counts real tokens alone", "[loss][smoothing]") {
  Tensor values = normal({2, 3, 6}, 0, 1, {4, 2}, kDouble);
  Tensor target = from_vector<Index>({2, 3, 0, 5, 0, 0}, {2, 3});  // (B, T)
  auto [loss_var, sums] = by_token(Var(values), target, 0.1);
  double loss = loss_var.item();
  CHECK(sums.tokens == 3);
  CHECK(loss == Approx(sums.kl / 3).epsilon(1e-14));
  auto [one, its] = by_token(Var(narrow(values, 1, 0, 1)), from_vector<Index>({2, 0}, {2, 1}), 0.1);
  CHECK(its.tokens == 1);
  CHECK(one.item() == Approx(its.kl).epsilon(1e-14));
  CHECK(one.item() > 0.1);
  // More padding, whatever its logits, changes neither loss nor measures.
  Tensor padded = concatenate(std::vector<Tensor>{values, full({2, 4, 6}, 50, kDouble)}, 1);
  Tensor padded_target = concatenate(std::vector<Tensor>{target, zeros({2, 4}, DType::Int64)}, 1);
  auto [padded_loss, more] = by_token(Var(padded), padded_target, 0.1);
  CHECK(padded_loss.item() == Approx(loss).epsilon(1e-13));
  CHECK(more.tokens == 3);
  CHECK(more.nll == Approx(sums.nll).epsilon(1e-13));
  // KL is below the smoothed cross-entropy by the entropy of q at any fit.
  double entropy = -(0.9 * std::log(0.9) + 0.1 * std::log(0.1 / 4));
  CHECK(sums.smoothed_ce - sums.kl == Approx(3 * entropy).epsilon(1e-13));
}

TEST_CASE("parts of a batch give the joined batch's gradient", "[loss][smoothing]") {
  // Two parts of unequal numbers of tokens, each divided by the number of both.
  Linear generator_layer(4, 6);
  generator_layer.to(kDouble);
  Tensor x = normal({2, 3, 4}, 0, 1, {4, 3}, kDouble);
  Tensor target = from_vector<Index>({2, 3, 1, 5, 0, 0}, {2, 3});
  {
    Tape tape;
    tape.backward(by_token(generator_layer(Var(x)), target, 0.1));
  }
  Tensor joined = generator_layer.weight.grad().clone();
  generator_layer.zero_grad();
  for (Index part : {0, 1}) {
    Tape tape;
    tape.backward(
        by_token(generator_layer(Var(narrow(x, 0, part, 1))), narrow(target, 0, part, 1), 0.1, 4));
  }
  CHECK(close(generator_layer.weight.grad(), joined, 1e-14));
}

TEST_CASE("the smoothed loss of the Transformer's reference", "[loss][smoothing][reference]") {
  SafeTensors file =
      read_safetensors(std::string(GLIM_REFERENCE) + "/transformer_post_tied.safetensors");
  auto& t = file.tensors;
  Var logits = Var::leaf(t.at("logits"));
  Tape tape;
  auto [loss, sums] = by_token(logits, t.at("tgt_out"), 0.1);
  CHECK(loss.item() == Approx(t.at("loss").item()).epsilon(1e-12));
  tape.backward(loss);
  CHECK(close(logits.grad(), t.at("dlogits"), 1e-13));
  double tokens = t.at("tokens").item();
  CHECK(static_cast<double>(sums.tokens) == tokens);
  CHECK(sums.nll / tokens == Approx(t.at("loss_cross_entropy").item()).epsilon(1e-12));
  CHECK(sums.smoothed_ce / tokens ==
        Approx(t.at("loss_smoothed_cross_entropy").item()).epsilon(1e-12));
  Index classes = logits.size(-1);
  Tensor q = smoothed_target(reshape(t.at("tgt_out"), {-1}), classes, 0.1, 0);
  CHECK(close(q, reshape(t.at("smoothed_target"), {-1, classes}), 1e-13));
  Var torch_form =
      cross_entropy(logits, t.at("tgt_out"), {.ignore_index = 0, .label_smoothing = 0.1});
  CHECK(torch_form.item() == Approx(t.at("loss_torch_label_smoothing").item()).epsilon(1e-12));
}

TEST_CASE("what losses refuse, and where", "[loss]") {
  Scope scope("trainer");
  Var logits(zeros({3, 5}));
  Tensor target = from_vector<Index>({1, 2, 3}, {3});
  auto text = error_of<ShapeError>([&] { cross_entropy(logits, narrow(target, 0, 0, 2)); });
  CHECK(contains(text, "(3, 5)"));
  CHECK(contains(text, "(2,)"));
  CHECK(contains(text, "in trainer.cross_entropy"));
  text = error_of<IndexError>([&] { cross_entropy(logits, from_vector<Index>({1, 5, 3}, {3})); });
  CHECK(contains(text, "5"));
  CHECK(contains(text, "in trainer.cross_entropy"));
  CHECK_THROWS_AS(cross_entropy(logits, from_vector<Index>({1, -2, 3}, {3})), IndexError);
  CHECK_THROWS_AS(cross_entropy(logits, target.to(DType::Float32)), DTypeError);
  CHECK_THROWS_AS(cross_entropy(logits, target, {.label_smoothing = 1.5}), ValueError);
  text = error_of<ShapeError>([&] { cross_entropy(logits, target, {.weight = Var(ones({3}))}); });
  CHECK(contains(text, "weight must have one element for each of 5 classes"));
  CHECK_THROWS_AS(cross_entropy(logits, target, {.weight = Var(ones({5}, kDouble))}), DTypeError);
  Var q(full({3, 5}, 0.2));
  CHECK_THROWS_AS(cross_entropy(logits, q.value().to(kDouble)), DTypeError);
  CHECK_THROWS_AS(cross_entropy(logits, zeros({3, 5}, DType::Int64)), ShapeError);
  text = error_of<ValueError>([&] { cross_entropy(logits, q, {.ignore_index = 0}); });
  CHECK(contains(text, "ignore_index 0 needs classes as targets"));
  CHECK_THROWS_AS(mse_loss(logits, Var(zeros({5}))), ShapeError);
  Var x(zeros({3, 2})), weight(zeros({5, 2}));
  auto fused = [&](const Tensor& bias) {
    return linear_label_smoothing_loss(x, weight, Var(bias), target, 0.1, 0);
  };
  CHECK_NOTHROW(fused(zeros({5})));
  for (const Tensor& bias : {zeros({4}), zeros({5}, kDouble)})
    CHECK(contains(error_of<ShapeError>([&] { fused(bias); }), "bias (V,) of one dtype"));
  auto smoothed = [&](double smoothing, const Tensor& classes) {
    return label_smoothing_loss(logits, classes, smoothing, 0);
  };
  for (double smoothing : {1.0, -0.1}) CHECK_THROWS_AS(smoothed(smoothing, target), ValueError);
  CHECK_THROWS_AS(smoothed(0.1, from_vector<Index>({1, 2, 5}, {3})), IndexError);
  CHECK_THROWS_AS(smoothed(0.1, narrow(target, 0, 0, 2)), ShapeError);
}

}  // namespace test_loss

// Values and gradients where a sum would cancel, a reciprocal would round twice, and 0 would meet ∞.
#include <cmath>
#include <limits>

#include "autograd/op_form.hpp"
#include "tensor/ops/reduce.hpp"
#include "tests/autograd/common.hpp"

namespace test_limits {

using namespace glim;

namespace {

constexpr DType kTypes[] = {DType::Float32, DType::Float64};
constexpr double kInf = std::numeric_limits<double>::infinity();

Tensor gradient_of(const std::function<Var(const Var&)>& f, const Tensor& x, const Tensor& dy) {
  Var leaf = Var::leaf(x);
  Tape tape;
  return tape.grad(f(leaf), {leaf}, dy)[0].value().to(DType::Float64);
}

}  // namespace

TEST_CASE("the gradient of cumsum adds up from the far end", "[limits]") {
  auto f = [](const Var& x) { return cumsum(x, 0); };
  for (DType t : kTypes) {
    Tensor x = zeros({4}, t);
    CHECK(list(gradient_of(f, x, tensor({1e8, 1, 1, 1}, t))) ==
          std::vector<double>{t == DType::Float32 ? 1e8 : 1e8 + 3, 3, 2, 1});
    CHECK(list(gradient_of(f, x, tensor({kInf, 1, 1, 1}, t))) ==
          std::vector<double>{kInf, 3, 2, 1});
  }
}

TEST_CASE("a division divides", "[limits]") {
  for (DType t : kTypes) {
    Tensor one = scalar(1, t);
    for (int n = 1; n <= 1000; ++n) {
      INFO(n);
      Var x = Var::leaf(scalar(n, t));
      REQUIRE((x / n).item() == 1);
      REQUIRE((double(n) / x).item() == 1);
      REQUIRE(mean(Var::leaf(full({n}, 3, t))).item() == 3);
      REQUIRE(gradient_of([&](const Var& v) { return v / n; }, one, scalar(n, t)).item() == 1);
    }
    CHECK((Var(scalar(169, t)) / 13).item() == 13);
    Tensor x = zeros({50}, t);
    narrow(x, 0, 0, 1).fill_(50);  // Σ (x - 1)² = 49² + 49
    CHECK(var(Var(x)).item() == 50);
  }
  CHECK((Var(scalar(1e-310, DType::Float64)) / 1e-310).item() == 1);
  CHECK((1e-310 / Var(scalar(1e-310, DType::Float64))).item() == 1);
  // y = c/x: dx = -c/x²
  auto over = [](const Var& x) { return 3.0 / x; };
  CHECK(gradient_of(over, scalar(2, DType::Float64), scalar(1, DType::Float64)).item() == -0.75);
}

TEST_CASE("where a rule gives an element no share, an infinite gradient gives it none",
          "[limits]") {
  Tensor a = tensor({1, 2}, DType::Float64), b = tensor({2, 1}, DType::Float64);
  Tensor dy = full({2}, kInf, DType::Float64), all = scalar(kInf, DType::Float64);
  std::vector<double> first{kInf, 0}, second{0, kInf};
  CHECK(list(gradient_of([&](const Var& x) { return maximum(x, b); }, a, dy)) == second);
  CHECK(list(gradient_of([&](const Var& x) { return minimum(x, b); }, a, dy)) == first);
  CHECK(list(gradient_of([](const Var& x) { return max(x); }, a, all)) == second);
  CHECK(list(gradient_of([](const Var& x) { return min(x); }, a, all)) == first);
  Tensor nan = tensor({1, std::nan("")}, DType::Float64);  // what max is, takes the gradient
  CHECK(list(gradient_of([](const Var& x) { return max(x); }, nan, all)) == second);
  CHECK(list(gradient_of([](const Var& x) { return pow(x, 0); }, a, dy)) ==
        std::vector<double>{0, 0});
  CHECK(list(gradient_of([](const Var& x) { return abs(x); }, zeros({2}, DType::Float64), dy)) ==
        std::vector<double>{0, 0});
}

TEST_CASE("what is tiny keeps its digits, what is large does not overflow", "[limits]") {
  const Tensor x = tensor({-800, -40, -1e-10, 1e-10, 40, 800}, DType::Float64);
  const double e40 = std::exp(-40.0);
  const std::vector<double> plus{0, e40, 0.69314718050994530, 0.69314718060994530, 40 + e40, 800},
      minus{-1, -1 + e40, -9.9999999995e-11, 1e-10, 40, 800};
  for (Index i = 0; i < x.numel(); ++i) {
    const Var at = Var(select(x, 0, i));
    const auto k = static_cast<std::size_t>(i);
    INFO(i);
    CHECK(std::abs(softplus(at).item() - plus[k]) <= 4e-16 * plus[k]);
    CHECK(std::abs(elu(at).item() - minus[k]) <= 4e-16 * std::abs(minus[k]));
  }
  const Tensor one = ones({6}, DType::Float64);
  auto dx = list(gradient_of([](const Var& v) { return softplus(v); }, x, one));
  CHECK(std::abs(dx[1] / e40 - 1) < 1e-15);
  CHECK(dx[5] == 1);
  dx = list(gradient_of([](const Var& v) { return elu(v); }, x, one));
  CHECK(std::abs(dx[1] / e40 - 1) < 1e-15);
  CHECK(dx[5] == 1);
}

TEST_CASE("a choice passes the gradient of NaN on, in the rule and in each kernel", "[limits]") {
  const double nan = std::nan("");
  for (DType t : kTypes)
    for (bool recorded : {false, true}) {
      const Tensor x = full({19}, nan, t), dy = full({19}, 3, t);
      auto passes = [&](const std::function<Var(const Var&)>& f, double share = 3) {
        Var leaf = Var::leaf(x);
        Tape tape;
        const Var y = f(leaf);
        const Tensor dx = tape.grad(y, {leaf}, dy, {.create_graph = recorded})[0].value();
        CHECK(list(dx.to(DType::Float64)) == std::vector<double>(19, share));
      };
      passes([](const Var& v) { return relu(v); });
      passes([](const Var& v) { return clamp(v, -1, 1); });
      passes([&](const Var& v) { return maximum(v, ones({19}, t)); });
      passes([&](const Var& v) { return minimum(ones({19}, t), v); });
      passes([](const Var& v) { return sort(v).values; });
      passes([](const Var& v) { return cummax(v, 0).values; }, 3);
      Var w = Var::leaf(ones({1, 1}, t));  // its u is NaN
      Tape tape;
      const Var y = linear_relu(Var(full({2, 1}, nan, t)), w, Var());
      CHECK(std::isnan(
          tape.grad(y, {w}, ones({2, 1}, t), {.create_graph = recorded})[0].value().item()));
    }
}

TEST_CASE("logcumsumexp of -∞ has no share in the sum", "[limits]") {
  const Tensor x = tensor({-kInf, -kInf, -800, 1, kInf, 2}, DType::Float64);
  const Var y = logcumsumexp(Var(x), 0);
  CHECK(list(y.value()) == std::vector<double>{-kInf, -kInf, -800, 1, kInf, kInf});
  Tensor finite = slice(x, 0, 0, 4);
  auto dx = list(gradient_of([](const Var& v) { return logcumsumexp(v, 0); }, finite,
                             ones({4}, DType::Float64)));
  CHECK(dx == std::vector<double>{0, 0, 1, 1});
}

namespace {

// The loss in its form, and the gradient in logits.
struct Smoothed {
  double loss, smoothed_ce, nll;
  std::vector<double> dx;
};
Smoothed smoothed(OpForm form, const Tensor& logits, const Tensor& target, double epsilon,
                  Index pad) {
  UseForm use(form);
  Var x = Var::leaf(logits);
  Tape tape;
  MeasuredLoss y = label_smoothing_loss(x, target, epsilon, pad);
  Tensor dx = tape.grad(y.loss, {x}, scalar(1, logits.dtype()))[0].value();
  return {y.loss.item(), y.sums.smoothed_ce, y.sums.nll, list(dx.to(DType::Float64))};
}
bool near(double a, double b, double tolerance) {
  return a == b || std::abs(a - b) <= tolerance * (1 + std::abs(b));
}

}  // namespace

TEST_CASE("label smoothing leaves out what has no weight, in both forms", "[limits]") {
  // Column 0 is pad; its logit must not matter but through the softmax.
  const double columns[][6] = {
      {-1e9, 0.1, 0.2, 0.3, 0.4, 0.5},     {-kInf, 0.1, 0.2, 0.3, 0.4, 0.5},
      {-kInf, -kInf, 0.2, 0.3, 0.4, 0.5},  {0, -kInf, 0.2, 0.3, -1e9, 0.5},
      {-1e30, 1e3, -1e3, 0.3, -1e4, 0.5},  {0, 0, 0, 0, -kInf, 0},
      {-1e9, -1e9, -1e9, -1e9, -1e9, 2.0}, {-kInf, 800, -kInf, -800, 0.4, 0.5},
  };
  for (DType t : kTypes)
    for (auto& row : columns)
      for (Index wide : {6, 70})  // one vector, and several
        for (double epsilon : {0.0, 0.1})
          for (Index target = 1; target < 6; ++target) {
            std::vector<double> v(static_cast<std::size_t>(wide), -1.0);
            std::copy_n(row, 6, v.begin());
            Tensor logits = from_vector(v, {1, wide}).to(t);
            Tensor at = from_vector<Index>({target}, {1});
            Smoothed fused = smoothed(OpForm::Fused, logits, at, epsilon, 0);
            Smoothed plain = smoothed(OpForm::Explicit, logits, at, epsilon, 0);
            // -Σ q ln p, written out.
            double total = 0, top = -kInf, ce = 0;
            for (double x : logits.to(DType::Float64).to_vector<double>()) top = std::max(top, x);
            for (double x : logits.to(DType::Float64).to_vector<double>())
              total += std::exp(x - top);
            for (Index i = 1; i < wide; ++i) {
              double q = i == target ? 1 - epsilon : epsilon / static_cast<double>(wide - 2);
              double x = list(logits.to(DType::Float64))[static_cast<std::size_t>(i)];
              if (q > 0) ce -= q * (x - top - std::log(total));
            }
            CAPTURE(name_of(t), row[0], row[1], row[4], wide, epsilon, target);
            double tolerance = t == DType::Float32 ? 1e-6 : 1e-13;
            CHECK(near(fused.smoothed_ce, ce, tolerance));
            CHECK(near(plain.smoothed_ce, ce, tolerance));
            CHECK(near(plain.loss, fused.loss, tolerance));
            CHECK(near(plain.nll, fused.nll, tolerance));
            for (std::size_t i = 0; i < fused.dx.size(); ++i)
              CHECK(near(plain.dx[i], fused.dx[i], tolerance));
          }
}

}  // namespace test_limits

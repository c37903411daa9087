// Wrong backwards behind callbacks: which are caught, and which are named.
#include <cmath>
#include <map>

#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tensor/random.hpp"
#include "tests/autograd/gradcheck/wrong/wrong.hpp"
#include "tests/catch.hpp"
#include "tests/sanitized.hpp"
#include "tools/foreign/function.hpp"

namespace glim::foreign_named {
namespace {

using wrongs::At;
using wrongs::Vars;
using wrongs::WrongGradient;
using wrongs::WrongOp;

Vars constants(const Tensors& x) { return {x.begin(), x.end()}; }

Callbacks function(const WrongOp& op, const WrongGradient* wrong) {
  return {[&op](const Tensors& x) -> Tensors { return {op.forward(constants(x)).value()}; },
          [&op, wrong](const Tensors& x, const Tensors& dy) {
            const At a{Var(dy[0]), constants(x), op.forward(constants(x))};
            Tensors d;
            for (std::size_t k = 0; k < op.right.size(); ++k)
              d.push_back((wrong && k == wrong->input ? wrong->dx : op.right[k])(a).value());
            return d;
          }};
}

std::vector<GradcheckInput> inputs(const WrongOp& op) {
  std::vector<GradcheckInput> all;
  for (const Shape& shape : op.inputs)
    all.emplace_back(uniform(shape, 0.3, 2, {5, all.size()}, DType::Float64));
  return all;
}

// The expected name. Some mistakes that have no name in wrong.hpp get one here, by calling f and backward again.
std::string_view looks_of(const WrongOp& op, const WrongGradient& wrong) {
  static const std::map<std::pair<std::string_view, std::string_view>, const char*> more{
      {{"sin", "the function itself"}, "the gradient is dy times the output"},
      {{"log", "divided by y"}, "the gradient is dy times 1/the output"},
      {{"tanh", "1 + y²"}, "a term dy times the output² has the wrong sign"},
      {{"tanh", "x for y"}, "written for the output, and reads x0"},
      {{"sigmoid", "sigmoid of y"}, "taken at the output instead of at x0"},
      {{"sigmoid", "as tanh"}, "the gradient is dy times (1 - the output²)"},
      {{"a b", "sum of factors"}, "a term dy times x1 is too many"},
      {{"maximum of rows", "to the smallest"}, "at the wrong elements"},
      {{"sum of rows", "the sum of dy"}, "depends on dy of another"},
      {{"silu", "one term of the product rule"}, "the gradient is dy times the output/x0"},
      {{"silu", "the other term"}, "a term dy times the output/x0 is missing"},
      {{"xᵀ A x", "as if A were symmetric"}, "one use is counted twice"},
      {{"recurrence tanh(x + w h), two steps", "outer tanh forgotten"},
       "the last function is forgotten, tanh"},
      {{"convolution y_t = Σ w_k x_{t+k}", "taps reversed"}, "from their other end"},
      {{"heads joined", "reshape alone"}, "at the wrong elements"},
      {{"every second", "the first ones"}, "at the wrong elements"},
      {{"logsumexp of rows", "softmax along the other axis"}, "depends on x0 of another"},
      {{"scores Q Kᵀ/√d", "query for key"}, "depends on x0 of another"},
      {{"layer norm with γ and β", "γ from x"}, "the gradient is dy times x0"},
      {{"layer norm with γ and β", "γ from y"}, "the gradient is dy times the output"},
      {{"dropout", "as if not training"}, "the gradient is dy"},
      {{"max(a, b)", "halves to both"}, "the gradient is dy times 0.5"},
      {{"gate σ(a) b", "σ' forgotten"}, "the gradient is dy times x1"},
      {{"gate σ(a) b", "a for σ(a)"}, "the gradient is dy times x0"},
      {{"mixture z a + (1 - z) b", "one path of two"}, "the gradient is dy times x1"},
      {{"recurrence tanh(x + w h), two steps", "cut after one step"},
       "the gradient is dy times (1 - the output²)"}};
  const auto found = more.find({op.name, wrong.mistake});
  return found == more.end() ? wrong.looks : found->second;
}

// True if gradients from dy = 1 agree with differences of f's plain sum, as two courses check it.
// minitorch compares one random element of each input. dlsys sums the norms of all differences.
bool passes_with_ones(const WrongOp& op, const WrongGradient& wrong, double h,
                      std::pair<double, double> tolerance, bool one_element) {
  const Callbacks f = function(op, &wrong);
  Tensors x;
  for (const GradcheckInput& input : inputs(op)) x.push_back(input.value);
  const Tensor y = f.value(x)[0];
  const Tensors dx = f.gradient(x, {ones(y.shape(), y.dtype())});
  double norms = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    double squares = 0;
    const Index chosen = random_integers({1}, 0, x[k].numel(), {7, k}).at<std::int64_t>({0});
    for (Index i = 0; i < x[k].numel(); ++i) {
      auto total = [&](double step) {
        Tensors moved = x;
        moved[k] = x[k].clone();
        moved[k].data<double>()[i] += step;
        return sum(f.value(moved)[0]).item();
      };
      const double numeric = (total(h) - total(-h)) / (2 * h);
      const double apart =
          std::abs(dx[k].to_vector<double>()[static_cast<std::size_t>(i)] - numeric);
      if (one_element && i == chosen &&
          apart > tolerance.first + tolerance.second * std::abs(numeric))
        return false;
      squares += apart * apart;
    }
    norms += std::sqrt(squares);
  }
  return one_element || norms < tolerance.first;
}

}  // namespace

TEST_CASE("wrong backwards behind callbacks are caught and named", "[foreign]") {
  int all = 0, rightly = 0, wrongly = 0;
  std::size_t at = 0;
  for (const WrongOp& op : wrongs::wrong_ops()) {
    if (at++ % kEvery != 0) continue;
    const FunctionReport right = check_function(function(op, nullptr), inputs(op));
    INFO(op.name << "\n" << right.text());
    CHECK(right);
    for (const WrongGradient& wrong : op.wrong) {
      const FunctionReport report = check_function(function(op, &wrong), inputs(op));
      INFO(wrong.mistake << "\n" << report.text());
      CHECK_FALSE(report);
      const std::string_view looks = looks_of(op, wrong);
      const bool by_dy = contains(looks, "dy ignored") || contains(looks, "used not linearly");
      const bool fits = by_dy ? contains(report.mistake, report.check("linear").detail)
                              : !looks.empty() && contains(report.mistake, looks);
      CHECK(fits == !looks.empty());
      CHECK(report.mistake.empty() == looks.empty());
      ++all;
      rightly += fits;
      wrongly += !fits && !report.mistake.empty();
    }
  }
  CAPTURE(all, rightly, wrongly);
  CHECK(rightly * 100 >= all * 90);
  CHECK(wrongly * 100 <= all * 2);
}

TEST_CASE("wrong backwards behind callbacks are caught in float32 too", "[foreign][slow]") {
  for (const WrongOp& op : wrongs::wrong_ops()) {
    std::vector<GradcheckInput> at = inputs(op);
    for (GradcheckInput& x : at) x.value = x.value.to(DType::Float32);
    const FunctionReport right = check_function(function(op, nullptr), at);
    INFO(op.name << "\n" << right.text());
    CHECK(right);
    for (const WrongGradient& wrong : op.wrong) {
      INFO(wrong.mistake);
      CHECK_FALSE(check_function(function(op, &wrong), at));
    }
  }
}

TEST_CASE("checks with ones as the upstream gradient pass many of them", "[foreign]") {
  int minitorch = 0, dlsys = 0;
  for (const WrongOp& op : wrongs::wrong_ops())
    for (const WrongGradient& wrong : op.wrong) {
      minitorch += passes_with_ones(op, wrong, 1e-6, {1e-2, 1e-2}, true);
      dlsys += passes_with_ones(op, wrong, 1e-4, {1e-6, 0}, false);
    }
  CAPTURE(minitorch, dlsys);
  CHECK(minitorch >= 30);
  CHECK(dlsys >= 30);
}

}  // namespace glim::foreign_named

// Each check of a foreign function: what it passes, what it catches, and what it says then.
#include "tools/foreign/function.hpp"

#include <limits>
#include <nlohmann/json.hpp>

#include "tensor/matmul/matmul.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tensor/random.hpp"
#include "tests/catch.hpp"

namespace glim::foreign_function {
namespace {

using V = CheckVerdict;
using Gradient = std::function<Tensors(const Tensors& x, const Tensors& dy)>;

Tensor random(const Shape& shape, std::uint64_t stream, DType dtype = DType::Float64) {
  return uniform(shape, 0.3, 2, {11, stream}, dtype);
}

// y = x², of one input.
Tensors square(const Tensors& x) { return {x[0] * x[0]}; }
Tensor d_square(const Tensors& x, const Tensors& dy) { return 2 * x[0] * dy[0]; }

FunctionReport report_of(Gradient gradient, GradcheckOptions options = {}) {
  return check_function({square, std::move(gradient)}, {{"x", random({4, 3}, 1)}}, options);
}

// The report fails in this check alone, for this reason.
void fails_in(const FunctionReport& r, std::string_view check, std::string_view why) {
  INFO(r.text());
  CHECK_FALSE(r);
  for (const FunctionCheck& c : r.checks)
    if (c.name == check) {
      CHECK(c.verdict == V::Failed);
      CHECK(contains(c.detail, why));
    } else {
      CHECK(c.verdict != V::Failed);
    }
  CHECK(contains(r.mistake, why));
}

void fails_with(const FunctionReport& r, std::string_view check, std::string_view why) {
  INFO(r.text());
  CHECK_FALSE(r);
  CHECK(r.check(check).verdict == V::Failed);
  CHECK(contains(r.check(check).detail, why));
  CHECK(contains(r.mistake, why));
}

}  // namespace

TEST_CASE("a right gradient passes every check that applies") {
  const FunctionReport r =
      report_of([](const Tensors& x, const Tensors& dy) { return Tensors{d_square(x, dy)}; });
  INFO(r.text());
  CHECK(r);
  CHECK(r.mistake.empty());
  for (const FunctionCheck& c : r.checks)
    CHECK(c.verdict == (c.name == "broadcast" ? V::NotApplicable : V::Passed));
  CHECK(r.differences.checked() == 12 * 12 + 12);
}

TEST_CASE("the text of a report is not taken apart") {
  for (const char* name : {"f", "g", "grad", "passed, ", ": ", "a\nb", ""}) {
    const FunctionReport r =
        report_of([](const Tensors& x, const Tensors& dy) { return Tensors{d_square(x, dy)}; },
                  {.name = name});
    CHECK(r.check("differences").detail == "156 derivatives");
    CHECK(contains(r.text(), std::string("gradcheck of ") + name +
                                 ": passed\n  differences  passed: 156 derivatives\n    full Jac"));
  }
}

TEST_CASE("a gradient with an axis of extent 1 too many is summed") {
  const FunctionReport r = check_function({[](const Tensors& x) { return Tensors{x[0] + x[1]}; },
                                           [](const Tensors&, const Tensors& dy) {
                                             return Tensors{dy[0], sum(dy[0], {0}, true)};
                                           }},
                                          {{"x", random({4, 3}, 1)}, {"b", random({3}, 2)}});
  fails_with(r, "form", "only the shape is wrong: the gradient of b has shape (1, 3), b has (3,)");
  CHECK(contains(r.mistake, "axes of extent 1 are too many: keepdims"));
}

TEST_CASE("a backward has to be linear in dy") {
  auto with = [](std::function<Tensor(const Tensor&)> of) {
    return report_of(
        [of](const Tensors& x, const Tensors& dy) { return Tensors{d_square(x, {of(dy[0])})}; });
  };
  fails_with(with([](const Tensor& dy) { return dy * dy; }), "linear", "takes dy squared");
  fails_with(with([](const Tensor& dy) { return abs(dy); }), "linear", "the sign of dy");
  fails_with(with([](const Tensor& dy) { return sign(dy); }), "linear", "the size of dy");
  fails_with(with([](const Tensor& dy) { return dy + 0.1; }), "linear", "does not depend on dy");
  // Where the derivatives are compared, dy is small enough.
  fails_in(with([](const Tensor& dy) { return clamp(dy, -5, 5); }), "linear", "clips a large dy");
  const FunctionReport rounded =
      with([](const Tensor& dy) { return dy.to(DType::Float32).to(DType::Float64); });
  INFO(rounded.text());
  CHECK(rounded);
  CHECK(rounded.check("linear").verdict == V::Passed);
  CHECK(rounded.check("linear").detail == "backward rounds to about 8 digits");
  const FunctionReport r = with([](const Tensor& dy) { return ones(dy.shape(), dy.dtype()); });
  CHECK(r.check("linear").detail == "the gradient of x is the same whatever dy is");
  CHECK(r.mistake == "dy used as ones: the gradient is the same whatever dy is");
  const FunctionReport none = with([](const Tensor& dy) { return 0 * dy; });
  CHECK(none.check("linear").verdict == V::Undecided);
  CHECK(contains(none.mistake, "no gradient reaches"));
}

TEST_CASE("the same call has to give the same bits") {
  int calls = 0;
  Tensor total;
  fails_with(report_of([&](const Tensors& x, const Tensors& dy) {
               total = calls++ ? total + d_square(x, dy) : d_square(x, dy);
               return Tensors{total};
             }),
             "repeatable", "adds to the result of an earlier call");
  fails_with(report_of([&](const Tensors& x, const Tensors& dy) {
               return Tensors{d_square(x, dy) + uniform({4, 3}, 0, 1e-9,
                                                        {3, static_cast<std::uint64_t>(calls++)},
                                                        DType::Float64)};
             }),
             "repeatable", "backward has random state");
  const Callbacks noisy{
      [&](const Tensors& x) {
        return Tensors{
            x[0] *
            bernoulli({4, 3}, 0.5, {3, static_cast<std::uint64_t>(calls++)}).to(DType::Float64)};
      },
      [](const Tensors&, const Tensors& dy) { return dy; }};
  const FunctionReport r = check_function(noisy, {{"x", random({4, 3}, 1)}});
  fails_in(r, "repeatable", "f has random state");
  CHECK(r.check("differences").verdict == V::Undecided);
}

TEST_CASE("neither f nor backward may have a state of its own") {
  Tensor last, mean;
  bool first = true;
  // A layer that keeps its last input. Differences are those of a backward that follows its forward.
  const Callbacks stale{
      [&](const Tensors& x) {
        last = x[0].clone();
        return square(x);
      },
      [&](const Tensors&, const Tensors& dy) { return Tensors{d_square({last}, dy)}; }};
  fails_in(check_function(stale, {{"x", random({4, 3}, 1)}}), "stateless", "gone stale");
  const Callbacks running{[&](const Tensors& x) {
                            mean = first ? x[0] : mean;
                            first = false;
                            return Tensors{x[0] * mean};
                          },
                          [&](const Tensors&, const Tensors& dy) { return Tensors{dy[0] * mean}; }};
  // It keeps the first input. No later call shows that.
  CHECK(check_function(running, {{"x", random({4, 3}, 1)}}));
  // A running total of what it has seen, in one buffer for all results.
  const Tensor at = random({4, 3}, 1), buffer = zeros({4, 3}, DType::Float64);
  double total = 0;
  const Callbacks counting{
      [&](const Tensors& x) {
        if (!same_bits(x[0], at)) total += 1;
        buffer.copy_(x[0] * x[0] + total);
        return Tensors{buffer};
      },
      [](const Tensors& x, const Tensors& dy) { return Tensors{d_square(x, dy)}; }};
  fails_with(check_function(counting, {{"x", at}}), "stateless", "f keeps state");
  Tensor before;
  fails_with(report_of([&](const Tensors& x, const Tensors& dy) {
               const bool other = before.defined() && !same_bits(before, x[0]);
               before = x[0];
               return Tensors{other ? 0.9 * d_square(x, dy) : d_square(x, dy)};
             }),
             "stateless", "backward keeps state");
}

TEST_CASE("a callback that writes to its arguments is named, and spoils nothing else") {
  fails_in(report_of([](const Tensors& x, const Tensors& dy) {
             mul_(dy[0], 2);
             return Tensors{x[0] * dy[0]};
           }),
           "inputs", "backward changes dy in place");
  fails_in(report_of([](const Tensors& x, const Tensors& dy) {
             mul_(x[0], 2);
             return Tensors{x[0] * dy[0]};
           }),
           "inputs", "backward changes its input x in place");
  const Callbacks f{[](const Tensors& x) {
                      const Tensor y = x[0] * x[0];
                      x[0].fill_(0);
                      return Tensors{y};
                    },
                    [](const Tensors& x, const Tensors& dy) { return Tensors{d_square(x, dy)}; }};
  fails_in(check_function(f, {{"x", random({4, 3}, 1)}}), "inputs",
           "f changes its input x in place");
  // It returns what it was given, and one buffer each time.
  const Tensor buffer = zeros({4, 3}, DType::Float64);
  const Callbacks same{[&](const Tensors& x) {
                         buffer.copy_(x[0]);
                         return Tensors{buffer};
                       },
                       [](const Tensors&, const Tensors& dy) { return dy; }};
  CHECK(check_function(same, {{"x", random({4, 3}, 1)}}));
}

TEST_CASE("examples of a batch stay apart if f keeps them apart") {
  const std::vector<GradcheckInput> at{{"x", random({4, 4}, 1)}, {"w", random({4, 4}, 2)}};
  auto product = [](const Tensors& x) { return Tensors{matmul(x[0], x[1])}; };
  auto gradient = [](const Tensors& x, const Tensors& dy) {
    return Tensors{matmul(dy[0], transpose(x[1])), matmul(transpose(x[0]), dy[0])};
  };
  CHECK(check_function({product, gradient}, at).check("batch").verdict == V::Passed);
  // Statistics of the batch: f itself does not keep its examples apart.
  auto centred = [](const Tensors& x) { return Tensors{x[0] - mean(x[0], {0}, true)}; };
  auto d_centred = [](const Tensors&, const Tensors& dy) {
    return Tensors{dy[0] - mean(dy[0], {0}, true)};
  };
  const FunctionReport whole = check_function({centred, d_centred}, {{"x", random({4, 3}, 1)}});
  CHECK(whole);
  CHECK(whole.check("batch").verdict == V::NotApplicable);
  auto mixed = [](const Tensors& x, const Tensors& dy) {
    return Tensors{d_square(x, {dy[0] + mean(dy[0], {0}, true)})};
  };
  const FunctionReport r = report_of(mixed);
  INFO(r.text());
  CHECK(r.check("batch").verdict == V::Failed);
  CHECK(contains(r.check("batch").detail, "depends on dy of another"));
  // Right at the given point, where no row is like another; each row of x reaches all others elsewhere.
  const Tensor x = random({4, 3}, 1);
  fails_with(report_of([&](const Tensors& at_x, const Tensors& dy) {
               return Tensors{d_square(at_x, dy) + sum(at_x[0] - x) * dy[0]};
             }),
             "batch", "depends on x of another");
}

TEST_CASE("NaN that is there whatever dy is depends on no other example") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const FunctionReport r = report_of([&](const Tensors& x, const Tensors& dy) {
    const Tensor dx = d_square(x, dy);
    select(select(dx, 0, 1), 0, 2).fill_(nan);
    return Tensors{dx};
  });
  INFO(r.text());
  CHECK_FALSE(r);
  CHECK(r.check("form").verdict == V::Failed);
  CHECK(r.check("batch").verdict == V::Passed);
  CHECK(r.check("repeatable").verdict == V::Passed);
  CHECK(r.check("stateless").verdict == V::Passed);
  // An infinity at one place hides no difference at another.
  const FunctionReport mixed = report_of([&](const Tensors& x, const Tensors& dy) {
    const Tensor dx = d_square(x, dy) + mean(dy[0], {0}, true);
    select(select(dx, 0, 1), 0, 2).fill_(std::numeric_limits<double>::infinity());
    return Tensors{dx};
  });
  CHECK(contains(mixed.check("batch").detail, "depends on dy of another"));
}

TEST_CASE("a right backward in float32 is linear in dy, as far as it rounds") {
  auto in_float32 = [](double factor) {
    return report_of([factor](const Tensors& x, const Tensors& dy) {
      const Tensor dy4 = dy[0].to(DType::Float32), x4 = x[0].to(DType::Float32);
      return Tensors{(2 * x4 * (dy4 + factor * dy4 * dy4)).to(DType::Float64)};
    });
  };
  const FunctionReport r = in_float32(0);
  INFO(r.text());
  CHECK(r);
  CHECK(contains(r.check("linear").detail, "backward rounds to about"));
  CHECK(in_float32(0.01).check("linear").verdict == V::Failed);
}

TEST_CASE("the gradient of a broadcast input is a sum") {
  const std::vector<GradcheckInput> at{{"x", random({4, 3}, 1)}, {"b", random({3}, 2)}};
  auto product = [](const Tensors& x) { return Tensors{x[0] * x[1]}; };
  auto with = [&](std::function<Tensor(const Tensor&)> reduce) {
    return check_function({product,
                           [reduce](const Tensors& x, const Tensors& dy) {
                             return Tensors{dy[0] * x[1], reduce(dy[0] * x[0])};
                           }},
                          at);
  };
  const FunctionReport right = with([](const Tensor& d) { return sum(d, {0}); });
  CHECK(right);
  CHECK(right.check("broadcast").verdict == V::Passed);
  FunctionReport r = with([](const Tensor& d) { return d; });
  fails_with(r, "form", "a broadcast not summed: the gradient of b has shape (4, 3), b has (3,)");
  CHECK(r.check("broadcast").verdict == V::Failed);
  CHECK(r.check("differences").verdict == V::Passed);  // of the sum
  r = with([](const Tensor& d) { return mean(d, {0}); });
  CHECK(contains(r.mistake, "a constant factor: 1/4"));
  CHECK(r.check("broadcast").verdict == V::Undecided);
  // The gradient of b is 0 at x = 0, and so is a mean.
  const FunctionReport open =
      check_function({product,
                      [](const Tensors& x, const Tensors& dy) {
                        return Tensors{dy[0] * x[1], mean(dy[0] * x[0], {0})};
                      }},
                     {{"x", zeros({4, 3}, DType::Float64)}, at[1]});
  CHECK(open.check("broadcast").verdict == V::Undecided);
  // A broadcast of one axis of length 1, by a backward that takes any shape.
  auto general = [&](bool summed) {
    return check_function(
        {product,
         [=](const Tensors& x, const Tensors& dy) {
           const Tensor d = dy[0] * x[0];
           return Tensors{dy[0] * x[1],
                          summed ? sum_to(d, x[1].shape()) : sum_to(mul(d, 1.0 / 3), x[1].shape())};
         }},
        {{"x", random({4, 3}, 1)}, {"b", random({4, 1}, 2)}});
  };
  CHECK(general(true).check("broadcast").verdict == V::Passed);
  CHECK(general(false).check("broadcast").verdict == V::Passed);  // it is the sum of a wrong one
  CHECK_FALSE(general(false));
}

TEST_CASE("a gradient of another form is named by the change that makes it right") {
  const std::vector<GradcheckInput> at{{"x", random({4, 3}, 1)}, {"w", random({3, 2}, 2)}};
  auto product = [](const Tensors& x) { return Tensors{matmul(x[0], x[1])}; };
  auto with = [&](Gradient g) { return check_function({product, std::move(g)}, at); };
  auto dx = [](const Tensors& x, const Tensors& dy) { return matmul(dy[0], transpose(x[1])); };
  auto dw = [](const Tensors& x, const Tensors& dy) { return matmul(transpose(x[0]), dy[0]); };
  CHECK(with([&](auto& x, auto& dy) { return Tensors{dx(x, dy), dw(x, dy)}; }));
  fails_in(with([&](auto& x, auto& dy) {
             return Tensors{dx(x, dy), transpose(dw(x, dy))};
           }),
           "form", "the gradient is transposed: the gradient of w has shape (2, 3), w has (3, 2)");
  fails_in(with([&](auto& x, auto& dy) {
             return Tensors{dw(x, dy), dx(x, dy)};
           }),
           "form", "the gradients come in another order");
  fails_in(with([&](auto& x, auto& dy) {
             return Tensors{dx(x, dy), unsqueeze(dw(x, dy), 0)};
           }),
           "form", "the gradient of w has shape (1, 3, 2)");
  fails_in(with([&](auto& x, auto& dy) { return Tensors{dx(x, dy)}; }), "form",
           "backward returns 1 gradient for 2 inputs");
  fails_in(with([&](auto& x, auto& dy) {
             return Tensors{dx(x, dy), dw(x, dy), dy[0]};
           }),
           "form", "backward returns 3 gradients for 2 inputs");
  const FunctionReport none = with([&](auto& x, auto& dy) { return Tensors{dx(x, dy), Tensor()}; });
  CHECK_FALSE(none);
  CHECK(contains(none.mistake, "no gradient reaches"));
  fails_with(with([&](auto& x, auto& dy) {
               return Tensors{dx(x, dy), dw(x, dy).to(DType::Int64)};
             }),
             "form", "the gradient of w is int64, w is float64");
  fails_with(with([&](auto& x, auto& dy) {
               return Tensors{dx(x, dy), std::numeric_limits<double>::quiet_NaN() * dw(x, dy)};
             }),
             "form", "the gradient of w is not finite: nan at (0, 0)");
  CHECK(with([&](auto& x, auto& dy) {
          return Tensors{dx(x, dy), std::numeric_limits<double>::quiet_NaN() * dw(x, dy)};
        })
            .check("linear")
            .verdict == V::Undecided);
  // A sum whose gradient has not grown to its input.
  auto total = [](const Tensors& x) { return Tensors{sum(x[0])}; };
  fails_in(check_function({total, [](auto&, auto& dy) { return dy; }}, {{"x", random({4, 3}, 1)}}),
           "form", "not expanded to the input");
  // No change makes these right.
  const FunctionReport half = with([&](auto& x, auto& dy) {
    return Tensors{dx(x, dy), 0.5 * transpose(dw(x, dy))};
  });
  CHECK(half.mistake == "the gradient of w has shape (2, 3), w has (3, 2)");
  CHECK(half.differences.inputs.size() == 1);  // x alone has derivatives to compare
  fails_with(
      check_function({total, [](auto&, auto&) { return Tensors{ones({5}, DType::Float64)}; }},
                     {{"x", random({4, 3}, 1)}}),
      "form", "the gradient of x has shape (5,), x has (4, 3)");
}

TEST_CASE("several outputs, integers and inputs that are not checked") {
  // y = x², z = x w and n, the number of elements.
  auto f = [](const Tensors& x) {
    return Tensors{x[0] * x[0], from_vector<std::int64_t>({x[0].numel()}, {1}),
                   x[0] * x[1] * x[2].to(DType::Float64)};
  };
  auto gradient = [](double factor) {
    return [factor](const Tensors& x, const Tensors& dy) {
      CHECK_FALSE(dy[1].defined());
      const Tensor n = x[2].to(DType::Float64);
      return Tensors{2 * x[0] * dy[0] + x[1] * dy[2] * n, factor * x[0] * dy[2] * n, Tensor()};
    };
  };
  std::vector<GradcheckInput> at{{"x", random({2, 3}, 1)},
                                 {"w", random({2, 3}, 2)},
                                 {"n", from_vector<std::int64_t>({2, 0, 1}, {3})}};
  const FunctionReport right = check_function({f, gradient(1)}, at);
  INFO(right.text());
  CHECK(right);
  const FunctionReport wrong = check_function({f, gradient(-1)}, at);
  CHECK(contains(wrong.mistake, "the sign"));
  CHECK(wrong.differences.inputs.size() == 2);
  at[1].check = false;
  CHECK(check_function({f, gradient(-1)}, at));
  // Gradients of the floating inputs alone will do.
  auto shorter = [&](const Tensors& x, const Tensors& dy) {
    Tensors dx = gradient(1)(x, dy);
    dx.pop_back();
    return dx;
  };
  CHECK(check_function({f, shorter}, at));
}

TEST_CASE("a wrong derivative of several outputs is placed in its own") {
  const FunctionReport r = check_function(
      {[](const Tensors& x) {
         return Tensors{x[0] * x[0], exp(x[0])};
       },
       [](const Tensors& x, const Tensors& dy) {
         return Tensors{2 * x[0] * dy[0] + dy[1] * exp(x[0]) * where(greater(x[0], 0), x[0], x[0])};
       }},
      {{"x", random({2, 3}, 1)}});
  INFO(r.text());
  CHECK_FALSE(r);
  const GradcheckEntry& e = r.differences.inputs.at(0);
  CHECK(e.output == 1);
  CHECK(e.output_index == e.index);
}

TEST_CASE("float32 has tolerances of its own") {
  auto in = [](DType dtype, DType inside, double factor) {
    auto cast = [=](const Tensors& x) { return inside == dtype ? x[0] : x[0].to(inside); };
    return check_function({[=](const Tensors& x) { return Tensors{exp(cast(x))}; },
                           [=](const Tensors& x, const Tensors& dy) {
                             return Tensors{factor * (dy[0] * exp(cast(x)))};
                           }},
                          {{"x", random({4, 3}, 1, dtype)}});
  };
  const FunctionReport single = in(DType::Float32, DType::Float32, 1);
  INFO(single.text());
  CHECK(single);
  CHECK_FALSE(in(DType::Float32, DType::Float32, 1.01));
  // It computes in float32, whatever it is given.
  const FunctionReport lower = in(DType::Float64, DType::Float32, 1);
  INFO(lower.text());
  CHECK(lower);
  CHECK_FALSE(lower.differences.in_float64);
  CHECK(lower.differences.inputs[0].dtype == DType::Float32);
  CHECK_FALSE(in(DType::Float64, DType::Float32, 1.1));
}

TEST_CASE("a check that decides nothing is undecided") {
  auto gradient = [](const Tensors& x, const Tensors& dy) { return Tensors{d_square(x, dy)}; };
  const FunctionReport empty =
      check_function({square, gradient}, {{"x", zeros({0, 3}, DType::Float64)}});
  INFO(empty.text());
  CHECK_FALSE(empty);
  CHECK(empty.check("differences").verdict == V::Undecided);
  CHECK(empty.check("linear").verdict == V::Undecided);
  // The gradient of x² at 0 is 0, and so is one that is missing.
  const FunctionReport zero =
      check_function({square, gradient}, {{"x", zeros({4, 3}, DType::Float64)}});
  CHECK_FALSE(zero);
  CHECK(zero.check("differences").verdict == V::Undecided);
  CHECK(zero.check("batch").verdict == V::Undecided);
  // Kinks, at 0, are left out.
  const FunctionReport kinks =
      check_function({[](const Tensors& x) { return Tensors{relu(x[0])}; },
                      [](const Tensors& x, const Tensors& dy) {
                        return Tensors{where(greater(x[0], 0), dy[0], 0 * dy[0])};
                      }},
                     {{"x", tensor({0, 1, -1, 0}, DType::Float64)}});
  CHECK(kinks);
  CHECK(kinks.differences.inputs[0].kinks > 0);
  const std::vector<double>& errors = kinks.differences.inputs[0].errors;
  REQUIRE(errors.size() == 4);
  CHECK(errors[1] < 1);
}

TEST_CASE("a function that cannot be checked") {
  auto gradient = [](const Tensors&, const Tensors& dy) { return dy; };
  CHECK_THROWS_AS(check_function({square, gradient}, {from_vector<std::int64_t>({1, 2}, {2})}),
                  ValueError);
  CHECK_THROWS_AS(check_function({[](auto& x) { return Tensors{x[0].to(DType::Int64)}; }, gradient},
                                 {{"x", random({2}, 1)}}),
                  ValueError);
  CHECK_THROWS_AS(
      check_function({[](auto&) -> Tensors { throw std::out_of_range("mine"); }, gradient},
                     {{"x", random({2}, 1)}}),
      std::out_of_range);
  // Its shape depends on the values.
  int calls = 0;
  fails_with(
      check_function(
          {[&](auto& x) { return Tensors{calls++ ? narrow(x[0], 0, 0, 1) : x[0]}; }, gradient},
          {{"x", random({2}, 1)}}),
      "form", "depends on the values");
}

TEST_CASE("the errors of each element are there") {
  const FunctionReport r = report_of([](const Tensors& x, const Tensors& dy) {
    const Tensor dx = d_square(x, dy);
    mul_(narrow(reshape(dx, {-1}), 0, 5, 1), 1.5);
    return Tensors{dx};
  });
  const std::vector<double>& errors = r.differences.inputs[0].errors;
  REQUIRE(errors.size() == 12);
  for (std::size_t j = 0; j < 12; ++j) CHECK((errors[j] > 1) == (j == 5));
}

TEST_CASE("a report as text and as JSON") {
  const FunctionReport r =
      report_of([](const Tensors& x, const Tensors& dy) { return Tensors{0.5 * d_square(x, dy)}; },
                {.name = "mine", .mode = GradcheckOptions::Mode::Projection});
  CHECK(r.text().starts_with("gradcheck of mine: FAILED: a constant factor: 1/2 times"));
  CHECK(contains(r.text(), "\n  linear       passed\n"));
  const auto j = nlohmann::json::parse(r.to_json());
  CHECK(j["passed"] == false);
  CHECK(j["mode"] == "projected");
  CHECK(j["checks"]["linear"]["verdict"] == "passed");
  CHECK(j["inputs"][0]["worst"]["analytic"].is_number());
}

}  // namespace glim::foreign_function

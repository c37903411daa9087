// Backwards that are right at the given inputs, and wrong for other values or sizes, in the process that was checked.
#include <cmath>
#include <map>

#include "tensor/matmul/matmul.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tensor/random.hpp"
#include "tests/catch.hpp"
#include "tools/foreign/program.hpp"

namespace glim::foreign_elsewhere {
namespace {

using V = CheckVerdict;
using Gradient = std::function<Tensors(const Tensors& x, const Tensors& dy)>;

Tensor random(const Shape& shape, std::uint64_t stream) {
  return normal(shape, 0, 1, {11, stream}, DType::Float64);
}

Tensors cube(const Tensors& x) { return {x[0] * x[0] * x[0]}; }

FunctionReport of_cube(Gradient gradient, const Shape& shape = {4, 3}) {
  return check_function({cube, std::move(gradient)}, {{"x", random(shape, 1)}});
}

Tensors d_cube(const Tensor& x, const Tensors& dy) { return {3 * x * x * dy[0]}; }

void fails(const FunctionReport& r, std::string_view why) {
  INFO(r.text());
  CHECK_FALSE(r);
  CHECK(r.check("differences").verdict == V::Passed);
  CHECK(r.check("elsewhere").verdict == V::Failed);
  CHECK(contains(r.mistake, why));
}

}  // namespace

TEST_CASE("a backward that keeps what its first call gave is wrong for other values") {
  const char* why = "is wrong for other values: backward keeps what an earlier call gave";
  for (const Shape& shape : {Shape{4, 3}, Shape{1}, Shape{}}) {
    Tensor first;
    fails(of_cube(
              [&](const Tensors& x, const Tensors& dy) {
                if (!first.defined()) first = x[0].clone();
                return first.shape() == x[0].shape() ? d_cube(first, dy) : d_cube(x[0], dy);
              },
              shape),
          why);
  }
  auto by = [&](std::function<double(const Tensor&)> key) {
    std::map<double, Tensor> kept;
    fails(of_cube([&](const Tensors& x, const Tensors& dy) {
            const Tensor& old = kept.try_emplace(key(x[0]), x[0].clone()).first->second;
            return old.shape() == x[0].shape() ? d_cube(old, dy) : d_cube(x[0], dy);
          }),
          why);
  };
  by([](const Tensor& x) { return static_cast<double>(x.numel()); });
  by([](const Tensor& x) { return sum(x).item(); });
  by([](const Tensor& x) { return std::nearbyint(64 * sum(x).item()); });
  // The mask of a relu, and the other input of a product.
  Tensor mask, w;
  fails(check_function(
            {[](const Tensors& x) { return Tensors{where(greater(x[0], 0), x[0], 0 * x[0])}; },
             [&](const Tensors& x, const Tensors& dy) {
               if (!mask.defined()) mask = greater(x[0], 0).to(DType::Float64);
               return Tensors{mask.shape() == x[0].shape() ? mask * dy[0] : dy[0]};
             }},
            {{"x", random({4, 3}, 2)}}),
        why);
  fails(check_function({[](const Tensors& x) { return Tensors{x[0] * x[1]}; },
                        [&](const Tensors& x, const Tensors& dy) {
                          if (!w.defined()) w = x[1].clone();
                          return Tensors{dy[0] * w, dy[0] * x[0]};
                        }},
                       {{"x", random({4, 3}, 3)}, {"w", random({4, 3}, 4)}}),
        why);
}

TEST_CASE("a backward that keeps the integers of its first call") {
  const Callbacks f{[](const Tensors& x) { return Tensors{x[0] * x[1].to(DType::Float64)}; },
                    [kept = Tensor()](const Tensors& x, const Tensors& dy) mutable {
                      if (!kept.defined()) kept = x[1].to(DType::Float64);
                      return Tensors{dy[0] * kept, Tensor()};
                    }};
  fails(
      check_function(f, {{"x", random({3}, 1)}, {"n", from_vector<std::int64_t>({1, 2, 5}, {3})}}),
      "backward keeps the integers of an earlier call");
}

TEST_CASE("results by the identity of arrays") {
  Callbacks f{cube, [](const Tensors& x, const Tensors& dy) { return d_cube(x[0], dy); }};
  CHECK(check_function(f, {{"x", random({4, 3}, 1)}}));
  f.rewritten = [](const Tensors& x, const Tensors& dy) { return d_cube(1.5 * x[0], dy); };
  fails(check_function(f, {{"x", random({4, 3}, 1)}}), "by the identity of its arrays");
}

TEST_CASE("a size that is a number leaves the gradient in doubt") {
  auto mean_of = [](double n) {
    return check_function(
        {[](const Tensors& x) { return Tensors{mean(x[0], {-1})}; },
         [n](const Tensors& x, const Tensors& dy) {
           const double length = n == 0 ? static_cast<double>(x[0].size(-1)) : n;
           return Tensors{broadcast_to(unsqueeze((1 / length) * dy[0], -1), x[0].shape())};
         }},
        {{"x", random({4, 3}, 1)}});
  };
  CHECK(mean_of(0).check("elsewhere").detail ==
        "right for other values, and for x (5, 4); not tried: extents of 1, equal ones and those "
        "above 8");
  const FunctionReport r = mean_of(3);
  CHECK_FALSE(r);
  CHECK(r.check("elsewhere").verdict == V::Undecided);
  CHECK(contains(r.check("elsewhere").detail, "right for 3, wrong for 4 (x (4, 4)"));
  // Sizes that belong together grow together.
  const FunctionReport pairs =
      check_function({[](const Tensors& x) {
                        if (x[0].size(0) != 2 * x[1].size(0))
                          throw ValueError("f", "two rows for each number");
                        return Tensors{reshape(x[0], {x[1].size(0), 2}) * unsqueeze(x[1], 1)};
                      },
                      [](const Tensors& x, const Tensors& dy) {
                        const Index n = x[1].size(0);
                        return Tensors{reshape(dy[0] * unsqueeze(x[1], 1), {2 * n}),
                                       sum(dy[0] * reshape(x[0], {n, 2}), {1})};
                      }},
                     {{"x", random({6}, 1)}, {"w", random({3}, 2)}});
  INFO(pairs.text());
  CHECK(pairs.check("elsewhere").detail ==
        "right for other values, and for x (12,), w (6,); not tried: extents of 1, equal ones and "
        "those above 8");
}

TEST_CASE("a function that is not defined elsewhere is not blamed") {
  // Sorted numbers alone: in another order its backward is another function's.
  const Callbacks steps{[](const Tensors& x) {
                          const Tensor d = narrow(x[0], 0, 1, 3) - narrow(x[0], 0, 0, 3);
                          return Tensors{sum(abs(d) * d)};
                        },
                        [](const Tensors& x, const Tensors& dy) {
                          const Tensor d = 2 * (narrow(x[0], 0, 1, 3) - narrow(x[0], 0, 0, 3)),
                                       dx = zeros({4}, DType::Float64);
                          add_(narrow(dx, 0, 1, 3), d * dy[0]);
                          add_(narrow(dx, 0, 0, 3), -1 * d * dy[0]);
                          return Tensors{dx};
                        }};
  const Tensor sorted = from_vector<double>({-1.5, -0.25, 0.5, 2}, {4});
  FunctionReport r = check_function(steps, {{"x", sorted}});
  INFO(r.text());
  CHECK(r);
  // At one point, of one size.
  const Tensor at = random({4, 3}, 1);
  const Callbacks here{[&](const Tensors& x) {
                         if (x[0].shape() != at.shape() || !(max(abs(x[0] - at)).item() < 0.02))
                           throw ValueError("f", "is defined near one point");
                         return cube(x);
                       },
                       [](const Tensors& x, const Tensors& dy) { return d_cube(x[0], dy); }};
  r = check_function(here, {{"x", at}});
  CHECK(r);
  CHECK(contains(r.check("elsewhere").detail, "f takes no other size"));
}

TEST_CASE("a gradient that is right for the given sizes alone has not passed") {
  // The mean of all elements, whose gradient is dy over `n` of them.
  auto mean_over = [](double n) {
    return Callbacks{[](const Tensors& x) { return Tensors{mean(x[0])}; },
                     [n](const Tensors& x, const Tensors& dy) {
                       return Tensors{full(x[0].shape(), dy[0].item() / n, DType::Float64)};
                     }};
  };
  for (const Shape& shape : {Shape{4, 3}, Shape{4}, Shape{1}, Shape{1, 1}}) {
    const auto n = static_cast<double>(numel_of(shape));
    const FunctionReport r = check_function(mean_over(n), {{"x", random(shape, 1)}});
    INFO(r.text());
    CHECK_FALSE(r);
    CHECK(r.check("differences").verdict == CheckVerdict::Passed);
    CHECK(r.check("elsewhere").verdict == CheckVerdict::Undecided);
    CHECK(contains(r.text(), "UNDECIDED: right for"));
    CHECK(contains(r.text(), "written as a number"));
  }
}

TEST_CASE("axes of equal extents are told apart, and one of extent 1 grows") {
  auto checked = [](Callbacks f, const std::vector<GradcheckInput>& inputs) {
    f.refuses_misfits = true;
    return check_function(f, inputs);
  };
  auto in_doubt = [&](const Callbacks& f, const std::vector<GradcheckInput>& inputs,
                      std::string_view size) {
    CHECK(check_function(f, inputs));  // which are not tried where f may not refuse them
    const FunctionReport r = checked(f, inputs);
    INFO(r.text());
    CHECK_FALSE(r);
    CHECK(r.check("differences").verdict == V::Passed);
    CHECK(r.check("elsewhere").verdict == V::Undecided);
    CHECK(contains(r.text(), "UNDECIDED: right for"));
    CHECK(contains(r.text(), std::string(size)));
  };
  // The mean over axis 0, divided by the length of `axis`.
  auto mean_along = [](int axis) {
    return Callbacks{[](const Tensors& x) { return Tensors{mean(x[0], {0})}; },
                     [axis](const Tensors& x, const Tensors& dy) {
                       const double n = static_cast<double>(x[0].size(axis));
                       return Tensors{broadcast_to((1 / n) * dy[0], x[0].shape()).contiguous()};
                     }};
  };
  in_doubt(mean_along(1), {{"x", random({4, 4}, 1)}}, "wrong for other ones (x (5, 4)");
  const FunctionReport sound = checked(mean_along(0), {{"x", random({4, 4}, 1)}});
  CHECK(sound);
  CHECK(sound.check("elsewhere").detail ==
        "right for other values, and for x (5, 5), x (5, 4), x (4, 5)");
  // Scores: q and k share their last axis, so the two grow together. The divisor is of the first.
  auto scores = [](int axis) {
    return Callbacks{[](const Tensors& x) {
                       const double c = 1 / std::sqrt(static_cast<double>(x[0].size(1)));
                       return Tensors{c * matmul(x[0], transpose(x[1]))};
                     },
                     [axis](const Tensors& x, const Tensors& dy) {
                       const double c = 1 / std::sqrt(static_cast<double>(x[0].size(axis)));
                       return Tensors{c * matmul(dy[0], x[1]), c * matmul(transpose(dy[0]), x[0])};
                     }};
  };
  const std::vector<GradcheckInput> square{{"q", random({3, 3}, 1)}, {"k", random({3, 3}, 2)}};
  in_doubt(scores(0), square, "wrong for other ones (q (4, 3)");
  CHECK(checked(scores(1), square));
  // A product whose gradient is that of one row.
  auto product = [](bool rows) {
    return Callbacks{[](const Tensors& x) { return Tensors{matmul(x[0], x[1])}; },
                     [rows](const Tensors& x, const Tensors& dy) {
                       const Tensor a = rows ? x[0] : narrow(x[0], 0, 0, 1),
                                    d = rows ? dy[0] : narrow(dy[0], 0, 0, 1);
                       return Tensors{matmul(dy[0], transpose(x[1])), matmul(transpose(a), d)};
                     }};
  };
  const std::vector<GradcheckInput> one_row{{"x", random({1, 3}, 1)}, {"w", random({3, 2}, 2)}};
  in_doubt(product(false), one_row, "wrong for other ones (x (4, 3)");
  CHECK(checked(product(true), one_row));
}

TEST_CASE("a backward that raises an exception at a size that f takes") {
  const FunctionReport r = check_function({cube,
                                           [](const Tensors& x, const Tensors& dy) {
                                             if (x[0].size(0) != 4)
                                               throw ValueError("f", "four rows");
                                             return d_cube(x[0], dy);
                                           }},
                                          {{"x", random({4, 3}, 1)}});
  INFO(r.text());
  CHECK_FALSE(r);
  CHECK(contains(r.text(), "UNDECIDED: right for 4, wrong for 5 (x (5, 3): backward raises"));
}

TEST_CASE("a number that comes twice adds up") {
  auto rows = [](bool adds) {
    return Callbacks{[](const Tensors& x) { return Tensors{index_select(x[0], 0, x[1])}; },
                     [adds](const Tensors& x, const Tensors& dy) {
                       const Tensor d = zeros(x[0].shape(), DType::Float64);
                       const auto ids = x[1].to_vector<Index>();
                       for (std::size_t i = 0; i < ids.size(); ++i) {
                         const Tensor row = select(d, 0, ids[i]),
                                      term = select(dy[0], 0, static_cast<Index>(i));
                         row.copy_(adds ? row + term : term);
                       }
                       return Tensors{d, Tensor()};
                     }};
  };
  const std::vector<GradcheckInput> inputs{{"w", random({4, 3}, 1)},
                                           {"ids", from_vector<std::int64_t>({0, 2, 1}, {3})}};
  const FunctionReport r = check_function(rows(false), inputs);
  INFO(r.text());
  CHECK_FALSE(r);
  CHECK(contains(r.text(),
                 "UNDECIDED: the gradient of w is wrong where a number of ids comes twice"));
  CHECK(check_function(rows(true), inputs));
}

TEST_CASE("equal rows are told apart") {
  // y = x w, row by row, with the gradient of w from the first row alone.
  auto scaled = [](bool all) {
    return Callbacks{[](const Tensors& x) { return Tensors{x[0] * x[1]}; },
                     [all](const Tensors& x, const Tensors& dy) {
                       return Tensors{dy[0] * x[1], all ? sum(dy[0] * x[0], {0})
                                                        : sum(dy[0], {0}) * select(x[0], 0, 0)};
                     }};
  };
  const std::vector<GradcheckInput> inputs{{"x", full({3, 4}, 0.5, DType::Float64)},
                                           {"w", random({4}, 1)}};
  fails(check_function(scaled(false), inputs), "is right for equal elements alone");
  CHECK(check_function(scaled(true), inputs));
}

TEST_CASE("values at which f has a kink decide nothing, and cost few calls") {
  int calls = 0;
  const Callbacks relu{[&](const Tensors& x) -> Tensors {
                         ++calls;
                         return {maximum(x[0], scalar(0, DType::Float64))};
                       },
                       [](const Tensors& x, const Tensors& dy) -> Tensors {
                         return {where(greater(x[0], 0), dy[0], scalar(0, DType::Float64))};
                       }};
  const FunctionReport r = check_function(relu, {{"x", random({8, 6}, 1)}});
  INFO(r.text());
  CHECK(r);
  CHECK(contains(r.check("elsewhere").detail, "zeros"));
  CHECK(calls < 1000);
}

TEST_CASE("a gradient that is wrong where f is constant but for rounding") {
  auto check = [](double wrong) {
    const Callbacks saturated{[](const Tensors& x) -> Tensors {
                                const Tensor s = sin(x[0]), c = cos(x[0]);
                                return {sigmoid(5 * x[0]) * (s * s + c * c)};
                              },
                              [wrong](const Tensors& x, const Tensors& dy) -> Tensors {
                                const Tensor y = sigmoid(5 * x[0]);
                                const Tensor far = greater(x[0], 5).to(DType::Float64);
                                return {dy[0] * (5 * y * (-1 * y + 1) + wrong * far)};
                              }};
    return check_function(saturated, {{"x", uniform({4, 3}, 0.9, 1, {11, 1}, DType::Float64)}});
  };
  CHECK(check(0));
  const FunctionReport r = check(1);
  INFO(r.text());
  CHECK_FALSE(r);
  CHECK(contains(r.mistake, "values beyond 3"));
}

TEST_CASE("a gradient that cancels to float32's rounding at one size is compared at others") {
  // In a row of one element x/√(x² + ε) has the derivative ε/(x² + ε)^1.5, the difference of two terms near 1/x.
  const Callbacks norm{[](const Tensors& x) -> Tensors {
                         return {x[0] / sqrt(mean(x[0] * x[0], {1}, true) + 1e-5)};
                       },
                       [](const Tensors& x, const Tensors& dy) -> Tensors {
                         const Tensor r = sqrt(mean(x[0] * x[0], {1}, true) + 1e-5);
                         const Tensor y = x[0] / r;
                         return {(dy[0] - y * mean(dy[0] * y, {1}, true)) / r};
                       }};
  const FunctionReport r = check_function(norm, {{"x", random({3, 4}, 1).to(DType::Float32)}});
  INFO(r.text());
  CHECK(r);
}

TEST_CASE("tolerances reach the other inputs, too") {
  // A kernel of x³ that is known to three digits.
  auto cube_to = [](double error, const GradcheckOptions& options) {
    return check_function({cube,
                           [error](const Tensors& x, const Tensors& dy) {
                             return Tensors{d_cube(x[0], dy)[0] * (error * sin(7 * x[0]) + 1)};
                           }},
                          {{"x", random({3, 4}, 1)}}, options);
  };
  GradcheckOptions loose;
  loose.rtol = 1e-2;
  const FunctionReport r = cube_to(1e-3, loose);
  INFO(r.text());
  CHECK(r);
  CHECK(r.check("elsewhere").verdict == V::Passed);
  CHECK_FALSE(cube_to(0.1, loose));
  GradcheckOptions tight;
  tight.rtol = 1e-9, tight.atol = 1e-9;
  CHECK_FALSE(cube_to(1e-7, tight));
}

TEST_CASE("a program that keeps its first input, or its first size") {
  auto program = [](const std::string& gradient) {
    const std::string command = R"(perl -e 'use JSON::PP; $| = 1;
      while (<STDIN>) {
        my $r = decode_json($_);
        if ($r->{call} eq "inputs") { print "{\"x\": [0.5, -1.25, 3.5]}\n"; next }
        my @x = @{$r->{inputs}{x}};
        if ($r->{call} eq "value") { print "{\"y\": [", join(",", map { sprintf "%.17g", $_ ** 2 } @x), "]}\n"; next }
        my @dy = @{$r->{dy}{y}};
        )" + gradient + R"(
        print "{\"x\": [", join(",", map { sprintf "%.17g", 2 * $x[$_] * $dy[$_] } 0 .. $#x), "]}\n";
      }')";
    foreign::Program p(command, 60);
    return check_function(p.function(), p.inputs());
  };
  CHECK(program(""));
  fails(program("@k = @k ? @k : @x; @x = @k if @x == @k;"), "wrong for other values");
  fails(program("$n = $n || @x; @x = map { $_ * @x / $n } @x;"),
        "a size is kept from an earlier call");
}

}  // namespace glim::foreign_elsewhere

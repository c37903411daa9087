// The checker is tested too: ops that are wrong on purpose, each beside the right one, which
// passes. Every fault must be caught in both modes and blamed on the right input.
#include <set>

#include "autograd/gradcheck/catch.hpp"
#include "autograd/gradcheck/gradcheck.hpp"
#include "autograd/ops.hpp"
#include "tensor/matmul/matmul.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tests/catch.hpp"

namespace test_planted_faults {

using namespace glim;
using Mode = GradcheckOptions::Mode;
using Vars = std::vector<Var>;

namespace {

using Forward = std::function<Tensor(const std::vector<Tensor>& x)>;
// Gradients of all inputs from dy, the inputs and the output.
using Rule = std::function<Vars(const Var& dy, const Vars& x, const Var& y)>;

struct Planted final : Op {
  static constexpr Formula formula{"planted", "y = f(x)", {"d(input) = what the fault gives"}};
  Planted(Forward f, Rule b) : f_(std::move(f)), b_(std::move(b)) {}
  Tensor forward(const std::vector<Tensor>& x) {
    for (std::size_t k = 0; k < x.size(); ++k) save(static_cast<int>(k));
    save_output();
    count_ = x.size();
    return f_(x);
  }
  Grads gradient(const Var& dy) const override {
    Vars x;
    for (std::size_t k = 0; k < count_; ++k) x.push_back(saved(static_cast<int>(k)));
    Vars list = b_(dy, x, output());
    Grads d;
    for (std::size_t k = 0; k < list.size(); ++k) d[k] = list[k];
    return d;
  }

 private:
  Forward f_;
  Rule b_;
  std::size_t count_ = 0;
};

Var planted(const Forward& f, const Rule& b, const Vars& x) {
  return glim::apply(Planted(f, b), x);
}

Var constant(const Tensor& x) { return Var(x); }
Var zero_like(const Var& x) { return Var(zeros(x.shape(), x.dtype())); }

struct Fault {
  const char* name;
  std::vector<Shape> inputs;
  Forward forward;
  Rule right, wrong;
  int blamed = 0;  // the input whose gradient is wrong; -1: all of them
};

const Tensor kPattern = from_vector<bool>({true, false, true, false, false, true}, {2, 3});
const Tensor kRepeated = from_vector<std::int64_t>({2, 0, 2, 1}, {4});
constexpr double kDrop = 0.4;
const Key kKey{1, 2};

// y = dy's place in x, shifted: slice's backward with any start.
Var placed(const Var& dy, const Shape& shape, Index start) { return unslice(dy, shape, 0, start); }

std::vector<Fault> faults() {
  std::vector<Fault> list;
  auto softmax_rows = [](const std::vector<Tensor>& x) { return softmax(x[0], -1); };
  auto softmax_right = [](const Var& dy, const Vars&, const Var& y) {
    return Vars{mul(y, sub(dy, sum(mul(dy, y), {-1}, true)))};
  };
  auto product = [](const std::vector<Tensor>& x) { return mul(x[0], x[1]); };
  auto product_right = [](const Var& dy, const Vars& x, const Var&) {
    return Vars{mul(dy, x[1]), mul(dy, x[0])};
  };
  auto squares = [](const std::vector<Tensor>& x) { return mul(x[0], x[0]); };
  auto squares_right = [](const Var& dy, const Vars& x, const Var&) {
    return Vars{mul(mul(dy, x[0]), 2)};
  };

  list.push_back(
      {"sign",
       {{2, 3}},
       [](const std::vector<Tensor>& x) { return cos(x[0]); },
       [](const Var& dy, const Vars& x, const Var&) { return Vars{neg(mul(dy, sin(x[0])))}; },
       [](const Var& dy, const Vars& x, const Var&) { return Vars{mul(dy, sin(x[0]))}; }});
  list.push_back({"softmax without its sum over the row",
                  {{2, 3}},
                  softmax_rows,
                  softmax_right,
                  [](const Var& dy, const Vars&, const Var& y) { return Vars{mul(y, dy)}; }});
  list.push_back({"softmax without the factor y",
                  {{2, 3}},
                  softmax_rows,
                  softmax_right,
                  [](const Var& dy, const Vars&, const Var& y) {
                    return Vars{sub(dy, sum(mul(dy, y), {-1}, true))};
                  }});
  list.push_back({"softmax summed along the wrong axis",
                  {{3, 3}},
                  softmax_rows,
                  softmax_right,
                  [](const Var& dy, const Vars&, const Var& y) {
                    return Vars{mul(y, sub(dy, sum(mul(dy, y), {0}, true)))};
                  }});
  list.push_back({"missing transpose",
                  {{3, 3}, {3, 3}},
                  [](const std::vector<Tensor>& x) { return matmul(x[0], x[1]); },
                  [](const Var& dy, const Vars& x, const Var&) {
                    return Vars{matmul(dy, transpose(x[1])), matmul(transpose(x[0]), dy)};
                  },
                  [](const Var& dy, const Vars& x, const Var&) {
                    return Vars{matmul(dy, transpose(x[1])), matmul(x[0], dy)};
                  },
                  1});
  list.push_back({"dropped broadcast sum",
                  {{2, 3}, {3}},
                  [](const std::vector<Tensor>& x) { return add(x[0], x[1]); },
                  [](const Var& dy, const Vars& x, const Var&) {
                    return Vars{dy, sum_to(dy, x[1].shape())};
                  },
                  [](const Var& dy, const Vars&, const Var&) {
                    return Vars{dy, select(dy, 0, 0)};
                  },
                  1});
  list.push_back({"one of two uses not accumulated",
                  {{2, 3}},
                  squares,
                  squares_right,
                  [](const Var& dy, const Vars& x, const Var&) { return Vars{mul(dy, x[0])}; }});
  list.push_back({"mean without 1/n",
                  {{2, 3}},
                  [](const std::vector<Tensor>& x) { return mean(x[0]); },
                  [](const Var& dy, const Vars& x, const Var&) {
                    return Vars{mul(broadcast_to(dy, x[0].shape()), 1.0 / 6)};
                  },
                  [](const Var& dy, const Vars& x, const Var&) {
                    return Vars{broadcast_to(dy, x[0].shape())};
                  }});
  list.push_back(
      {"slice off by one",
       {{5}},
       [](const std::vector<Tensor>& x) { return x[0].slice(0, 1, 4); },
       [](const Var& dy, const Vars& x, const Var&) { return Vars{placed(dy, x[0].shape(), 1)}; },
       [](const Var& dy, const Vars& x, const Var&) { return Vars{placed(dy, x[0].shape(), 2)}; }});
  list.push_back(
      {"mask the wrong way round",
       {{2, 3}},
       [](const std::vector<Tensor>& x) { return where(kPattern, x[0], scalar(0, x[0].dtype())); },
       [](const Var& dy, const Vars&, const Var&) {
         return Vars{where(kPattern, dy, Var(scalar(0, dy.dtype())))};
       },
       [](const Var& dy, const Vars&, const Var&) {
         return Vars{where(kPattern, Var(scalar(0, dy.dtype())), dy)};
       }});
  list.push_back({"factor of the wrong input",
                  {{2, 3}, {2, 3}},
                  product,
                  product_right,
                  [](const Var& dy, const Vars& x, const Var&) {
                    return Vars{mul(dy, x[0]), mul(dy, x[0])};
                  }});
  list.push_back({"gradients of two inputs exchanged",
                  {{2, 3}, {2, 3}},
                  [](const std::vector<Tensor>& x) { return sub(x[0], x[1]); },
                  [](const Var& dy, const Vars&, const Var&) {
                    return Vars{dy, neg(dy)};
                  },
                  [](const Var& dy, const Vars&, const Var&) {
                    return Vars{neg(dy), dy};
                  },
                  -1});
  list.push_back(
      {"dropout without 1/(1 - p)",
       {{4, 4}},
       [](const std::vector<Tensor>& x) {
         return where(bernoulli(x[0].shape(), kDrop, kKey), scalar(0, x[0].dtype()),
                      mul(x[0], 1 / (1 - kDrop)));
       },
       [](const Var& dy, const Vars&, const Var&) { return Vars{dropout(dy, kDrop, kKey)}; },
       [](const Var& dy, const Vars&, const Var&) {
         return Vars{mul(dropout(dy, kDrop, kKey), 1 - kDrop)};
       }});
  list.push_back(
      {"dropout with another mask than forward's",
       {{4, 4}},
       [](const std::vector<Tensor>& x) {
         return where(bernoulli(x[0].shape(), kDrop, kKey), scalar(0, x[0].dtype()),
                      mul(x[0], 1 / (1 - kDrop)));
       },
       [](const Var& dy, const Vars&, const Var&) { return Vars{dropout(dy, kDrop, kKey)}; },
       [](const Var& dy, const Vars&, const Var&) {
         return Vars{dropout(dy, kDrop, {1, 3})};
       }});
  list.push_back({"x read where y was meant",
                  {{2, 3}},
                  [](const std::vector<Tensor>& x) { return exp(x[0]); },
                  [](const Var& dy, const Vars&, const Var& y) { return Vars{mul(dy, y)}; },
                  [](const Var& dy, const Vars& x, const Var&) { return Vars{mul(dy, x[0])}; }});
  list.push_back({"gradient rounded to an integer",
                  {{2, 3}},
                  squares,
                  squares_right,
                  [](const Var& dy, const Vars& x, const Var&) {
                    Tensor exact = mul(mul(dy, x[0]), 2).value();
                    return Vars{constant(exact.to(DType::Int64).to(exact.dtype()))};
                  }});
  list.push_back({"rows that repeat, overwritten instead of added",
                  {{3, 2}},
                  [](const std::vector<Tensor>& x) { return index_select(x[0], 0, kRepeated); },
                  [](const Var& dy, const Vars& x, const Var&) {
                    return Vars{index_add(x[0].shape(), 0, kRepeated, dy)};
                  },
                  [](const Var& dy, const Vars& x, const Var&) {
                    Tensor d = zeros(x[0].shape(), dy.dtype());
                    for (Index i = 0; i < 4; ++i)
                      d.select(0, kRepeated.at<std::int64_t>({i})).copy_(dy.value().select(0, i));
                    return Vars{constant(d)};
                  }});
  list.push_back(
      {"layer norm with the mean as a constant",
       {{2, 4}},
       [](const std::vector<Tensor>& x) { return sub(x[0], mean(x[0], {-1}, true)); },
       [](const Var& dy, const Vars&, const Var&) { return Vars{sub(dy, mean(dy, {-1}, true))}; },
       [](const Var& dy, const Vars&, const Var&) { return Vars{dy}; }});
  list.push_back({"cumulative sum backward in forward order",
                  {{4}},
                  [](const std::vector<Tensor>& x) { return cumsum(x[0], 0); },
                  [](const Var& dy, const Vars&, const Var&) {
                    return Vars{add(sub(sum(dy, {0}, true), cumsum(dy, 0)), dy)};
                  },
                  [](const Var& dy, const Vars&, const Var&) { return Vars{cumsum(dy, 0)}; }});
  list.push_back({"no gradient at all",
                  {{2, 3}},
                  squares,
                  squares_right,
                  [](const Var&, const Vars& x, const Var&) { return Vars{zero_like(x[0])}; }});
  list.push_back({"NaN in one place",
                  {{2, 3}},
                  squares,
                  squares_right,
                  [](const Var& dy, const Vars& x, const Var&) {
                    Tensor d = mul(mul(dy, x[0]), 2).value().clone();
                    d.select(0, 1).narrow(0, 2, 1).fill_(std::nan(""));
                    return Vars{constant(d)};
                  }});
  // Right for every e_i and every 0/1 pattern: only a random upstream gradient shows it.
  list.push_back({"not linear in dy",
                  {{2, 3}},
                  squares,
                  squares_right,
                  [](const Var& dy, const Vars& x, const Var&) {
                    return Vars{mul(mul(mul(dy, dy), x[0]), 2)};
                  }});
  return list;
}

std::vector<GradcheckInput> inputs_of(const Fault& f) {
  std::vector<GradcheckInput> inputs;
  for (std::size_t k = 0; k < f.inputs.size(); ++k)
    inputs.push_back(uniform(f.inputs[k], 0.3, 2, {3, k}, DType::Float64));
  return inputs;
}

}  // namespace

TEST_CASE("every planted fault is caught, and the op without it passes", "[faults]") {
  std::set<std::string> caught;
  for (const Fault& f : faults()) {
    auto right = [&](const Vars& x) { return planted(f.forward, f.right, x); };
    auto wrong = [&](const Vars& x) { return planted(f.forward, f.wrong, x); };
    for (auto mode : {Mode::Full, Mode::Projection}) {
      INFO(f.name);
      CHECK_THAT(gradcheck(right, inputs_of(f), {.mode = mode}), PassesGradcheck(0));
      CHECK_THAT(gradcheck(right, inputs_of(f), {.mode = mode, .second_order = true}),
                 PassesGradcheck(0));
      GradcheckReport report = gradcheck(wrong, inputs_of(f), {.name = f.name, .mode = mode});
      INFO(report);
      CHECK_FALSE(static_cast<bool>(report));
      CHECK(report.undecidable() == 0);
      CHECK(report.deterministic);
      for (std::size_t k = 0; k < f.inputs.size(); ++k) {
        bool wrong_here = f.blamed < 0 || static_cast<int>(k) == f.blamed;
        CHECK((report.inputs[k].failed > 0) == wrong_here);
      }
      if (!report) caught.insert(f.name);
    }
  }
  CHECK(caught.size() == faults().size());
  CHECK(caught.size() >= 20);
}

TEST_CASE("faults are caught in float32 too", "[faults]") {
  for (const Fault& f : faults()) {
    std::vector<GradcheckInput> inputs = inputs_of(f);
    for (GradcheckInput& x : inputs) x.value = x.value.to(DType::Float32);
    INFO(f.name);
    auto right = [&](const Vars& x) { return planted(f.forward, f.right, x); };
    auto wrong = [&](const Vars& x) { return planted(f.forward, f.wrong, x); };
    CHECK_THAT(gradcheck(right, inputs), PassesGradcheck(0));
    CHECK_FALSE(static_cast<bool>(gradcheck(wrong, inputs)));
  }
}

TEST_CASE("a plain sum as the loss would have missed faults of softmax", "[faults]") {
  for (const Fault& f : faults()) {
    if (std::string_view(f.name) != "softmax without the factor y") continue;
    auto wrong = [&](const Vars& x) { return planted(f.forward, f.wrong, x); };
    auto summed = [&](const Vars& x) { return sum(wrong(x)); };
    // Each row of a softmax sums to 1 whatever x is: dx = 0, and the wrong one gives 1 - Σ y = 0.
    CHECK_THAT(gradcheck(summed, inputs_of(f)), PassesGradcheck(0));
    CHECK_THAT(gradcheck(summed, inputs_of(f), {.mode = Mode::Projection}), PassesGradcheck(0));
    CHECK_FALSE(static_cast<bool>(gradcheck(wrong, inputs_of(f))));
  }
}

TEST_CASE("a saved value that goes stale is caught", "[faults]") {
  // One buffer for all calls, as a layer that keeps its last input would have.
  auto buffer = std::make_shared<Tensor>();
  Forward keep = [buffer](const std::vector<Tensor>& x) {
    *buffer = x[0];
    return mul(x[0], x[0]);
  };
  Rule stale = [buffer](const Var& dy, const Vars&, const Var&) {
    return Vars{mul(mul(dy, Var(*buffer)), 2)};
  };
  Tensor a = tensor({0.5, 1}, DType::Float64), b = tensor({2, 3}, DType::Float64);
  auto once = [&](const Vars& x) { return planted(keep, stale, {x[0]}); };
  CHECK_THAT(gradcheck(once, {a}), PassesGradcheck(0));
  auto twice = [&](const Vars& x) {
    Var earlier = planted(keep, stale, {x[0]});
    return add(earlier, planted(keep, stale, {x[1]}));
  };
  GradcheckReport report = gradcheck(twice, {{"first", a}, {"second", b}});
  REQUIRE_FALSE(static_cast<bool>(report));
  CHECK(report.worst()->name == "first");
  CHECK(report.inputs[1].failed == 0);
}

TEST_CASE("a detached path is caught", "[faults]") {
  auto f = [](const Vars& x) { return mul(x[0], tanh(x[0].detach())); };
  auto whole = [](const Vars& x) { return tanh(x[0].detach()); };
  Tensor x = tensor({0.5, -1}, DType::Float64);
  CHECK_FALSE(static_cast<bool>(gradcheck(f, {x})));
  GradcheckReport report = gradcheck(whole, {{"x", x}});
  REQUIRE_FALSE(static_cast<bool>(report));
  CHECK(report.worst()->analytic == 0);
}

TEST_CASE("a backward that cannot be differentiated is caught by the second order alone",
          "[faults]") {
  // The first derivative is right; as a function of x it is a constant.
  Forward cube = [](const std::vector<Tensor>& x) { return mul(mul(x[0], x[0]), x[0]); };
  Rule frozen = [](const Var& dy, const Vars& x, const Var&) {
    return Vars{mul(mul(dy, mul(x[0], x[0]).detach()), 3)};
  };
  auto f = [&](const Vars& x) { return planted(cube, frozen, x); };
  Tensor x = tensor({0.5, -1}, DType::Float64);
  CHECK_THAT(gradcheck(f, {x}), PassesGradcheck(0));
  GradcheckReport report = gradcheck(f, {{"x", x}}, {.second_order = true});
  REQUIRE_FALSE(static_cast<bool>(report));
  CHECK(report.worst()->name == "x");
  CHECK(report.to_string().find("gradient of the gradient") != std::string::npos);
}

TEST_CASE("a gradient of the wrong shape or dtype is an error that names the op", "[faults]") {
  Forward product = [](const std::vector<Tensor>& x) { return matmul(x[0], x[1]); };
  Rule swapped = [](const Var& dy, const Vars& x, const Var&) {
    return Vars{matmul(dy, transpose(x[1])), transpose(matmul(transpose(x[0]), dy))};
  };
  Tensor a = ones({2, 3}, DType::Float64), b = ones({3, 4}, DType::Float64);
  try {
    gradcheck([&](const Vars& x) { return planted(product, swapped, x); }, {a, b});
    FAIL("no error");
  } catch (const ShapeError& e) {
    INFO(e.what());
    CHECK(e.op() == "planted");
    CHECK(e.problem().find("(4, 3)") != std::string::npos);
    CHECK(e.problem().find("input 1") != std::string::npos);
  }
  Rule rounded = [](const Var& dy, const Vars&, const Var&) {
    return Vars{Var(dy.value().to(DType::Float32))};
  };
  Forward same = [](const std::vector<Tensor>& x) { return x[0].clone(); };
  try {
    gradcheck([&](const Vars& x) { return planted(same, rounded, x); }, {a});
    FAIL("no error");
  } catch (const Error& e) {
    INFO(e.what());
    CHECK(e.op() == "planted");
    CHECK(e.problem().find("float32") != std::string::npos);
    CHECK(e.problem().find("float64") != std::string::npos);
  }
}

}  // namespace test_planted_faults

// The checker is tested too: ops that are wrong on purpose, each beside the right one, which
// passes. Every fault must be caught in both modes and blamed on the right input.
#include <map>
#include <set>

#include "tensor/matmul/matmul.hpp"
#include "tests/autograd/gradcheck/common.hpp"
#include "tests/autograd/gradcheck/faults.hpp"

namespace test_planted_faults {

using namespace glim;
using namespace glim::checked;

namespace {

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

TEST_CASE("a wrong gradient is named by what it looks like, a right one by nothing", "[faults]") {
  const std::map<std::string, std::string> names = {
      {"sign", "the sign"},
      {"softmax without its sum over the row", "own element alone"},
      {"softmax without the factor y", "belongs to the input's element"},
      {"missing transpose", "missing transpose"},
      {"dropped broadcast sum", "broadcast not summed"},
      {"one of two uses not accumulated", "factor: 0.5 times"},
      {"mean without 1/n", "factor: 6 times"},
      {"slice off by one", "off by one"},
      {"mask the wrong way round", "mask the wrong way round"},
      {"factor of the wrong input", "the gradient of another input"},
      {"gradients of two inputs exchanged", "the sign"},
      {"dropout without 1/(1 - p)", "factor: 0.6 times"},
      {"rows that repeat, overwritten instead of added", "assigned where it should be added"},
      {"layer norm with the mean as a constant", "own element alone"},
      {"cumulative sum backward in forward order", "missing transpose"},
      {"no gradient at all", "no gradient reaches"},
      {"not linear in dy", "not linear in dy"},
  };
  for (const Fault& f : faults()) {
    auto right = [&](const Vars& x) { return planted(f.forward, f.right, x); };
    auto wrong = [&](const Vars& x) { return planted(f.forward, f.wrong, x); };
    for (const GradcheckEntry& e : gradcheck(right, inputs_of(f)).inputs) CHECK(e.mistake.empty());
    GradcheckReport report = gradcheck(wrong, inputs_of(f), {.name = f.name});
    INFO(report);
    auto expected = names.find(f.name);
    if (expected == names.end())
      CHECK(report.worst()->mistake.empty());
    else
      CHECK(report.to_string().find(expected->second) != std::string::npos);
  }
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
  auto problem = [](const Forward& f, const Rule& wrong,
                    const std::vector<GradcheckInput>& inputs) {
    try {
      gradcheck([&](const Vars& x) { return planted(f, wrong, x); }, inputs);
    } catch (const Error& e) {
      CHECK(e.op() == "planted");
      return e.problem();
    }
    return std::string();
  };
  std::string text = problem(product, swapped, {a, b});
  INFO(text);
  CHECK(text.find("(4, 3)") != std::string::npos);
  CHECK(text.find("input 1") != std::string::npos);
  CHECK_THROWS_AS(gradcheck([&](const Vars& x) { return planted(product, swapped, x); }, {a, b}),
                  ShapeError);
  Rule rounded = [](const Var& dy, const Vars&, const Var&) {
    return Vars{Var(dy.value().to(DType::Float32))};
  };
  std::string other =
      problem([](const std::vector<Tensor>& x) { return x[0].clone(); }, rounded, {a});
  INFO(other);
  CHECK(other.find("float32") != std::string::npos);
  CHECK(other.find("float64") != std::string::npos);
}

}  // namespace test_planted_faults

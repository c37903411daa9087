// The inputs that the checker takes: views, shared storage, integers, parameters, several outputs.
#include <cmath>

#include "tensor/ops/reduce.hpp"
#include "tests/autograd/gradcheck/common.hpp"

namespace test_inputs {

using namespace glim;
using namespace glim::wrongs;

TEST_CASE("inputs may be views of any kind", "[gradcheck]") {
  Tensor base = random({4, 6}, 5);
  Tensor windows = Tensor::from_storage(base.storage(), 0, {5, 4}, {2, 1}, DType::Float64);
  struct {
    const char* name;
    Tensor x;
  } views[] = {
      {"transposed", transpose(base)},
      {"every second", slice(base, 1, 1, 6, 2)},
      {"with an offset", narrow(base, 0, 1, 2)},
      {"expanded along rows", broadcast_to(narrow(base, 0, 2, 1), {4, 6})},
      {"expanded along columns", broadcast_to(narrow(base, 1, 2, 1), {4, 6})},
      {"one element expanded", broadcast_to(narrow(select(base, 0, 0), 0, 3, 1), {3, 2})},
      {"overlapping windows", windows},
      {"no elements", narrow(base, 0, 1, 0)},
  };
  for (auto& [name, x] : views)
    for (auto mode : {Mode::Full, Mode::Projection})
      for (bool second : {false, true}) {
        auto report =
            gradcheck([](const Vars& v) { return sum(mul(tanh(v[0]), exp(mul(v[0], 0.5))), {1}); },
                      {x}, {.name = name, .mode = mode, .second_order = second});
        CHECK(decided(report));
        if (mode == Mode::Full && !second) {
          CHECK(report.checked() == x.numel() * (x.size(0) + 1));
          CHECK(report.inputs[0].shape == x.shape());
        }
      }
}

TEST_CASE("inputs that share storage are variables of their own", "[gradcheck]") {
  Tensor x = random({3, 3}, 6);
  auto product = [](const Vars& v) { return matmul(v[0], v[1]); };
  CHECK(decided(gradcheck(product, {x, x})));
  CHECK(decided(gradcheck(product, {x, transpose(x)})));
  Tensor before = x.clone();
  CHECK(decided(gradcheck(product, {broadcast_to(select(x, 0, 1), {3, 3}), x})));
  CHECK(same_bits(x, before));
}

TEST_CASE("a check of nothing is an error", "[gradcheck]") {
  auto order = [](const Vars& v) { return Var(argmax(v[0].value(), 0)); };
  for (bool second : {false, true})
    for (auto mode : {Mode::Full, Mode::Projection}) {
      const GradcheckOptions o{.name = "order", .mode = mode, .second_order = second};
      CHECK(contains(error_of<ValueError>([&] { gradcheck(order, {random({3}, 1)}, o); }),
                     "order has no output of a floating dtype to check"));
    }
}

TEST_CASE("inputs of integers and truth values are passed on", "[gradcheck]") {
  Tensor index = from_vector<std::int64_t>({2, 0, 1, 2}, {4});
  Tensor keep = from_vector<bool>({true, false, true, true}, {4});
  auto f = [](const Vars& v) {
    Var rows = index_select(v[0], 0, v[1].value());
    return where(v[2].value(), sum(mul(rows, rows), {1}), Var(scalar(0, rows.dtype())));
  };
  auto report = gradcheck(f, {random({3, 2}, 1), index, keep});
  CHECK(decided(report));
  CHECK(report.inputs.size() == 1);
  CHECK_THROWS_AS(gradcheck([](const Vars& v) { return v[0]; }, {index}), ValueError);
  // A floating input that is not to be checked.
  auto fixed = gradcheck([](const Vars& v) { return mul(v[0], v[1]); },
                         {random({3}, 1), GradcheckInput("", random({3}, 2), false)});
  CHECK(decided(fixed));
  CHECK(fixed.inputs.size() == 1);
}

TEST_CASE("several outputs, some of integers, some that depend on nothing", "[gradcheck]") {
  auto f = [](const Vars& v) {
    OrderedVar o = top_k(v[0], 2);
    return Vars{exp(v[0]), o.values, Var(o.indices), mul(v[1], 3.0), Var(ones({2}, v[0].dtype())),
                v[1]};
  };
  for (auto mode : {Mode::Full, Mode::Projection})
    for (bool second : {false, true}) {
      auto report =
          gradcheck(f, {random({5}, 1), random({2, 2}, 2)}, {.mode = mode, .second_order = second});
      CHECK(decided(report));
      if (second) CHECK(report.inputs.back().name == "dy4");
    }
  // The error is in the second output.
  auto report = gradcheck(
      [](const Vars& v) {
        return Vars{exp(v[0]), squared(v[0], 3)};
      },
      {random({2}, 1)});
  REQUIRE_FALSE(report);
  CHECK(report.worst()->output == 1);
}

TEST_CASE("derivatives with regard to named parameters", "[gradcheck]") {
  Var w = Var::leaf(random({4, 3}, 1), "w"), b = Var::leaf(random({3}, 2), "b"),
      frozen = Var::leaf(random({3}, 3), "frozen");
  frozen.leaf().trainable = false;
  Var x(random({5, 4}, 4));
  auto layer = [&] { return mul(tanh(add(matmul(x, w), b)), frozen); };
  NamedParameters names{
      {"linear.weight", w}, {"linear.bias", b}, {"tied.bias", b}, {"gain", frozen}};
  Tensor before = w.value();
  for (auto mode : {Mode::Full, Mode::Projection})
    for (bool second : {false, true}) {
      auto report = gradcheck(layer, names, {.mode = mode, .second_order = second});
      CHECK(decided(report));
      CHECK(report.inputs[0].name == "linear.weight");
      CHECK(report.inputs[1].name == "linear.bias = tied.bias");
      CHECK(report.inputs.size() == (second ? 3u : 2u));
    }
  CHECK(w.value().storage() == before.storage());
  CHECK_FALSE(w.grad().defined());
  auto wrong = gradcheck([&] { return squared(add(matmul(x, w), b), 2.1); }, names);
  CHECK_FALSE(wrong);
  // An exception puts the values back.
  int calls = 0;
  CHECK_THROWS_AS(gradcheck(
                      [&]() -> Var {
                        if (++calls >= 7) throw ValueError("test", "on purpose");
                        return layer();
                      },
                      names),
                  ValueError);
  CHECK(w.value().storage() == before.storage());
  CHECK(Tape::open() == nullptr);
}

TEST_CASE("a function that takes another course on views, or writes to its input, fails",
          "[gradcheck]") {
  Tensor x = transpose(random({3, 3}, 1));
  auto ignores_strides = [](const Vars& v) {
    Tensor first = v[0].value();
    // Reads the storage row by row, whatever the strides say.
    double second = first.data<double>()[1];
    return mul(v[0], second);
  };
  auto expanded = gradcheck(ignores_strides, {broadcast_to(random({3, 1}, 1), {3, 3})});
  CHECK_FALSE(expanded);
  CHECK(expanded.problem.find("another value on the inputs as given") != std::string::npos);
  auto writes = [](const Vars& v) {
    v[0].value().fill_(1);
    return exp(v[0]);
  };
  auto report = gradcheck(writes, {{"victim", x.clone()}});
  CHECK_FALSE(report);
  CHECK(report.problem == "writes to its input victim");
}

}  // namespace test_inputs

// Every op that can be recorded can be run again, and it has its equations.
#include <algorithm>
#include <map>

#include "autograd/formula.hpp"
#include "tests/autograd/common.hpp"
#include "tools/gradient_cases/spec.hpp"

namespace test_every_op {

using namespace glim;

namespace {

// Runs each specification's function on leaves of its inputs.
template <class F>
void for_each_tape(DType dtype, const F& f) {
  for (const specs::Family& family : specs::families())
    for (const specs::Spec& s : family.specs) {
      INFO(s.op + ", " + s.name);
      Tape tape({.replay = true});
      specs::Vars xs;
      for (const Tensor& x : s.inputs(1)) xs.push_back(Var::leaf(x.to(dtype)));
      s.f(xs);
      f(tape);
    }
}

}  // namespace

TEST_CASE("every op can be run again on its operands, to the bit", "[op_specs][replay]") {
  std::map<std::string_view, int> replayed;
  for (DType dtype : {DType::Float64, DType::Float32})
    for_each_tape(dtype, [&](Tape& tape) {
      auto size = tape.nodes().size();
      for (std::size_t i = 0; i < size; ++i) {
        const Node& node = tape.nodes()[i];
        if (node.leaf) continue;
        INFO(node.name());
        const Replay& kept = tape.replay(static_cast<int>(i));
        ++replayed[node.name()];
        CHECK(same_bits(kept.value.contiguous(),
                        tape.value(static_cast<int>(i)).value().contiguous()));
        if (node.name() == "recomputed") {
          CHECK_FALSE(kept.run);
          continue;
        }
        REQUIRE(kept.operands.size() == node.inputs.size());
        std::vector<Var> values;
        for (const Var& v : kept.operands) values.emplace_back(v.value());
        Tensor again = kept.run(values).value(), third = kept.run(values).value();
        CHECK(same_bits(kept.value.contiguous(), again.contiguous()));
        CHECK(same_bits(kept.value.contiguous(), third.contiguous()));
        values.emplace_back();
        CHECK_FALSE(error_of<ValueError>([&] { kept.run(values); }).empty());
      }
      CHECK(tape.nodes().size() == size);
    });
  for (std::string_view op : registered_ops()) {
    INFO(op);
    CHECK(replayed[op] > 0);
  }
}

TEST_CASE("every op has its equations, a gradient for each input", "[op_specs][formulas]") {
  std::map<std::string_view, std::size_t> inputs;
  for_each_tape(DType::Float64, [&](Tape& tape) {
    for (const Node& node : tape.nodes()) {
      if (node.leaf) continue;
      auto count = std::count_if(node.inputs.begin(), node.inputs.end(),
                                 [](int input) { return input >= 0; });
      inputs[node.name()] = std::max(inputs[node.name()], static_cast<std::size_t>(count));
    }
  });
  for (std::string_view op : registered_ops()) {
    INFO(op);
    const Formula* f = formula(op);
    REQUIRE(f);
    CHECK_FALSE(f->value.empty());
    auto stated = std::count_if(f->gradients.begin(), f->gradients.end(),
                                [](std::string_view g) { return !g.empty(); });
    bool any_number = op == "concatenate" || op == "recomputed";
    CHECK(static_cast<std::size_t>(stated) == (any_number ? 1 : inputs[op]));
    for (std::string_view g : f->gradients) CHECK((g.empty() || g.starts_with("d")));
  }
  CHECK(formula("leaf") == nullptr);
  CHECK(formula("mul")->gradients[1] == "db = dy ⊙ a");
}

TEST_CASE("an op runs again on other operands, and in another dtype", "[replay]") {
  Var x = Var::leaf(tensor({1, 2, 3, 4}));
  Tape tape({.replay = true});
  Var kept_half = dropout(x, 0.5, {1, 2}), y = mul(kept_half, kept_half);
  const Replay& drop = tape.replay(tape.node_of(kept_half));
  auto mask = list(kept_half.value().to(DType::Float64)),
       again = list(drop.run({ones({4}, DType::Float64)}).value());
  for (std::size_t i = 0; i < 4; ++i) CHECK((mask[i] == 0) == (again[i] == 0));
  const Replay& square = tape.replay(tape.node_of(y));
  Tensor a = tensor({3, 5}, DType::Float64);
  CHECK(list(square.run({a, a}).value()) == std::vector<double>{9, 25});
  CHECK(square.run({a, a}).dtype() == DType::Float64);
}

TEST_CASE("what is kept is asked for in vain otherwise, with a reason", "[replay]") {
  Var x = leaf_of({1, 2}, "weight");
  {
    Tape tape;
    Var y = exp(x);
    CHECK(contains(error_of<StateError>([&] { tape.replay(tape.node_of(y)); }), "replay"));
    CHECK(list(tape.value(tape.node_of(x)).value()) == std::vector<double>{1, 2});
  }
  Tape tape({.replay = true});
  Var y = exp(x);
  CHECK(contains(error_of<StateError>([&] { tape.replay(tape.node_of(x)); }), "weight is a leaf"));
  CHECK(contains(error_of<StateError>([&] { tape.replay(17); }), "17"));
  CHECK(tape.node_of(tape.value(tape.node_of(y))) == tape.node_of(y));
}

}  // namespace test_every_op

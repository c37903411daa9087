// A module against a case of a reference file.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "nn/module.hpp"
#include "tests/catch.hpp"
#include "tests/reference.hpp"

namespace glim {

// Loads what is stored as `at` + "param.NAME"; a leaf that is not stored is the one called `tied`.
inline void load_case(const Reference& ref, const std::string& at, Module& module, DType dtype,
                      const std::string& tied = "", bool strict = true) {
  module.to(dtype);
  StateDict state;
  for (const std::string& p : ref.keys(at + "param.")) state[p] = ref.get(at + "param." + p, dtype);
  if (!tied.empty())
    for (auto& [name, value] : module.state_dict()) state.try_emplace(name, state.at(tied));
  module.load_state_dict(state, strict);
}

// Every op that reads a parameter is under the name of a module that has it ("decoder", for a weight
// of the root's child), or of a layer or step within ("decoder.l0", "t3.decoder").
inline void check_scopes(const Module& module, const Tape& tape) {
  std::map<const Leaf*, std::set<std::string>> owners;
  for (auto& [name, p] : module.named_parameters(true))
    owners[&p.leaf()].insert(name.substr(0, name.find('.') == name.npos ? 0 : name.rfind('.')));
  for (const Node& node : tape.nodes())
    for (int input : node.inputs) {
      auto owner = input < 0 ? owners.end() : owners.find(tape.nodes()[input].leaf.get());
      if (owner == owners.end()) continue;
      INFO(node.name() << " in '" << *node.scope << "' reads a parameter of "
                       << *owner->second.begin());
      std::string scope = "." + *node.scope + ".";
      bool within = false;
      for (const std::string& name : owner->second)
        within |= name.empty() || scope.find("." + name + ".") != std::string::npos;
      CHECK(within);
    }
}

// Every parameter's gradient is what is stored as `at` + "grad.NAME", and no other is stored.
inline void check_gradients(const Reference& ref, const std::string& at, const Module& module,
                            double tolerance,
                            double (*difference)(const Tensor& a, const Tensor& b) = distance) {
  auto parameters = module.named_parameters();
  for (auto& [name, p] : parameters) {
    INFO(name);
    REQUIRE(p.grad().defined());
    CHECK(difference(p.grad(), ref.get(at + "grad." + name)) <= tolerance);
  }
  CHECK(parameters.size() == ref.keys(at + "grad.").size());
  if (Tape* tape = Tape::current()) check_scopes(module, *tape);
}

// Loads NAME.param.*, runs forward(x) and backward from NAME.dy, and compares all that is known.
inline void check_case(const Reference& ref, const std::string& name, Module& layer, DType dtype,
                       const std::function<Var(const Var& x)>& forward, double tolerance) {
  INFO(name << " " << name_of(dtype));
  load_case(ref, name + ".", layer, dtype, "", false);  // buffers keep their values
  CHECK(layer.named_parameters().size() == ref.keys(name + ".param.").size());
  bool has_x = ref.has(name + ".x");
  Var x = has_x ? Var::leaf(ref.get(name + ".x", dtype)) : Var();
  Tape tape;
  Var y = forward(x);
  CHECK(distance(y.value(), ref.get(name + ".y")) <= tolerance);
  tape.backward(y, ref.get(name + ".dy", dtype));
  if (has_x) CHECK(distance(x.grad(), ref.get(name + ".dx")) <= tolerance);
  check_gradients(ref, name + ".", layer, tolerance);
}
inline void check_case(const Reference& ref, const std::string& name, Layer& layer, DType dtype,
                       double tolerance) {
  check_case(
      ref, name, layer, dtype, [&](const Var& x) { return layer(x); }, tolerance);
}

}  // namespace glim

// A layer against a case of a reference file.
#pragma once

#include <functional>
#include <string>

#include "nn/module.hpp"
#include "tests/catch.hpp"
#include "tests/reference.hpp"

namespace glim {

// Loads NAME.param.*, runs forward(x) and backward from NAME.dy, and compares all that is known.
inline void check_case(const Reference& ref, const std::string& name, Module& layer, DType dtype,
                       const std::function<Var(const Var& x)>& forward, double tolerance) {
  INFO(name << " " << name_of(dtype));
  layer.to(dtype);
  StateDict state;
  for (const std::string& p : ref.keys(name + ".param."))
    state[p] = ref.get(name + ".param." + p, dtype);
  layer.load_state_dict(state, false);
  CHECK(layer.named_parameters().size() == state.size());
  bool has_x = ref.has(name + ".x");
  Var x = has_x ? Var::leaf(ref.get(name + ".x", dtype)) : Var();
  Tape tape;
  Var y = forward(x);
  CHECK(distance(y.value(), ref.get(name + ".y")) <= tolerance);
  tape.backward(y, ref.get(name + ".dy", dtype));
  if (has_x) CHECK(distance(x.grad(), ref.get(name + ".dx")) <= tolerance);
  for (auto& [path, var] : layer.named_parameters()) {
    INFO(path);
    CHECK(distance(var.grad(), ref.get(name + ".grad." + path)) <= tolerance);
  }
}
inline void check_case(const Reference& ref, const std::string& name, Layer& layer, DType dtype,
                       double tolerance) {
  check_case(
      ref, name, layer, dtype, [&](const Var& x) { return layer.forward(x); }, tolerance);
}

}  // namespace glim

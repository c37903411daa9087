// One forward and backward pass as a list of values, each with the op that computed it: what can be written down. (Training
// that can be differentiated is optim/trace.hpp.)
//
//   ConstantNames names;              // on_value names masks and the like
//   Tape tape({.replay = true});
//   tape.observe(names);
//   Trace trace = trace_of(Pass(tape, example.loss()), names.names);
//
// Its values are those of a recorded pass (tools/pass/pass.hpp), with constants among them, and what backward computes.
// Backward is recorded by its rules, so that it is made of the same ops as forward. The engine's sums are values too.
// A reshape to the same shape, and the like, is the value that it was made from.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tools/pass/pass.hpp"

namespace glim::derive {

// Its op may also be "constant", "number", or "zero" (where a sum begins). The path of a constant is that of the op that
// reads it first; inputs are values; arguments are without those that are values.
struct Value : Computed {
  std::vector<std::pair<std::string_view, int>> tensors;  // "index", 12
  bool backward = false;
  bool batch = false;  // of the batch: a first axis of extent 1 is its sentences
  int node = -1;       // on the tape
  int source = -1;  // backward: the forward value whose rule computed it, or whose gradient it sums
  int during = -1;  // backward: the forward value whose rule ran last
  bool is_number() const { return op == "number"; }
  double number() const;  // of a "number": each element
  const Shape& shape() const { return value.shape(); }
};

struct Trace {
  std::vector<Value> values;     // each after those that it was computed from
  std::map<int, int> gradients;  // of forward values: the complete gradient
  std::vector<std::pair<std::string, int>> parameters;  // leaves, by name
  std::vector<int> of_node;  // of the forward pass: the value of each node of the tape
  int loss = -1;

  const Value& operator[](int v) const { return values[static_cast<std::size_t>(v)]; }
  int gradient(int v) const {
    auto found = gradients.find(v);
    return found == gradients.end() ? -1 : found->second;
  }
  std::vector<bool> live()
      const;  // by value: the loss, or a parameter's gradient, is computed from it
};

// Names that modules give to constants ("keep").
using NamedConstants = std::vector<std::pair<Tensor, std::string>>;
struct ConstantNames final : Observer {
  Var on_value(std::string_view path, Var v) override;
  NamedConstants names;
};

// Backward is recorded on the pass's tape. The upstream gradient of a pass that was given one is a leaf of its own: "dy".
Trace trace_of(const Pass& pass, const NamedConstants& names = {});
// The forward pass alone: what a listing by the ops' equations reads.
Trace forward_of(const Pass& pass, const NamedConstants& names = {});

}  // namespace glim::derive

// One forward and backward pass as a list of values, each with the op that computed it: what can be written down.
//
//   ConstantNames names;              // on_value names masks and the like
//   Tape tape({.replay = true});
//   tape.observe(names);
//   Trace trace = trace_of(tape, example.loss(), names.names);
//
// Backward is recorded by its rules, so that it is made of the same ops as forward. The engine's sums are values too.
// A reshape to the same shape, and the like, is the value that it was made from.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "autograd/tape.hpp"

namespace glim::derive {

struct Value {
  std::string op;    // "leaf", "constant", "number", "zero" (where a sum begins), or an op's name
  std::string path;  // on the tape; of a constant the one of the op that reads it first
  std::string label;
  std::vector<int> inputs;                                // values; -1: not given
  Arguments arguments;                                    // without those that are values:
  std::vector<std::pair<std::string_view, int>> tensors;  // "index", 12
  Tensor value;
  Where where;
  const Formula* formula = nullptr;
  bool backward = false;
  bool batch = false;  // of the batch: a first axis of extent 1 is its sentences
  int node = -1;       // on the tape
  int of = -1;  // backward: the forward value whose rule computed it, or whose gradient it adds up
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

// Nodes whose gradient a hook or another observer changes: it is not the sum of what arrived.
struct Changes final : Observer {
  void flow(const Flow& f) override;
  void arrived(int node, const Var& dy) override;
  std::vector<int> nodes;

 private:
  std::map<int, Tensor> sums_;
};

std::vector<Var> leaves_of(const Tape& tape);
// StateError for a tape without replay, or after a backward that did not retain.
Trace trace_of(Tape& tape, const Var& loss, const NamedConstants& names = {});
// The trace of a function's output, whose upstream gradient is a leaf of its own: "dy".
Trace trace_of(Tape& tape, const Var& y, const Tensor& dy, const NamedConstants& names = {});
// The forward pass alone: what a listing by the ops' equations reads.
Trace forward_of(const Tape& tape, int loss, const NamedConstants& names = {});

}  // namespace glim::derive

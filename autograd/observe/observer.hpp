// An observer of a tape is told of each op that is recorded, and of each gradient on its way.
//
//   struct Count : Observer {
//     void arrived(int, const Var&) override { ++gradients; }
//     int gradients = 0;
//   } count;
//   tape.observe(count);
//
// Watching, hooks, walking, profiling, the check for NaN and the replay of ops are observers. A tape
// without any pays for none. An observer outlives its tape, or calls tape.stop_observing().
#pragma once

#include "autograd/engine.hpp"

namespace glim {

// What the op of node `from` sends to one of its inputs. Only inputs that are on the tape get something.
struct Flow {
  std::size_t input = 0;  // of the op
  int node = -1;          // that this input is
  Tensor gradient;
  int from = -1;
};

// How to compute an op again. `run` applies it to other operands, of any dtype that the op takes, with the
// constants (masks, random keys, indices) of the first time. It gives the same bits for the same operands, and
// records nothing if they are constants. It is empty for a checkpointed region.
struct Replay {
  std::vector<Var> operands;  // a leaf is the leaf itself, not its value then
  Tensor value;
  RunAgain run;
};

class Observer {
 public:
  virtual ~Observer() = default;

  // Forward.
  virtual void op_started(double) {}                       // an op began so many seconds ago
  virtual void computed(const Formula&, const Tensor&) {}  // its value, recorded or not
  virtual void recorded(int, const Tensor&) {}             // an op, or a leaf, became this node
  virtual bool wants_replay() const { return false; }
  virtual void recorded_replay(int, Replay) {}
  // A value is about to get its name, and with it this path; what follows reads the result in its place.
  virtual Var on_value(std::string_view, Var v) { return v; }
  // A part of the model, of this path, made `out` of `in`; what follows reads the result in its place.
  virtual Var on_module_output(std::string_view, const Var& /*in*/, Var out) { return out; }
  virtual void named(int, const Tensor&) {}  // the node got a name
  // The nodes from `size` on are gone, with the tape or with a checkpointed region that is run again later.
  // `keep`: what was seen in the region counts.
  virtual void nodes_removed(int, bool) {}

  // Backward.
  virtual Var change(int, Var dy) {
    return dy;
  }                                         // a node's complete gradient; the result replaces it
  virtual void arrived(int, const Var&) {}  // that result
  virtual void rule_begins(int) {}          // of the node's op
  virtual void rule_ended(int) {}
  virtual bool sees_flows() const { return false; }
  virtual Tensor flow(const Flow&) { return {}; }  // on its way; a defined result replaces it
};

}  // namespace glim

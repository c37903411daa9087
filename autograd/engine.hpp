// The engine records ops on the tape and runs the backward pass.
//
// Forward, a Recorder decides whether to record an op, and adds its node. Backward is the loop in engine.cpp:
// from the loss to the front, each node's complete gradient goes to its op's rule. The gradients that the rule
// gives are added up at the nodes that the op was computed from (Griewank & Walther 2008, Evaluating
// Derivatives, section 3.2). Observers are told of each step (observer.hpp).
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "autograd/op.hpp"
#include "autograd/restored.hpp"
#include "autograd/scope.hpp"

namespace glim {

class Tape;
class Error;
// Applies an op again to other operands.
using RunAgain = std::function<Var(const std::vector<Var>&)>;
struct Flow;
struct Backward;

class Engine {
 public:
  class Recorder;
  class Region;  // of checkpointed nodes (recomputed.cpp)
  // Gradients on their way, by node. One that arrives at a node before `first` is dropped. Few are on their way at
  // once, so they share few places: a gradient that is taken leaves its place to the next.
  class Table {
   public:
    explicit Table(int first_node = 0) : first(first_node) {}
    void make_room(std::size_t nodes) {  // numbers below
      if (nodes > first + place_.size()) place_.resize(nodes - first, kNone);
    }
    const Var* find(int node) const {  // null if the node has none
      const int place = place_[node - first];
      return place == kNone ? nullptr : &gradients_[place];
    }
    Var& at(int node);   // a new gradient, undefined, if the node has none
    Var take(int node);  // undefined if the node has none

    const int first;

   private:
    static constexpr int kNone = -1;
    std::vector<int> place_;  // by node
    std::vector<Var> gradients_;
    std::vector<int> free_;
  };

  // One backward pass, until the end of the block: ops that rules call belong to this tape, and are
  // recorded only with create_graph.
  Engine(Tape& tape, const Backward& options, bool fill_leaves);

  // The whole pass from y, whose gradient dy is, to the leaves. Errors as begin().
  static void pass(Tape& tape, const Var& y, const Var& dy, const Backward& options,
                   bool fill_leaves);
  // Adds dy at y's node, which it returns. StateError when y was not computed on the tape from a leaf,
  // ShapeError unless dy has y's shape and dtype.
  static int begin(Tape& tape, Table& table, const Var& y, const Var& dy);
  // The loop: nodes from `from` down to `last`.
  void run(Table& table, int from, int last = 0);
  void step(Table& table, int node);

  // 1 for a loss: ShapeError unless it has one element.
  static Tensor one_for(const char* op, const Var& loss);
  static void check_upstream(const char* op, const Var& y, const Tensor& dy);
  // StateError: the rule of `op` needs `what` as it was when it was saved.
  [[noreturn]] static void refuse_changed(std::string_view op, const std::string& what,
                                          const SavedValue& saved);
  // Adds the operands' paths and the place of an op that failed.
  static void annotate(Error& error, std::string_view op, InputList inputs, const Where& where);

 private:
  // The op as the last node, whose value y then is. Returns its number.
  static int add_node(Tape& tape, OpInPlace op, const Formula& formula, std::span<const int> inputs,
                      const Where& where, Var& y);
  void arrived(int node, Var& dy);           // hooks may replace a complete gradient; all are told
  Grads gradients(int node, const Var& dy);  // by the op's rule, or its kernel
  void pass_on(Table& table, int from, std::size_t input, int node, Grads& d);
  void add(Table& table, int node, Var&& gradient) const;
  void add(Table& table, int node, const AddTo& part) const;
  void fill(Leaf& leaf, Var&& gradient);
  void sent(const Flow& flow);                   // tells observers
  static bool same(const Var& a, const Var& b);  // the same view of the same node

  Tape& tape_;
  bool retain_, create_graph_, fill_leaves_;
  Restored<int> paused_;
  Restored<const Engine*> running_;
  Restored<Tape*> open_;
};

// One forward pass of one op: finds out whether to record.
class Engine::Recorder {
 public:
  Recorder(Op& op, const Formula& formula, InputList inputs, const Where& where);
  bool active() const { return active_; }
  bool replays() const { return replays_; }  // active, on a tape that keeps how to compute again
  // Puts the op on the tape and returns its result as a Var.
  Var record(OpInPlace op, Tensor y, RunAgain run = {}) const;
  TapeArena& arena() const;      // StateError when forward ended the tape
  Var constant(Tensor y) const;  // nothing to record

 private:
  // StateError for an input whose tape is gone.
  [[gnu::cold]] void refuse_gone() const;
  const Formula& formula_;
  InputList inputs_;
  const Where& where_;
  std::uint64_t tape_ = 0;  // its id
  bool active_ = false, replays_ = false;
};

}  // namespace glim

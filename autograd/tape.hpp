// The tape: a list of the ops that ran, and reverse-mode differentiation along it.
//
//   Tape tape;                        // records until the end of the block
//   Var loss = ...;
//   tape.backward(loss);              // fills grad() of the leaves
//
// Without a tape nothing is recorded. Nodes are in one list in order of creation, so backward is
// one loop from the loss to the front (backward.hpp), and nothing recurses however deep the chain is.
// Their memory is in a row (arena.hpp), so a node of a tape of a million costs what one of a thousand does.
// backward frees what an op had saved as soon as it was read; a second backward over the same nodes
// needs Backward{.retain = true} in the first, and is a StateError otherwise.
//
// Tapes nest (the inner one records); they belong to one thread, and end on it. Neither a hook nor an
// observer may end its tape. A tape that ends on another thread, or within its own backward, ends the
// program with a message. Using a Var of an ended tape is a StateError. So is using a Var of an outer tape
// while an inner tape records: detach() says that it needs no gradient.
//
// An exception on the way, from an op or from a hook, passes through. What the tape has
// recorded until then stays, leaves keep the gradients they have got, and without retain used ops stay used. After
// std::bad_alloc nothing is promised: end the program, as `glim` does.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "autograd/backward.hpp"
#include "autograd/observer.hpp"
#include "autograd/replay.hpp"

namespace glim {

class TapePass;

struct TapeOptions {
  // Keep every value until the tape ends, and how to compute it again: Tape::replay.
  bool replay = false;
};

class Tape : public Graph {
 public:
  explicit Tape(TapeOptions options = {});
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  // The recording tape of this thread, or null; and the innermost one, recording or not.
  static Tape* current() { return static_cast<Tape*>(Graph::current()); }
  static Tape* open() { return static_cast<Tape*>(Graph::open()); }

  // Adds ∂loss/∂leaf to every leaf's grad(). ShapeError unless loss has one element, StateError
  // when it was not computed on this tape from any leaf.
  void backward(const Var& loss, Backward options = {});
  // Adds ∂(Σ y·dy)/∂leaf to every leaf's grad(), y of any shape. StateError as above.
  void backward(const Var& y, const Tensor& dy, Backward options = {});
  // ∂(Σ y·dy)/∂x for each x; no grad() changes. Zeros where y does not depend on x. With create_graph
  // the results that depend on a leaf or on dy are on the tape. Undefined dy means 1 for a y of one
  // element. Hooks run before a gradient is returned. No op before the first x is visited, so an inner gradient costs the same
  // on a long tape; all ops after it are, those too that lead to no x. The results are read-only, as others may see the same memory.
  // StateError for an x or a y of another tape.
  std::vector<Var> grad(const Var& y, const std::vector<Var>& xs, const Var& dy = {},
                        Backward options = {}) {
    return grad(std::vector{y}, xs, std::vector{dy}, options);
  }
  // Several outputs at once: ∂(Σ_k Σ y_k·dy_k)/∂x. ShapeError for another number of dys.
  std::vector<Var> grad(const std::vector<Var>& ys, const std::vector<Var>& xs,
                        const std::vector<Var>& dys, Backward options = {});

  // Registers an observer until it stops or the tape ends. StateError for one that observes a tape already.
  void observe(Observer& observer);

  // "decoder.layers.1.self_attn.scores"; IndexError for a number that is not on the tape.
  std::string path(int node) const;
  // With TapeOptions::replay; StateError otherwise, or for a leaf.
  const Replay& replay(int node) const;
  Var value(int node) const;  // a leaf's, or one that replay kept

  // Stops the current tape from recording until the end of the block, on the same thread. If there are
  // several, recording resumes after the last one ends.
  class NoGrad {
   public:
    explicit NoGrad(bool pause = true);
    ~NoGrad();
    NoGrad(const NoGrad&) = delete;
    NoGrad& operator=(const NoGrad&) = delete;

   private:
    std::uint64_t tape_;  // its id
  };

 private:
  friend class Observer;
  friend class Region;
  friend class TapePass;
  friend class Var;
  friend Var named(Var v, std::string_view label);
  friend Var module_output(std::string_view part, const Var& in, Var out);
  struct Spare;

  Var forward_and_record(const Call& call) override;
  Tensor forward(const Call& call) override;
  Var record(const Call& call, Tensor y) override;
  int node_for(const Var& v) override;  // tells observers of a leaf's node
  template <class F>
  void notify(const F& f) {
    observers_.notify(f);
  }
  int last_node() const { return static_cast<int>(nodes_.size()) - 1; }
  const std::string* current_scope();
  // A place on the tape, from which on truncate takes the nodes back.
  struct Place {
    std::size_t size = 0;
    TapeArena::Mark mark;
  };
  Place end() const { return {nodes_.size(), arena_.mark()}; }
  void truncate(const Place& place, bool keep_seen = false);
  void take_lists();
  void leave_lists();
  void swap_lists();
  void keep_replay(int node, Replay replay);

  ObserverList observers_;
  const bool replays_;                           // TapeOptions::replay
  std::vector<std::unique_ptr<Replay>> replay_;  // by node
  Tape* outer_;
  const TapePass* running_ = nullptr;  // the backward under way
  std::unordered_set<std::string> names_;
  std::uint64_t scope_version_ = 0;
  const std::string* scope_ = nullptr;
};
using NoGrad = Tape::NoGrad;

// Adds the path and the line of a node to an error; or the operands' paths, and the line of an op that failed.
void place(Error& error, const Tape& tape, int node);
void annotate(Error& error, std::string_view op, InputList inputs, const Where& where);

// Gives the node of v a name of its own in place of the op's: the path ends in it. Observers may replace v; the
// result is returned.
Var named(Var v, std::string_view label);

// Tells observers that this part computed `out` from `in`. Returns `out` or their replacement.
Var module_output(std::string_view part, const Var& in, Var out);

}  // namespace glim

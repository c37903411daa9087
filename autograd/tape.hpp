// The tape: a list of the ops that ran, and reverse-mode differentiation along it.
//
//   Tape tape;                        // records until the end of the block
//   Var loss = ...;
//   tape.backward(loss);              // fills grad() of the leaves
//
// Without a tape nothing is recorded. Nodes are in one list in order of creation, so backward is
// one loop from the loss to the front (engine.cpp), and nothing recurses however deep the chain is.
// Their memory is in a row (arena.hpp), so a node of a tape of a million costs what one of a thousand does.
// backward frees what an op had saved as soon as it was read; a second backward over the same nodes
// needs Backward{.retain = true} in the first, and is a StateError otherwise.
//
// Tapes nest (the inner one records); they belong to one thread, and end on it. Neither a hook nor an
// observer may end its tape. A tape that ends on another thread, or within its own backward, ends the
// program with a message. Using a Var of an ended tape is a StateError. So is using a Var of an outer tape
// while an inner tape records: detach() says that it needs no gradient.
//
// An exception on the way, from an op or from a hook, passes through. The tape stays as it was,
// but leaves keep the gradients they have got, and without retain used ops stay used. After
// std::bad_alloc nothing is promised: end the program, as `glim` does.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "autograd/observer.hpp"

namespace glim {

// How to compute an op again. `run` applies it to other operands, of any dtype that the op takes, with the
// masks, random keys and indices of the first call. The same operands give the same bits. Constant operands
// record nothing. `run` is empty for a checkpointed region.
struct Replay {
  std::vector<Var> operands;  // a leaf is the leaf itself, not a copy of its value
  Tensor value;
  RunAgain run;
};

// Backward reads the first 64 bytes of a node, one line of the CPU's cache, and its shape.
struct alignas(64) Node {
  OpInPlace op;  // gone once backward has used it; none for a leaf
  std::shared_ptr<Leaf> leaf;
  std::span<const int> inputs;  // numbers of earlier nodes, -1 for a constant
  std::uint64_t serial;
  const Formula* formula = nullptr;  // of the op
  DType dtype;
  Shape shape;
  const std::string* scope = nullptr;  // the path of its module; null for a leaf
  std::string_view label;  // given by named(); if empty, the name of the op or leaf is used
  Where where;
  std::unique_ptr<Replay> replay;  // with TapeOptions

  std::string_view name() const { return formula ? formula->op : "leaf"; }
  Index bytes() const { return numel_of(shape) * static_cast<Index>(size_of(dtype)); }  // of y
};

// The nodes of a tape by number. They are in its arena, and do not move.
class NodeList {
 public:
  struct Iterator {
    Node* const* at;
    const Node& operator*() const { return **at; }
    Iterator& operator++() {
      ++at;
      return *this;
    }
    bool operator==(const Iterator&) const = default;
  };
  std::size_t size() const { return all_.size(); }
  bool empty() const { return all_.empty(); }
  const Node& operator[](std::size_t i) const { return *all_[i]; }
  Node& operator[](std::size_t i) { return *all_[i]; }
  const Node& back() const { return *all_.back(); }
  Iterator begin() const { return {all_.data()}; }
  Iterator end() const { return {all_.data() + all_.size()}; }

 private:
  friend class Tape;
  std::vector<Node*> all_;
};

// The lists of a tape. The next tape uses their memory again.
struct TapeLists {
 protected:
  NodeList nodes_;
  std::unordered_map<const Leaf*, int> leaf_nodes_;
  std::unordered_set<std::string> names_;
};

struct TapeOptions {
  // Keep every value until the tape ends, and how to compute it again: Tape::replay.
  bool replay = false;
};

struct Backward {
  bool retain = false;        // keep what ops saved, for another backward
  bool create_graph = false;  // record backward itself (implies retain)
};

class Tape : private TapeLists {
 public:
  explicit Tape(TapeOptions options = {});
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  // The recording tape of this thread, or null; and the innermost one, recording or not.
  static Tape* current() { return open_ && !open_->paused_ ? open_ : nullptr; }
  static Tape* open() { return open_; }

  // Adds ∂loss/∂leaf to every leaf's grad(). ShapeError unless loss has one element, StateError
  // when it was not computed on this tape from any leaf.
  void backward(const Var& loss, Backward options = {});
  // Adds ∂(Σ y·dy)/∂leaf to every leaf's grad(), y of any shape. StateError as above.
  void backward(const Var& y, const Tensor& dy, Backward options = {});
  // ∂(Σ y·dy)/∂x for each x, leaving leaves alone; zeros where y does not depend on x. With
  // create_graph the results are on the tape, and differentiable in dy too. Undefined dy means ones
  // for a scalar y. Hooks run before. No op before the first x is visited, so an inner gradient costs the same
  // on a long tape. The results are read-only, as others may see the same memory.
  // StateError for an x of another tape.
  std::vector<Var> grad(const Var& y, const std::vector<Var>& xs, const Var& dy = {},
                        Backward options = {}) {
    return grad(std::vector{y}, xs, std::vector{dy}, options);
  }
  // Several outputs at once: ∂(Σ_k Σ y_k·dy_k)/∂x. ShapeError for another number of dys.
  std::vector<Var> grad(const std::vector<Var>& ys, const std::vector<Var>& xs,
                        const std::vector<Var>& dys, Backward options = {});

  // Registers an observer until it stops or the tape ends. StateError for one that observes a tape already.
  void observe(Observer& observer);

  const NodeList& nodes() const { return nodes_; }
  // "decoder.layers.1.self_attn.scores"; IndexError for a number that is not on the tape.
  std::string path(int node) const;
  int node_of(const Var& v) const;  // -1 for a constant
  // With TapeOptions::replay; StateError otherwise, or for a leaf.
  const Replay& replay(int node) const;
  Var value(int node) const;  // of a leaf, or kept by replay

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
  friend class Engine;
  friend class Observer;
  friend class Var;
  friend Var named(Var v, std::string_view label);
  friend Var module_output(std::string_view part, const Var& in, Var out);
  struct Spare;

  template <class F>
  void notify(const F& f) {
    observers_.notify(f);
  }
  static inline constinit thread_local Tape* open_ = nullptr;
  bool holds(const Var& v) const;     // computed on this tape, and its node is still there
  int number_of(const Var& v);        // the node of v, adding a leaf's on first use; -1 constant
  Node& add_node(const Tensor& y);    // whose value y is
  void bind(Var& v, int node) const;  // v becomes the value of that node
  const std::string* current_scope();
  // A place on the tape, from which on truncate takes the nodes back.
  struct Place {
    std::size_t size = 0;
    TapeArena::Mark mark;
  };
  Place end() const { return {nodes_.size(), arena_.mark()}; }
  void truncate(const Place& from, bool keep_seen = false);

  TapeArena arena_;  // of the nodes, their ops and what these saved
  ObserverList observers_;
  bool replays_;  // TapeOptions::replay
  std::uint64_t id_;
  Tape* outer_;
  int paused_ = 0;                   // how many stop it from recording
  const Engine* running_ = nullptr;  // the backward under way
  std::uint64_t next_serial_ = 1;
  std::uint64_t scope_version_ = 0;
  const std::string* scope_ = nullptr;
};
using NoGrad = Tape::NoGrad;

// Adds the path and the line of a node to an error.
void place(Error& error, const Tape& tape, int node);

// Gives the node of v a name of its own in place of the op's: the path ends in it. Observers may replace v; the
// result is returned.
Var named(Var v, std::string_view label);

// Tells observers that this part computed `out` from `in`. Returns `out` or their replacement.
Var module_output(std::string_view part, const Var& in, Var out);

}  // namespace glim

// The tape: a list of the ops that ran, and reverse-mode differentiation along it.
//
//   Tape tape;                        // records until the end of the block
//   Var loss = ...;
//   tape.backward(loss);              // fills grad() of the leaves
//
// Without a tape nothing is recorded. Nodes lie in one vector in order of creation, so backward is
// one loop from the loss to the front, and nothing recurses however deep the chain is (Griewank &
// Walther 2008, "Evaluating Derivatives", section 3.2). backward frees what an op had saved as
// soon as it was read; a second backward over the same nodes needs Backward{.retain = true} in the
// first, and is a StateError otherwise.
//
// Tapes nest (the inner one records); they belong to one thread. A Var computed on a tape that is
// gone, or on an outer tape while an inner one records, is a StateError where it is used: detach()
// says that no gradient is wanted.
//
// An exception on the way, from an op or from a hook, passes through and leaves the tape as it was,
// but for gradients that had already arrived at leaves and, without retain, ops already used up.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "autograd/op.hpp"

namespace glim {

struct Node {
  std::unique_ptr<Op> op;   // gone once backward has used it; none for a leaf
  std::string_view name;    // of the op, "leaf" for a leaf
  std::vector<int> inputs;  // numbers of earlier nodes, -1 for a constant
  Shape shape;
  DType dtype;
  int scope = 0;      // of Tape::scope_path
  std::string label;  // given by named(), else empty: an op's name or a leaf's stands for it
  Where where;
  std::shared_ptr<Leaf> leaf;
  // With TapeOptions::profile; beginnings on the steady clock.
  double forward_start = 0, forward_seconds = 0;
  double backward_start = 0, backward_seconds = 0;
  std::int64_t bytes = 0;  // of the output
  std::uint64_t serial = 0;
};

// What a tape keeps in lists, whose memory is used again.
struct TapeLists {
  using LeafNodes = std::unordered_map<const Leaf*, int>;

 protected:
  std::vector<Node> nodes_;
  LeafNodes leaf_nodes_;
  std::vector<LeafNodes::node_type> leaf_entries_;  // of leaf_nodes_, unused
  std::unordered_map<std::string, int> scope_numbers_;
  std::vector<const std::string*> scopes_;  // keys of scope_numbers_, by number
};

struct TapeOptions {
  bool profile = false;       // measure each op's time
  bool check_finite = false;  // NonFiniteError at the first output or gradient that is not finite
  bool replay = false;        // keep every value, and how to compute it again: Tape::kept
};

// What TapeOptions::replay keeps of a node. Memory is then held until the tape goes.
struct Kept {
  std::vector<Var> operands;  // all inputs of the op; a leaf is the leaf itself, not its value then
  Tensor value;
  // The op's forward on other operands, of any dtype that the op takes, with the constants (masks,
  // keys of dropout, indices) of the first time. Nothing is recorded; the same operands give the
  // same bits. ValueError unless there are as many. Empty for a checkpointed region.
  Replay again;
};

struct Backward {
  bool retain = false;        // keep what ops saved, for another backward
  bool create_graph = false;  // record backward itself (implies retain)
};

struct Flow;
struct WalkStep;
// Sees what an op sends to one input; what it returns replaces it, undefined keeps it.
using FlowHook = std::function<Tensor(const Flow&)>;

// A value kept by watch(): grad is undefined until backward reached it.
struct Watched {
  int node;  // -1 for one of a checkpointed region, which backward ran again
  std::string path;
  Tensor value, grad;
};

class Tape : private TapeLists {
 public:
  explicit Tape(TapeOptions options = {});
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  static Tape* current();  // the recording tape of this thread, or null
  static Tape* open();     // the innermost tape of this thread, recording or not

  // Adds ∂loss/∂leaf to every leaf's grad(). ShapeError unless loss has one element, StateError
  // when it was not computed on this tape from any leaf.
  void backward(const Var& loss, Backward options = {});
  // The same for Σ y·dy, y of any shape.
  void backward(const Var& y, const Tensor& dy, Backward options = {});
  // ∂(Σ y·dy)/∂x for each x, leaving leaves alone; zeros where y does not depend on x. With
  // create_graph the results lie on the tape. Undefined dy means ones for a scalar y. They are read
  // after the hooks. StateError for an x of another tape.
  std::vector<Var> grad(const Var& y, const std::vector<Var>& xs, const Tensor& dy = {},
                        Backward options = {});

  // Keeps value and gradient of every node recorded from now on whose path matches: * any run of
  // characters, ? one.
  void watch(std::string pattern);
  void watch(const Var& v);
  const std::vector<Watched>& watched() const { return watched_; }
  // The watched gradient of v; undefined if none came.
  Tensor grad_of(const Var& v) const;
  // Calls h with the complete gradient of v, or of every node whose path matches. Hooks run in the
  // order in which they were added, then those of the leaf. One removed by another that runs before
  // it does not run; one added meanwhile waits for the next gradient. ValueError for a null one.
  int hook(const Var& v, Hook h);
  int hook(std::string pattern, Hook h);
  void remove_hook(int id);

  const std::vector<Node>& nodes() const { return nodes_; }
  const std::string& scope_path(int scope) const { return *scopes_[scope]; }
  std::string path(int node) const;  // "decoder.layers.1.self_attn.scores"
  int node_of(const Var& v) const;   // -1 for a constant
  // StateError unless the tape replays, or for a leaf.
  const Kept& kept(int node) const;
  Var value(int node) const;  // of a leaf, or as kept: a Var of that node

 private:
  friend class Recorder;
  friend class Op;
  friend class FusedOp;
  friend class CheckpointOp;
  friend class BackwardWalk;
  friend class Var;
  friend class Paused;
  friend Var named(Var v, std::string_view label);

  using Table = std::vector<Var>;  // gradients on their way, by node
  struct Sweep {
    int last = 0;  // stop before nodes below this number
    bool retain = false, create_graph = false;
    bool fill_leaves = false;
    std::vector<std::pair<int, Var*>> readers;  // where grad() wants what arrives at a node
    // Of a BackwardWalk: where a step is written down, and what may change its flows.
    WalkStep* seen = nullptr;
    const FlowHook* through = nullptr;
  };
  class Sweeping;
  struct Spare;

  static Tape* exchange_open(Tape* tape);  // open() from now on; the one before
  int number_of(const Var& v);  // the node of v, adding a leaf's on first use; -1 constant
  int add_node(Node node);
  void keep(int node, Kept kept);
  bool recomputes(const Var& v) const;   // the op of v's node can; nothing is gained with replay
  Tensor recompute(const Var& v) const;  // v is without its value; StateError for an op used up
  void bind(Var& v, int node) const;     // v becomes the value of that node
  bool holds(const Var& v) const;        // computed on this tape, and its node is still there
  int current_scope();
  // dy of a loss: ShapeError unless it has one element. dy of any y: unless it has y's kind.
  static Tensor one_for(const char* op, const Var& loss);
  static void check_upstream(const char* op, const Var& y, const Tensor& dy);
  int begin(Table& table, const Var& y, const Tensor& dy);  // puts dy at y's node, which it returns
  void sweep(Table& table, int from, const Sweep& options);
  void one_step(Table& table, int i, Backward options, WalkStep& seen, const FlowHook& through);
  void step(Table& table, int i, const Sweep& options);
  void finish_leaf(Node& node, Var gradient);
  void accumulate(Table& table, int node, Var gradient, bool create_graph) const;
  [[noreturn]] void used_up(int node) const;  // StateError
  void place(Error& error, int node) const;   // adds the node's path and line
  void accumulate(Table& table, int node, const AddTo& add) const;
  Tensor part_of(int node, const AddTo& add) const;  // what add adds, on its own
  // Writes a flow down; true when it was replaced.
  bool see(const Sweep& options, std::size_t input, int node, const Tensor& gradient) const;
  Var run_hooks(int node, Var gradient);
  void note_watched(int node, const Tensor& value);
  bool matches(const std::string& pattern, int node) const;
  // Takes back the nodes from `size` on, with their hooks. What was watched among them is kept if
  // `keep_watched`, by path alone.
  void truncate(std::size_t size, bool keep_watched = false);
  // The gradients that arrive at nodes before `first` when <y, dy> is differentiated along the
  // nodes from `first` on; those nodes' leaves count as before.
  std::vector<std::pair<int, Var>> inner_gradients(const Var& y, const Var& dy, int first,
                                                   const Sweep& options);
  bool filling_leaves_ = false;  // by the backward under way

  TapeOptions options_;
  std::uint64_t id_;
  Tape* outer_;
  bool paused_ = false;
  std::vector<Kept> kept_;  // by node, with TapeOptions::replay
  std::uint64_t next_serial_ = 1;
  std::uint64_t scope_version_ = 0;
  int scope_ = 0;
  std::vector<std::string> patterns_;
  std::vector<Watched> watched_;
  struct NodeHook {
    int id, node;  // node -1: by pattern
    std::string pattern;
    Hook call;
  };
  std::vector<NodeHook> hooks_;
  int next_hook_ = 0;
  template <class List>
  static const Hook* find_hook(const List& list, int id);
};

// Stops the current tape from recording until the end of the block.
class Paused {
 public:
  explicit Paused(bool pause = true);
  ~Paused();
  Paused(const Paused&) = delete;
  Paused& operator=(const Paused&) = delete;

 private:
  Tape* tape_;
  bool before_ = false;
};

// Gives the node of v a name of its own in place of the op's: the path ends in it.
Var named(Var v, std::string_view label);

bool glob_match(std::string_view pattern, std::string_view text);

}  // namespace glim

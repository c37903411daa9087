// A recorded pass: what forward computed, by which ops, and what backward sends, node by node.
//
//   Pass pass([&] { return model.loss(x); });             or Pass(tape, loss)
//   while (pass.current() >= 0) pass.step();              backward, from the loss on
//   pass[7].gradient                                      ∂L/∂(value of node 7), the sum of the flows into it
//
// step() takes one node, whose gradient is complete. back() undoes steps. change() sets a change of a node's gradient:
// when the pass reaches the node its gradient, or a part of it, becomes zeros or C times itself; a frozen node gets
// none, nor does any node that is reached through it alone. Nothing else differs from Tape::backward: a pass without
// changes has the same bits. The leaves' own grad() is left alone.
//
// Pages, debugger and listing read a pass and nothing of the program that recorded its tape, so that a user's program
// and Python get the same as `glim` does.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "autograd/observe/walk.hpp"
#include "tools/pass/patch.hpp"
#include "tools/pass/roles.hpp"

namespace glim {

// A value, and the op that computed it.
struct Computed {
  std::string op;                    // "leaf" for a parameter
  std::string path, label;           // Tape::path; the name that its module gave it: "probs"
  const Formula* formula = nullptr;  // none for a leaf
  Where where;                       // the line of the call
  std::vector<int> inputs;           // numbers; -1: a constant
  Arguments arguments;
  Tensor value;
  bool is_leaf() const { return op == "leaf"; }
};

// One node that reads a value: the op and which of its inputs it is.
struct Reader {
  int node = -1;
  std::size_t input = 0;
};

struct PassNode : Computed {
  int number = -1;
  std::string name;              // its path; "PATH#NUMBER" where several nodes have this path
  std::string scope;             // the module's path
  std::vector<int> saved;        // what backward reads: numbers of inputs, Op::kOutput
  std::vector<Tensor> operands;  // values of the inputs, constants among them; undefined: not given
  RunAgain run;                  // the op on other operands; none for a checkpointed region
  std::vector<Reader> readers;

  // Backward, once the pass has taken the node.
  int turn = -1;            // its place in the order, from 0
  Tensor gradient;          // undefined: the pass has not taken it
  std::vector<Flow> flows;  // what its op sent to its inputs
};

// Node `number` of a tape. StateError for a tape without replay, and after a backward that did not retain.
PassNode read_node(const Tape& tape, int number);

enum class GradientState { ToCome, Now, Taken, Frozen, PassedOver };

class Pass {
 public:
  Pass() = default;
  // `record` records the loss on a tape of the pass's own.
  explicit Pass(const std::function<Var()>& record, Roles roles = {});
  // The pass to y on a tape that outlives it, or end(). dy is ones if undefined. Errors as read_node's and
  // BackwardWalk's.
  Pass(Tape& tape, const Var& y, Tensor dy = {}, Roles roles = {});

  const std::vector<PassNode>& nodes() const { return nodes_; }
  const PassNode& operator[](int node) const { return nodes_[static_cast<std::size_t>(node)]; }
  int size() const { return static_cast<int>(nodes_.size()); }
  int loss() const { return loss_; }
  double loss_value() const;                     // Σ y·dy, where y has more elements than one
  const Tensor& dy() const { return dy_; }       // as given
  const Roles& roles() const { return roles_; }  // of the model's modules
  // StateError after end().
  Tape& tape() const;
  int find(const std::string& path) const;  // the first node of this path; -1
  // The nodes that read this one, each once.
  std::vector<int> consumers(int node) const;

  int current() const { return walk_ ? walk_->next() : -1; }  // -1: the pass is over
  int taken() const { return static_cast<int>(order_.size()); }
  const std::vector<int>& order() const { return order_; }  // the nodes taken
  GradientState state(int node) const;
  // The complete gradient or, before the pass reaches the node, the sum so far. Undefined: none.
  Tensor gradient(int node) const;
  // The sum of the gradients that `reader` sent to `input`; undefined if it sent none.
  Tensor flow(int reader, int input) const;
  // The norm of what a node that was taken sent to its input; below 0 when it sent nothing.
  double sent(int node, std::size_t input) const;

  // Takes the current node. StateError when the pass is over.
  const PassNode& step();
  // To where only so many nodes were taken: the pass runs again from the loss up to there, and ends in the same
  // bits. Changes stay, and are made again when the pass reaches them. StateError for more than were taken.
  void back(int taken);
  // From the loss again, with nothing changed.
  void restart();
  // StateError when the pass has gone past the node.
  void change(int node, const Patch& patch);
  const std::map<int, std::vector<Patch>>& patches() const { return patches_; }
  // Lets the tape go. What was computed stays.
  void end();

 private:
  void read();
  void rewind();
  void arrive();  // makes the changes that were set on the node reached now
  std::unique_ptr<Tape> replay_tape_;
  Tape* tape_ = nullptr;
  std::vector<PassNode> nodes_;
  Roles roles_;
  int loss_ = -1;
  Tensor dy_;
  std::unique_ptr<BackwardWalk> walk_;
  std::vector<int> order_;
  std::map<int, std::vector<Patch>> patches_;  // all that were set, made or not
  std::map<int, std::size_t> done_;            // how many of them
  std::set<int> frozen_;
};

// Nodes whose gradient is not the sum of what arrived: a hook, an observer or a patch changed it. In the order of the
// pass.
std::vector<int> changed_nodes(const Pass& pass);

// Values and gradients by name, "NAME" and "NAME.grad"; of leaves the gradients alone unless their values count, too.
std::map<std::string, Tensor> tensors_of(const Pass& pass, bool leaves = true);

}  // namespace glim

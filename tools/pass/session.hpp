// One backward pass, of an inspection or under the debugger. It stops before a node, whose gradient is complete, and
// goes on when told to. A change that was set on a node is made when the pass reaches it: its gradient, or a part of
// it, becomes zeros or C times itself; a frozen node gets none, nor does any node that is reached through it alone.
//
// Nothing else differs from Tape::backward: left alone, a session ends with the same bits in the
// leaves' gradients. Values, gradients and what ops saved are kept until the session ends.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "autograd/observe/walk.hpp"
#include "tools/pass/node_names.hpp"

namespace glim::step {

// One node that reads a value: the op and which of its inputs it is.
struct Reader {
  int node = -1;
  std::size_t input = 0;
};

enum class GradientState { ToCome, Now, Taken, Frozen, PassedOver };

class Session {
 public:
  // `record` records the loss on the session's tape. Errors as BackwardWalk's.
  explicit Session(const std::function<Var()>& record);

  Tape& tape() { return tape_; }
  const Tape& tape() const { return tape_; }
  const Node& node(int i) const { return tape_.nodes()[static_cast<std::size_t>(i)]; }
  int size() const { return static_cast<int>(tape_.nodes().size()); }
  int loss() const { return loss_; }
  int current() const { return walk_->next(); }  // -1: the pass is over
  int taken() const { return static_cast<int>(taken_.size()); }

  // Takes the current node. StateError when the pass is over.
  const WalkStep& advance();
  // From the loss again, with leaves' gradients dropped and nothing set.
  void restart();
  // To where only so many nodes were taken: the pass runs again from the loss up to there, and ends in the same
  // bits. Changes stay, and are made again when the pass reaches them. StateError for more than were taken.
  void back_to(int taken);
  // The nodes taken, in their order.
  const std::vector<int>& order() const { return order_; }
  // StateError when the pass has gone past the node.
  void set(int node, const Patch& patch);
  const std::map<int, std::vector<Patch>>& patches() const { return patches_; }

  GradientState turn(int node) const;
  // The complete gradient or, before the pass reaches the node, the sum so far. Undefined: none.
  Tensor gradient(int node) const;
  const std::vector<Reader>& readers(int node) const {
    return readers_[static_cast<std::size_t>(node)];
  }
  // The norm of what a node that was taken sent to its input; below 0 when it sent nothing.
  double sent(int node, std::size_t input) const;

 private:
  void rewind();
  void arrive();  // makes the changes that were set on the node reached now
  Tape tape_;
  Var loss_value_;
  int loss_ = -1;
  std::optional<BackwardWalk> walk_;
  WalkStep last_;
  std::vector<std::vector<Reader>> readers_;
  std::vector<int> order_;
  std::map<int, Tensor> taken_;
  std::map<int, std::vector<double>> sent_;
  std::map<int, std::vector<Patch>> patches_;  // all that were set, made or not
  std::map<int, std::size_t> done_;            // how many of them
  std::set<int> frozen_;
};

}  // namespace glim::step

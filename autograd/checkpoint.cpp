// Activation checkpointing (Chen et al. 2016, arXiv 1604.06174): a region of the tape is kept as
// one node, and run again when backward reaches it.
//
//   y = fn()      d(input) = what backward along fn's nodes brings to each value that fn read
//
// The node's inputs are found by running fn once: the earlier nodes and the leaves that y depends on.
// Memory of the region is needed twice for a short while, and not in between; time is one more
// forward. The generator is set back for the second run, so dropout draws the same mask.
#include <exception>

#include "autograd/ops.hpp"
#include "tensor/clock.hpp"

namespace glim {
namespace {

const bool registered = register_op("checkpoint");

// Sets a value back at the end of the block.
template <class T>
class Restored {
 public:
  Restored(T& place, T value) : place_(place), before_(std::exchange(place, std::move(value))) {}
  ~Restored() { place_ = std::move(before_); }
  Restored(const Restored&) = delete;
  Restored& operator=(const Restored&) = delete;

 private:
  T& place_;
  T before_;
};

}  // namespace

class CheckpointOp final : public Op {
 public:
  CheckpointOp() = default;
  explicit CheckpointOp(std::function<Var()> fn)
      : fn_(std::move(fn)), scope_(Scope::stack()), random_(generator()) {}
  std::string_view name() const override { return "checkpoint"; }

  // Runs fn and makes it one node.
  static Var record(std::function<Var()> fn, const Where& where) {
    Tape& tape = *Tape::current();
    CheckpointOp op(fn);
    auto first = tape.nodes_.size();
    double start = seconds_now();
    Var y;
    try {
      y = fn();
      static_cast<void>(y.requires_grad());  // StateError when it is of another tape
    } catch (...) {
      tape.truncate(first);
      throw;
    }
    Tensor value = y.value();
    // y depends on these nodes. Those from before the region, and leaves that it met first, are the
    // inputs: what else it read gets no gradient, as without a checkpoint.
    int root = tape.number_of(y);
    std::vector<bool> reached(tape.nodes_.size());
    if (root >= 0) reached[root] = true;
    for (auto i = reached.size(); i-- > first;)
      for (int input : tape.nodes_[i].inputs)
        if (reached[i] && input >= 0) reached[input] = true;
    Node node;
    std::vector<std::shared_ptr<Leaf>> leaves;
    for (std::size_t i = 0; i < reached.size(); ++i) {
      if (reached[i] && i < first) node.inputs.push_back(static_cast<int>(i));
      if (reached[i] && i >= first && tape.nodes_[i].leaf) leaves.push_back(tape.nodes_[i].leaf);
    }
    y = {};
    tape.truncate(first);
    for (auto& leaf : leaves) {
      Var v;
      v.leaf_ = leaf;
      node.inputs.push_back(tape.number_of(v));
    }
    if (node.inputs.empty()) return Var(value);
    op.inputs_on_tape_ = node.inputs;
    op.needs_ = ~std::uint64_t{0};
    node.name = "checkpoint";
    node.shape = value.shape();
    node.dtype = value.dtype();
    node.scope = tape.current_scope();
    node.where = where;
    node.bytes = value.bytes();
    node.op = std::make_unique<CheckpointOp>(std::move(op));
    if (tape.options_.profile) {
      node.forward_start = start;
      node.forward_seconds = seconds_now() - start;
    }
    Var result(value);
    tape.bind(result, tape.add_node(std::move(node)));
    tape.note_watched(result.node_, value);
    if (tape.options_.replay) {
      std::vector<Var> operands;
      for (int input : tape.nodes_.back().inputs) operands.push_back(tape.value(input));
      tape.keep(result.node_, {std::move(operands), value, {}});
    }
    return result;
  }

  Grads backward(const Var& dy) const override {
    Tape& tape = *Tape::open();
    bool create_graph = !tape.paused_;
    auto first = tape.nodes_.size();
    std::vector<std::pair<int, Var>> found;
    try {
      Var y = run_again(tape);
      found = tape.inner_gradients(y, dy, static_cast<int>(first),
                                   {.retain = create_graph,
                                    .create_graph = create_graph,
                                    .fill_leaves = tape.filling_leaves_,
                                    .readers = {}});
    } catch (...) {
      tape.truncate(first);
      throw;
    }
    if (!create_graph) tape.truncate(first, true);
    Grads d;
    for (std::size_t k = 0; k < inputs_on_tape_.size(); ++k) {
      int number = inputs_on_tape_[k];
      for (auto& [node, g] : found)
        if (node == number) d[k] = std::move(g);
      if (!d.has(k)) {
        const Node& node = tape.nodes_[number];
        d[k] = Var(zeros(node.shape, node.dtype));
      }
    }
    return d;
  }

 private:
  Var run_again(Tape& tape) const {
    Restored random(generator(), random_);
    Restored recording(tape.paused_, false);
    Scope scope(scope_);
    return fn_();
  }

  std::function<Var()> fn_;
  std::vector<std::string> scope_;
  Generator random_;
  std::vector<int> inputs_on_tape_;
};

Var checkpoint(std::function<Var()> fn, Where where) {
  if (!fn) {
    ValueError e("checkpoint", "fn is null: a function that computes the region is wanted");
    e.set_place("", to_string(where));
    throw e;
  }
  if (!Tape::current()) return fn();
  return CheckpointOp::record(std::move(fn), where);
}

}  // namespace glim

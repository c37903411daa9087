// Activation checkpointing (Chen et al. 2016, arXiv 1604.06174): a region of the tape is kept as one
// node, and run again when backward reaches it.
//
// The node's inputs are found by running fn once: the earlier nodes and the leaves that y depends on.
// Memory of the region is needed twice for a short while, and not in between; time is one more
// forward. The generator is set back for the second run, so dropout draws the same mask.
#include <algorithm>

#include "autograd/ops.hpp"
#include "autograd/tape_pass.hpp"
#include "tensor/clock.hpp"

namespace glim {
namespace {

// The values from outside that the ops of a region read, and the memory that others may write to.
struct OutsideReads final : Observer {
  explicit OutsideReads(std::size_t first_node) : first(static_cast<int>(first_node)) {}
  void read(int node, const Var& v) override {
    if (v.is_leaf() || (node >= 0 && node < first) || v.value().storage().shared())
      values.push_back(v);
  }
  int first;
  std::vector<Var> values;
};

}  // namespace

class Region final : public Op {
 public:
  static constexpr Formula formula{
      "recomputed",
      "y = f(), a region run as one node",
      {"d(input) = what backward along f's nodes brings to it; f is run again"},
      "Chen et al. 2016"};

  explicit Region(std::function<Var()> fn)
      : fn_(std::move(fn)), scope_(Scope::path()), random_(generator()) {}

  // Runs fn and makes it one node.
  static Var record(std::function<Var()> fn, const Where& where) {
    Tape& tape = *Tape::current();
    Region region(fn);
    const Tape::Place before = tape.end();
    const double start = seconds_now();
    Var y;
    OutsideReads reads(before.size);
    try {
      tape.observe(reads);
      y = fn();
      reads.stop();
      static_cast<void>(y.requires_grad());  // StateError when it is of another tape
    } catch (...) {
      tape.truncate(before);
      throw;
    }
    const Tensor value = y.value();
    const std::vector<int> inputs = inputs_of(tape, y, before);
    if (inputs.empty()) return Var(value);
    region.inputs_on_tape_ = inputs;
    for (const Var& v : reads.values) region.outside_.emplace_back(0, v);
    region.start(formula, {}, ~std::uint64_t{0});
    Region* op = tape.arena_.make<Region>(std::move(region));
    const std::span kept_inputs(tape.arena_.room<int>(inputs.size()), inputs.size());
    std::copy(inputs.begin(), inputs.end(), kept_inputs.begin());
    Node& node = tape.add_node(value);
    node.op.reset(op);
    node.formula = &formula;
    node.inputs = kept_inputs;
    node.scope = tape.current_scope();
    node.where = where;
    const int number = tape.last_node();
    if (tape.replays_) {
      Replay kept{.operands = {}, .value = value, .run = {}};
      for (int input : inputs) kept.operands.push_back(tape.value(input));
      tape.keep_replay(number, std::move(kept));
    }
    tape.notify([&](Observer& o) {
      o.op_started(seconds_now() - start);
      o.recorded(number, value);
    });
    return tape.value_of(number, value);
  }

  Grads gradient(const Var& dy) const override {
    Tape& tape = *Tape::open();
    const bool create_graph = !tape.paused_;
    const Tape::Place before = tape.end();
    PendingGradients pending;
    for (const SavedValue& s : outside_)
      if (s.changed())
        s.refuse(formula.op, s.value.is_leaf() ? "its leaf" : "a value from outside");
    try {
      Var y = run_again(tape);
      const int root = tape.node_for(y);
      pending.make_room(tape.nodes_.size());
      if (root >= 0) {
        pending.at(root) = dy;
        // Leaves are from before the region, so none is filled here.
        TapePass(tape, pending, {.retain = create_graph, .create_graph = create_graph}, false)
            .run(root, static_cast<int>(before.size));
      }
    } catch (...) {
      tape.truncate(before);
      throw;
    }
    if (!create_graph) tape.truncate(before, true);
    Grads d;
    for (std::size_t k = 0; k < inputs_on_tape_.size(); ++k)
      d[k] = pending.take(inputs_on_tape_[k]);
    return d;
  }

 private:
  // y depends on these nodes. Nodes from before the region, and leaves that it met first, are the
  // inputs. Its other operands get no gradient, as without a checkpoint. The region's nodes go.
  static std::vector<int> inputs_of(Tape& tape, Var& y, const Tape::Place& before) {
    const std::size_t first = before.size;
    const int root = tape.node_for(y);
    std::vector<bool> reached(tape.nodes_.size());
    if (root >= 0) reached[root] = true;
    for (auto i = reached.size(); i-- > first;)
      for (int input : tape.nodes_[i].inputs)
        if (reached[i] && input >= 0) reached[input] = true;
    std::vector<int> inputs;
    std::vector<Var> leaves;
    for (std::size_t i = 0; i < reached.size(); ++i) {
      if (reached[i] && i < first) inputs.push_back(static_cast<int>(i));
      if (reached[i] && i >= first && tape.nodes_[i].leaf)
        leaves.push_back(tape.value(static_cast<int>(i)));
    }
    y = {};
    tape.truncate(before);
    for (const Var& leaf : leaves) inputs.push_back(tape.node_for(leaf));
    return inputs;
  }

  Var run_again(Tape& tape) const {
    Restored random(generator(), random_);
    Restored recording(tape.paused_, 0);
    Scope scope(Scope::Path{scope_});
    return fn_();
  }

  std::function<Var()> fn_;
  std::string scope_;
  Generator random_;
  std::vector<int> inputs_on_tape_;
  std::vector<SavedValue> outside_;  // values that fn read
};

namespace {
const bool registered = register_formula(Region::formula);
}

Var recomputed(std::function<Var()> fn, Where where) {
  if (!fn) {
    ValueError e("recomputed", "fn is null: pass a function that computes the region");
    e.set_place("", to_string(where));
    throw e;
  }
  if (!Tape::current()) return fn();
  return Region::record(std::move(fn), where);
}

}  // namespace glim

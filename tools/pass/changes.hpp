// Changes of a pass. Forward, a value is changed where it gets its name: the ops after it read the
// changed value, and its gradient flows through the change. Backward, a node's complete gradient is changed before its
// op passes it on.
//
//   scale           S = scale Q Kᵀ in place of Q Kᵀ/√Dk, or of the model's own factor, in every attention
//   remove_heads    "decoder.layers.1.multihead_attn:2": the context of head 2 is 0
//   remove          a part of a layer: "encoder.layers.0.norm2" gives what it was given, "….sublayer2" and "….skip2"
//                   give 0; the number is that of the residual connection, from 1 on. "encoder.layers.0": its norms
//                   and sublayers, so that the layer gives what it was given
//   mask            "decoder.layers.0.self_attn:2,0": query 2 may not attend to key 0, in any head; * is every query
//                   or every key. A query that may attend to nothing gets zeros
//   unmask          the same, and it may
//   label_smoothing ε of the loss
//   dropout         with the model's dropout, the same draws each time
//   zero            "decoder.layers.1.multihead_attn.scores:2": ∂L/∂(that node) is 0, or ∂L/∂(a part of it)
//   freeze          the pass goes around the node: none of its gradient reaches what is below it
//   scale_gradient  "NODE=C", "NODE:HEAD=C": the gradient is C times itself
//
// tools/pass/node_names.hpp says how nodes and parts are named. A module is named by its path, in which * is any run
// of characters and ? is one.
//
// Errors: ValueError naming the option, for a text of another form, an unknown head, and a name that no node
// of the pass has.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/row.hpp"
#include "tools/pass/node_names.hpp"

namespace glim {

struct Changes {
  std::optional<double> scale, label_smoothing;
  bool dropout = false;
  std::vector<std::string> remove_heads, remove, mask, unmask, zero, freeze, scale_gradient;

  Rows forward_rows(), backward_rows();  // the options: of values, and of gradients
  Rows rows() { return concatenated(forward_rows(), backward_rows()); }

  // True if the loss may have another value.
  bool forward() const {
    return scale || label_smoothing || dropout || !remove_heads.empty() || !remove.empty() ||
           !mask.empty() || !unmask.empty();
  }
  bool backward() const { return !zero.empty() || !freeze.empty() || !scale_gradient.empty(); }
  bool any() const { return forward() || backward(); }
};

// One change, as given, and what it names: nodes, modules, or parts of a layer.
struct Change {
  std::string option, text, pattern;
  bool used = false;
};

// A gradient is scaled or frozen, or a head is removed.
struct NodeChange : Change, Patch {};

// Cells of a mask that are set.
struct MaskChange : Change {
  std::string cells;  // a part: "2,0", ":,0"
  bool keep = false;
};

// Changes values of the tape that is open, until the end of the block.
class ChangedForward : public Observer {
 public:
  explicit ChangedForward(const Changes& changes);
  Var on_value(std::string_view path, Var v) override;
  Var on_module_output(std::string_view path, const Var& in, Var out) override;
  void require_used() const;  // after the forward

 private:
  std::optional<double> scale_;
  std::vector<NodeChange> heads_;
  std::vector<MaskChange> masks_;
  std::vector<Change> removed_;                  // parts of layers
  std::vector<std::string> attentions_, parts_;  // seen so far
  double factor_ = 0;                            // of the scores that are computed
  Shape scores_;                                 // their shape
  bool scaled_ = false;                          // some scores had a factor
};

// The changes of gradients; ValueError for a text of another form.
std::vector<NodeChange> gradient_changes(const Changes& changes);
// Sets the changes of gradients on a pass at its beginning, then runs it to its end.
void run_changed(Pass& pass, const Changes& changes);

}  // namespace glim

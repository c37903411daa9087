#include "tools/pass/changes.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "autograd/ops.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tools/common/nearest.hpp"
#include "tools/common/number.hpp"

namespace glim {

Rows Changes::forward_rows() {
  return {
      {"scale", &scale, "the factor of Q Kᵀ in the scores of every attention (without: 1/√Dk)"},
      {"mask", &mask, "a query may not attend to a key: MODULE:QUERY,KEY, numbers from 0 on or *"},
      {"unmask", &unmask, "the same, and it may"},
      {"label_smoothing", &label_smoothing, "ε of the loss (without: as in training)", kShare},
      {"dropout", &dropout, "with the model's dropout"},
      {"remove_head", &remove_heads,
       "the context of these heads is 0: decoder.layers.1.multihead_attn:2"},
      {"remove", &remove,
       "without a layer, or a part of it: encoder.layers.1, encoder.layers.1.norm2, ….skip2, "
       "….sublayer2"}};
}

Rows Changes::backward_rows() {
  return {
      {"zero", &zero, "the gradient of these nodes is 0: NODE, or a part: NODE:HEAD, NODE[0,1:3]"},
      {"freeze", &freeze, "none of these nodes' gradient reaches the nodes below them"},
      {"scale_gradient", &scale_gradient,
       "the gradient of these nodes times a number: NODE=C, NODE:HEAD=C, NODE[0,1:3]=C"}};
}

namespace {

// The result of `f`; its error is one of the option, at `path`.
template <class F>
auto of_option(const std::string& option, const std::string& text, std::string_view path,
               const F& f) {
  try {
    return f();
  } catch (const Error& e) {
    throw ValueError(option,
                     fmt::format("'{}': {}{}{}", text, path, path.empty() ? "" : " ", e.problem()));
  }
}

// "NAME", "NAME[PART]", "NAME:HEAD".
NodeChange parsed(const std::string& option, const std::string& text) {
  const NodeName node = of_option(option, text, "", [&] { return split_part(text); });
  if (node.name.empty()) throw ValueError(option, "'" + text + "' names no node");
  return {{option, text, node.name}, {node.part}};
}

// "PATTERN:QUERY,KEY".
MaskChange parsed_mask(const char* option, const std::string& text, bool keep) {
  const auto colon = std::min(text.rfind(':'), text.size());
  std::string cells = text.substr(colon);
  const auto comma = cells.find(',');
  auto is_position = [](std::string_view x) {
    return x == "*" || number_in<Index>(x).value_or(-1) >= 0;
  };
  if (colon == 0 || comma == cells.npos || !is_position(cells.substr(1, comma - 1)) ||
      !is_position(cells.substr(comma + 1)))
    throw ValueError(
        option, "'" + text + "' is not of the form MODULE:QUERY,KEY, with numbers from 0 on or *");
  std::ranges::replace(cells, '*', ':');
  return {{option, text, text.substr(0, colon)}, cells.substr(1), keep};
}

// keep, or a mask of nothing, with the cells of c set.
Tensor with_cells(const MaskChange& c, std::string_view module, const Tensor& keep,
                  const Shape& scores) {
  Tensor all =
      keep.defined() ? broadcast_to(keep, scores).clone() : full(scores, true, DType::Bool);
  std::string part = c.cells;
  for (int axis = 2; axis < scores.rank(); ++axis) part = ":," + part;
  of_option(c.option, c.text, module, [&] { return part_of(all, part); }).fill_(c.keep);
  return all;
}

// x with the change's part of it multiplied; `path` is where x is.
Tensor scaled(const NodeChange& c, std::string_view path, const Tensor& x) {
  return of_option(c.option, c.text, path, [&] { return patched(c, x); });
}

template <class C>
void require_all_used(const std::vector<C>& changes, const std::vector<std::string>& known,
                      const char* what) {
  for (const Change& c : changes)
    if (!c.used)
      throw ValueError(c.option, fmt::format("no {} is named '{}'{}", what, c.pattern,
                                             nearest_names(c.pattern, known)));
}

}  // namespace

// ---- forward ----

ChangedForward::ChangedForward(const Changes& changes) : scale_(changes.scale) {
  for (const std::string& text : changes.remove_heads) {
    heads_.push_back(parsed("--remove-head", text));
    if (heads_.back().part.empty())
      throw ValueError("--remove-head", "'" + text + "' names no head: write " + text + ":0");
  }
  for (const std::string& text : changes.remove) removed_.push_back({"--remove", text, text});
  for (const std::string& text : changes.mask) masks_.push_back(parsed_mask("--mask", text, false));
  for (const std::string& text : changes.unmask)
    masks_.push_back(parsed_mask("--unmask", text, true));
  Tape::current()->observe(*this);
}

Var ChangedForward::on_value(std::string_view path, Var v) {
  const auto dot = path.rfind('.');
  const std::string_view module = path.substr(0, dot == path.npos ? 0 : dot);
  const std::string_view name = path.substr(dot == path.npos ? 0 : dot + 1);
  if (name == "query") factor_ = 1 / std::sqrt(static_cast<double>(v.size(-1)));
  if (name == "scale") factor_ = v.value().item();
  if (name == "scores" && scale_ && factor_ > 0) {
    const bool finite = all_finite(v.value());
    of_option("--scale", fmt::format("{}", *scale_), "",
              [&] { require_factor(*scale_, v.dtype()); });
    v = v * (*scale_ / factor_);
    scaled_ = true;
    if (finite && !all_finite(v.value()))
      throw ValueError("--scale",
                       fmt::format("{} makes scores infinite in {}", *scale_, name_of(v.dtype())));
  }
  if (name == "scores") scores_ = v.shape();
  if (name == "keep")
    for (MaskChange& c : masks_)
      if (glob_match(c.pattern, module)) {
        v = Var(with_cells(c, module, v.value(), scores_));
        c.used = true;
      }
  if (name != "context") return v;
  attentions_.emplace_back(module);
  for (NodeChange& c : heads_)
    if (glob_match(c.pattern, module)) {
      v = v * Var(scaled(c, module, full(v.shape(), 1, v.dtype())));
      c.used = true;
    }
  return v;
}

Var ChangedForward::on_module_output(std::string_view path, const Var& in, Var out) {
  if (removed_.empty()) return out;
  const std::string_view layer = path.substr(0, path.rfind('.'));
  const bool skip = path.ends_with(".skip"), norm = path.ends_with(".norm");
  std::string name(path);
  for (int n = 1; std::find(parts_.begin(), parts_.end(), name) != parts_.end() || n == 1; ++n)
    name = std::string(path) + std::to_string(n);
  parts_.push_back(name);
  for (Change& r : removed_) {
    if (!glob_match(r.pattern, name) && (skip || !glob_match(r.pattern, layer))) continue;
    r.used = true;
    out = norm ? in : out * 0.0;
  }
  return out;
}

void ChangedForward::require_used() const {
  require_all_used(removed_, parts_, "part of a layer");
  require_all_used(heads_, attentions_, "attention");
  require_all_used(masks_, attentions_, "attention");
  if (scale_ && !scaled_)
    throw ValueError("--scale", "this model has no attention with a factor 1/√Dk");
}

// ---- backward ----

std::vector<NodeChange> gradient_changes(const Changes& changes) {
  std::vector<NodeChange> all;
  for (const std::string& text : changes.zero) all.push_back(parsed("--zero", text));
  for (const std::string& text : changes.freeze) {
    all.push_back(parsed("--freeze", text));
    if (!all.back().part.empty())
      throw ValueError("--freeze", "'" + text + "': a whole node is frozen; --zero takes a part");
    all.back().factor.reset();
  }
  for (const std::string& text : changes.scale_gradient) {
    const auto equals = text.rfind('=');
    const auto factor = number_in<double>(
        equals == text.npos ? std::string_view() : std::string_view(text).substr(equals + 1));
    if (!factor || !std::isfinite(*factor))
      throw ValueError("--scale-gradient", "'" + text + "' is not of the form NODE=NUMBER");
    all.push_back(parsed("--scale-gradient", text.substr(0, equals)));
    all.back().factor = factor;
  }
  return all;
}

void run_changed(Pass& pass, const Changes& changes) {
  const std::vector<NodeChange> all = gradient_changes(changes);
  std::vector<std::vector<int>> nodes;  // of each change
  for (const NodeChange& c : all) {
    nodes.push_back(of_option(c.option, c.text, "", [&] { return nodes_named(pass, c.pattern); }));
    // The loss last: once it is frozen the pass is over.
    for (auto i = nodes.back().rbegin(); i != nodes.back().rend(); ++i) {
      scaled(c, pass[*i].path, pass[*i].value);
      if (GradientState s = pass.state(*i); s == GradientState::ToCome || s == GradientState::Now)
        pass.change(*i, c);
    }
  }
  while (pass.current() >= 0) pass.step();
  for (std::size_t k = 0; k < all.size(); ++k)
    if (std::ranges::none_of(nodes[k], [&](int i) {
          return pass.state(i) == (all[k].factor ? GradientState::Taken : GradientState::Frozen);
        }))
      throw ValueError(all[k].option, "'" + all[k].text + "': no gradient reaches it");
}

}  // namespace glim

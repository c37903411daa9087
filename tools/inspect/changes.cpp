#include "tools/inspect/changes.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "autograd/ops.hpp"
#include "tensor/error.hpp"
#include "tools/common/nearest.hpp"
#include "tools/common/number.hpp"

namespace glim {
namespace {

// What `f` gives; an error of it is one of the option, at `path`.
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
  return {{option, text, node.name}, node.part, 0.0};
}

// "PATTERN:QUERY,KEY".
MaskChange parsed_mask(const char* option, const std::string& text, bool keep) {
  const auto colon = text.rfind(':');
  const auto cell = colon == text.npos || colon == 0
                        ? std::nullopt
                        : places_in(std::string_view(text).substr(colon + 1));
  if (!cell || cell->size() != 2)
    throw ValueError(
        option, "'" + text + "' is not of the form MODULE:QUERY,KEY, with numbers from 0 on or *");
  return {{option, text, text.substr(0, colon)}, cell->at(0), cell->at(1), keep};
}

// keep, or a mask of nothing, with the cells of c set.
Tensor with_cells(const MaskChange& c, std::string_view module, const Tensor& keep,
                  const Shape& scores) {
  auto within = [&](std::optional<Index> i, Index extent, const char* what) {
    if (i && *i >= extent)
      throw ValueError(
          c.option, fmt::format("'{}': {} has the {} 0 to {}", c.text, module, what, extent - 1));
  };
  const Index queries = scores[scores.rank() - 2], keys = scores[scores.rank() - 1];
  within(c.query, queries, "queries");
  within(c.key, keys, "keys");
  Tensor all =
      keep.defined() ? broadcast_to(keep, scores).clone() : full(scores, true, DType::Bool);
  Tensor part = all;
  if (c.query) part = slice(part, -2, *c.query, *c.query + 1);
  if (c.key) part = slice(part, -1, *c.key, *c.key + 1);
  part.fill_(c.keep);
  return all;
}

// x with the change's part of it multiplied; `path` is where x is.
Tensor scaled(const NodeChange& c, std::string_view path, const Tensor& x) {
  return of_option(c.option, c.text, path, [&] { return with_part_scaled(x, c.part, *c.factor); });
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

ChangedForward::ChangedForward(const Changes& changes)
    : tape_(*Tape::current()), scale_(changes.scale) {
  for (const std::string& text : changes.remove_heads) {
    heads_.push_back(parsed("--remove-head", text));
    if (heads_.back().part.empty())
      throw ValueError("--remove-head", "'" + text + "' names no head: write " + text + ":0");
  }
  for (const std::string& text : changes.remove) removed_.push_back({"--remove", text, text});
  for (const std::string& text : changes.mask) masks_.push_back(parsed_mask("--mask", text, false));
  for (const std::string& text : changes.unmask)
    masks_.push_back(parsed_mask("--unmask", text, true));
  tape_.observe(*this);
}

ChangedForward::~ChangedForward() { tape_.stop_observing(*this); }

Var ChangedForward::on_value(std::string_view path, Var v) {
  const auto dot = path.rfind('.');
  const std::string_view module = path.substr(0, dot == path.npos ? 0 : dot);
  const std::string_view name = path.substr(dot == path.npos ? 0 : dot + 1);
  if (name == "query") dk_ = v.size(-1);
  if (name == "scores" && scale_ && dk_ > 0) {
    const double factor = *scale_ * std::sqrt(static_cast<double>(dk_));  // it was 1/√Dk
    of_option("--scale", fmt::format("{}", *scale_), "",
              [&] { require_factor(factor, v.dtype()); });
    v = v * factor;
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
  if (scale_ && attentions_.empty())
    throw ValueError("--scale", "this model has no attention with a factor 1/√Dk");
}

// ---- backward ----

ChangedBackward::ChangedBackward(const Changes& changes) {
  for (const std::string& text : changes.zero) changes_.push_back(parsed("--zero", text));
  for (const std::string& text : changes.freeze) {
    changes_.push_back(parsed("--freeze", text));
    if (!changes_.back().part.empty())
      throw ValueError("--freeze", "'" + text + "': a whole node is frozen; --zero takes a part");
    changes_.back().factor.reset();
  }
  for (const std::string& text : changes.scale_gradient) {
    const auto equals = text.rfind('=');
    const auto factor = number_in<double>(
        equals == text.npos ? std::string_view() : std::string_view(text).substr(equals + 1));
    if (!factor || !std::isfinite(*factor))
      throw ValueError("--scale-gradient", "'" + text + "' is not of the form NODE=NUMBER");
    changes_.push_back(parsed("--scale-gradient", text.substr(0, equals)));
    changes_.back().factor = factor;
  }
}

void ChangedBackward::before_step(const Tape& tape, BackwardWalk& walk) {
  for (NodeChange& c : changes_)
    if (c.nodes.empty())
      c.nodes = of_option(c.option, c.text, "", [&] { return nodes_named(tape, c.pattern); });
  for (int node = walk.next(), before = -1; node >= 0 && node != before; node = walk.next()) {
    before = node;
    for (NodeChange& c : changes_) {
      if (std::find(c.nodes.begin(), c.nodes.end(), node) == c.nodes.end()) continue;
      c.used = true;
      if (!c.factor) {
        walk.set_gradient(node, {});
        break;
      }
      walk.set_gradient(node, scaled(c, tape.path(node), walk.gradient(node)));
    }
  }
}

void ChangedBackward::require_used() const {
  for (const NodeChange& c : changes_)
    if (!c.used) throw ValueError(c.option, "'" + c.text + "': no gradient reaches it");
}

}  // namespace glim

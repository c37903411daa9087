#include "tools/inspect/debugger/why.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <fmt/format.h>
#include <map>

#include "autograd/restored.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/common/counted.hpp"
#include "tools/common/number.hpp"
#include "tools/inspect/debugger/show.hpp"
#include "tools/render/drawing.hpp"

namespace glim::step {
namespace {

// The kind of ways that begin at a node; empty for others.
std::string kind_of(const Pass& pass, int i) {
  const PassNode& n = pass[i];
  if (n.is_leaf()) return "";
  for (const char* kind : {"query", "key", "value"})
    if (n.label == kind) return kind;
  for (const char* activation : {"relu", "gelu", "silu"})
    if (n.op == activation) return "feed-forward";
  return "";
}

// x (B, H, ., .) with all heads but one 0.
Tensor one_head(const Tensor& x, Index head) {
  Tensor kept = zeros(x.shape(), x.dtype());
  narrow(kept, 1, head, 1).copy_(narrow(x, 1, head, 1));
  return kept;
}

double product(const Tensor& a, const Tensor& b) {
  return sum(mul(a.to(DType::Float64), b.to(DType::Float64))).item();
}

// The part of g that a node's op would see, by what was set on it; undefined: nothing.
Tensor changed(const Pass& pass, int node, Tensor g) {
  if (auto found = pass.patches().find(node); found != pass.patches().end())
    for (const Patch& p : found->second)
      if (g.defined()) g = patched(p, g);
  return g;
}

// The part of ∂L/∂(target) that dy at `source` gives, where `cut` nodes pass nothing on; undefined: none.
Tensor part_of(Pass& pass, int source, const Tensor& dy, int target, const std::vector<bool>& cut) {
  BackwardWalk walk(pass.tape(), pass.tape().value(source), dy, {.retain = true});
  while (walk.next() > target) {
    const int i = walk.next();
    if (i != source) {
      Tensor g = cut[static_cast<std::size_t>(i)] ? Tensor() : changed(pass, i, walk.gradient(i));
      const bool none = !g.defined();
      walk.set_gradient(i, std::move(g));
      if (none) continue;
    }
    walk.step();
  }
  if (walk.next() < target) return {};
  return source == target ? dy : changed(pass, target, walk.gradient(target));
}

}  // namespace

Paths ways_to(Pass& pass, int node) {
  if (pass.state(node) != GradientState::Taken && pass.state(node) != GradientState::Now)
    throw StateError("why", pass[node].path + ": " + gradient_note(pass, node));
  const Tensor whole = pass.gradient(node);
  Paths ways;
  ways.norm = norm(whole);
  if (ways.norm == 0) throw ValueError("why", pass[node].path + ": its gradient is zero");
  std::vector<bool> cut(static_cast<std::size_t>(pass.size()), false);
  std::vector<int> begins;
  for (int i = pass.loss(); i > node; --i)
    if (pass.state(i) == GradientState::Taken && !kind_of(pass, i).empty()) {
      cut[static_cast<std::size_t>(i)] = true;
      begins.push_back(i);
    }
  std::deque<Restored<Tensor>> leaves;  // a walk that comes past one adds to its gradient
  for (const Node& n : pass.tape().nodes())
    if (n.leaf) leaves.emplace_back(n.leaf->grad, Tensor());
  Tensor total = zeros(whole.shape(), DType::Float64);
  auto add_way = [&](Path way, int source, const Tensor& dy) {
    way.part = part_of(pass, source, dy, node, cut);
    if (!way.part.defined()) return;
    way.share = product(way.part, whole) / product(whole, whole);
    total = add(total, way.part.to(DType::Float64));
    ways.all.push_back(std::move(way));
  };
  for (int i : begins) {
    const std::string kind = kind_of(pass, i), &module = pass[i].scope;
    const Tensor dy = pass.gradient(i);
    if (kind == "feed-forward" || dy.rank() != 4)
      add_way({module, kind, {}, {}, 0}, i, dy);
    else
      for (Index h = 0; h < dy.size(1); ++h) add_way({module, kind, h, {}, 0}, i, one_head(dy, h));
  }
  add_way({"", "skip", {}, {}, 0}, pass.loss(), pass.gradient(pass.loss()));
  ways.gap = norm(sub(total, whole.to(DType::Float64))) / ways.norm;
  return ways;
}

std::string why_text(const Pass& pass, int node, const Paths& ways) {
  struct Row {
    double share = 0;
    Tensor part;
    std::string heads;
  };
  std::map<std::string, Row> rows;
  std::map<std::string, double> kinds;
  for (const Path& w : ways.all) {
    Row& row = rows[w.module.empty() ? "the loss, by skips alone" : w.module + " " + w.kind];
    row.share += w.share;
    row.part = row.part.defined() ? add(row.part, w.part) : w.part;
    if (w.head) row.heads += fmt::format(" {:.1f}", 100 * w.share);
    kinds[w.kind == "query" || w.kind == "key" ? "query and key" : w.kind] += w.share;
  }
  std::vector<const std::pair<const std::string, Row>*> order;
  for (const auto& row : rows) order.push_back(&row);
  std::stable_sort(order.begin(), order.end(), [](auto* a, auto* b) {
    return std::abs(a->second.share) > std::abs(b->second.share);
  });
  std::string text = fmt::format("the gradient of {}, norm {}, came from\n     share      norm\n",
                                 pass[node].path, four_digits(ways.norm));
  for (const auto* row : order)
    text += fmt::format("  {:6.1f} %  {:8.3g}  {}{}\n", 100 * row->second.share,
                        norm(row->second.part), row->first,
                        row->second.heads.empty() ? "" : "  (heads" + row->second.heads + " %)");
  text += "  in all:";
  for (const auto& [kind, share] : kinds) text += fmt::format(" {} {:.1f} %,", kind, 100 * share);
  text.back() = '\n';
  return text + fmt::format("  {} add up to the gradient, except for {:.1e} of its norm\n",
                            counted(ways.all.size(), "way"), ways.gap);
}

std::string why_svg(const Pass& pass, int node, const Paths& ways) {
  auto row_of = [](const Path& w) { return w.module.empty() ? "the loss" : w.module; };
  auto column_of = [](const Path& w) {
    return w.head ? fmt::format("{} {}", w.kind, *w.head) : w.kind;
  };
  auto place = [](std::vector<std::string>& names, const std::string& name) {
    auto entry = std::find(names.begin(), names.end(), name);
    if (entry == names.end()) entry = names.insert(entry, name);
    return static_cast<std::size_t>(entry - names.begin());
  };
  HeatMap map;
  map.title = "shares of the gradient of " + pass[node].path;
  map.diverging = true;
  for (const char* kind : {"skip", "feed-forward", "value", "query", "key"})
    for (const Path& w : ways.all)
      if (w.kind == kind) place(map.columns, column_of(w));
  for (const Path& w : ways.all) place(map.rows, row_of(w));
  map.values.assign(map.rows.size() * map.columns.size(), std::nan(""));  // no such way
  for (const Path& w : ways.all) {
    double& cell = map.values[place(map.rows, row_of(w)) * map.columns.size() +
                              place(map.columns, column_of(w))];
    cell = (std::isnan(cell) ? 0 : cell) + w.share;
  }
  return to_svg(map);
}

}  // namespace glim::step

#include "tools/inspect/attention_view.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <set>

#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"

namespace glim {

std::string_view name_of(AttentionSide side) {
  return side == AttentionSide::EncoderSelf   ? "encoder self"
         : side == AttentionSide::DecoderSelf ? "decoder self"
                                              : "cross";
}

namespace {

// (1, H, T, S), (1, T, S), or one query a node: (1, S)  ->  (H, T, S)
Tensor as_heads(const std::vector<Tensor>& parts) {
  const Tensor& first = parts[0];
  if (parts.size() == 1 && first.rank() == 4) return select(first, 0, 0).contiguous();
  if (parts.size() == 1 && first.rank() == 3) return first.contiguous();
  std::vector<Tensor> rows;
  for (const Tensor& part : parts) rows.push_back(reshape(part, {1, 1, -1}));
  return concatenate(rows, 1);
}

// The attentions among the nodes of one path: each node one, for all its queries; or all of them
// one, a query each (a recurrent decoder's).
std::vector<std::vector<int>> attentions(const Pass& pass, const std::vector<int>& nodes) {
  std::vector<std::vector<int>> list;
  const Shape& shape = pass[nodes[0]].value.shape();
  bool one_query = true;
  for (int n : nodes)
    one_query =
        one_query && pass[n].value.shape() == shape && pass[n].value.numel() == shape.back();
  if (one_query && nodes.size() > 1) return {nodes};
  for (int n : nodes)
    if (pass[n].value.rank() >= 3 && pass[n].value.size(0) == 1) list.push_back({n});
  return list;
}

// Embeddings are named by their node. A constant of several rows is named by its largest number, which broadcasting
// does not change.
using Beginnings = std::set<std::pair<int, double>>;

// The beginnings of the queries (operand 0) or of the keys (1) of these scores.
Beginnings beginnings(const Pass& pass, int scores, std::size_t operand) {
  while (scores >= 0 && pass[scores].op != "matmul")
    scores = pass[scores].inputs.empty() ? -1 : pass[scores].inputs[0];
  if (scores < 0) return {};
  Beginnings found;
  std::set<int> visited;
  std::vector<int> todo{pass[scores].inputs[operand]};
  while (!todo.empty()) {
    const int number = todo.back();
    todo.pop_back();
    if (number < 0 || !visited.insert(number).second) continue;
    const PassNode& n = pass[number];
    todo.insert(todo.end(), n.inputs.begin(), n.inputs.end());
    if (n.op == "index_select" && n.inputs[0] >= 0 && pass[n.inputs[0]].op == "leaf")
      found.insert({number, 0});
    for (std::size_t i = 0; i < n.inputs.size(); ++i)
      if (const Tensor& x = n.operands[i];
          n.inputs[i] < 0 && x.defined() && x.rank() > 1 && is_floating(x.dtype()))
        found.insert({-1, max(x).item()});
  }
  return found;
}

// The beginnings of the source: keys that begin otherwise than their queries come from it. The set is empty where no keys do.
Beginnings source_of(const Pass& pass) {
  for (const PassNode& n : pass.nodes()) {
    if (!is_attention(n.op, n.label)) continue;
    Beginnings keys = beginnings(pass, n.inputs[0], 1);
    if (keys != beginnings(pass, n.inputs[0], 0)) return keys;
  }
  return {};
}

AttentionSide side_of(const Pass& pass, const AttentionView& v, const ExampleText& text,
                      const Beginnings& source) {
  if (!source.empty()) {
    const Beginnings keys = beginnings(pass, v.scores[0], 1);
    return keys != beginnings(pass, v.scores[0], 0) ? AttentionSide::Cross
           : keys == source                         ? AttentionSide::EncoderSelf
                                                    : AttentionSide::DecoderSelf;
  }
  auto s = static_cast<Index>(text.source.size()), t = static_cast<Index>(text.target_in.size());
  if (pass.roles().within(v.module, Role::Encoder) || (t == 0 && s > 0))
    return AttentionSide::EncoderSelf;
  if (pass.roles().within(v.module, Role::SelfAttention)) return AttentionSide::DecoderSelf;
  if (!pass.roles().knows_sides() && v.a.size(1) == v.a.size(2)) {  // a decoder hides what follows
    const bool causal = v.a.size(2) > 1 && !v.keep.at<bool>({0, v.a.size(2) - 1});
    return causal || (s != t && v.a.size(1) == t) ? AttentionSide::DecoderSelf
                                                  : AttentionSide::EncoderSelf;
  }
  bool self = v.a.size(1) == v.a.size(2) && s != t && v.a.size(2) == t;
  return self ? AttentionSide::DecoderSelf : AttentionSide::Cross;
}

std::vector<std::string> tokens_for(const std::vector<std::string>& tokens, Index count) {
  std::vector<std::string> shown;
  for (Index i = 0; i < count; ++i)
    shown.push_back(static_cast<std::size_t>(i) < tokens.size()
                        ? tokens[static_cast<std::size_t>(i)]
                        : std::to_string(i));
  return shown;
}

std::vector<std::string> by_head(std::size_t heads, const std::vector<std::string>& tokens) {
  if (heads == 1) return tokens;
  std::vector<std::string> names;
  for (std::size_t h = 0; h < heads; ++h)
    for (const std::string& token : tokens) names.push_back(fmt::format("head {} {}", h, token));
  return names;
}

// ‖gradient‖ of head h at the node of this name in the module, (1, H, ., Dh); NaN when there is none.
double head_norm(const Pass& pass, const std::string& path, Index h, Index heads) {
  int node = pass.find(path);
  if (node < 0 || pass[node].value.rank() != 4 || pass[node].value.size(1) != heads)
    return std::numeric_limits<double>::quiet_NaN();
  if (!pass[node].gradient.defined()) return 0;
  Tensor g = select(select(pass[node].gradient, 0, 0), 0, h);
  return norm(g);
}

HeadView view_of_head(const Pass& pass, const AttentionView& v, Index h) {
  HeadView head;
  static_cast<HeadStatistics&>(head) = head_statistics(select(v.a, 0, h), v.keep);
  head.scores_gradient = norm(select(v.ds, 0, h));
  head.probs_gradient = norm(where(v.keep, select(v.da, 0, h), zeros({}, v.da.dtype())));
  head.passed = head.scores_gradient / head.probs_gradient;
  Index heads = v.a.size(0);
  head.query_norm = head_norm(pass, v.module + ".query", h, heads);
  head.key_norm = head_norm(pass, v.module + ".key", h, heads);
  head.value_norm = head_norm(pass, v.module + ".value", h, heads);
  double value = head.value_norm * head.value_norm;
  double all = value + head.query_norm * head.query_norm + head.key_norm * head.key_norm;
  head.value_share = value / all;
  return head;
}

AttentionView view_of(const Pass& pass, const std::string& module, const std::vector<int>& nodes,
                      const ExampleText& text, const Beginnings& source) {
  AttentionView v;
  v.module = module;
  v.layer = layer_number(pass.roles().layer(module));
  v.probs = nodes;
  std::vector<Tensor> a, da, s, ds, keep;
  for (int n : nodes) {
    int scores = pass[n].inputs[0];
    v.scores.push_back(scores);
    auto or_zeros = [](const Tensor& g, const Tensor& like) {
      return g.defined() ? g : zeros(like.shape(), like.dtype());
    };
    a.push_back(pass[n].value);
    da.push_back(or_zeros(pass[n].gradient, pass[n].value));
    s.push_back(pass[scores].value);
    ds.push_back(or_zeros(pass[scores].gradient, pass[scores].value));
    keep.push_back(keep_of(pass[n].value, pass[n].run));
  }
  v.a = as_heads(a);
  v.da = as_heads(da);
  v.s = as_heads(s);
  v.ds = as_heads(ds);
  v.keep = concatenate(keep, 0);
  v.side = side_of(pass, v, text, source);
  const bool encoder = v.side == AttentionSide::EncoderSelf;
  const bool decoder = v.side == AttentionSide::DecoderSelf;
  const auto& predicted = text.target_out.empty() ? text.target_in : text.target_out;
  v.queries = tokens_for(encoder ? text.source : decoder ? text.target_in : predicted, v.a.size(1));
  v.keys = tokens_for(decoder ? text.target_in : text.source, v.a.size(2));
  for (Index h = 0; h < v.a.size(0); ++h) v.heads.push_back(view_of_head(pass, v, h));
  return v;
}

}  // namespace

std::vector<AttentionView> attention_views(const Pass& pass, const ExampleText& text) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<int>> groups;
  for (const PassNode& n : pass.nodes()) {
    if (!is_attention(n.op, n.label)) continue;
    std::string module = without_step(n.scope);
    if (!groups.count(module)) order.push_back(module);
    groups[module].push_back(n.number);
  }
  std::vector<AttentionView> views;
  const Beginnings source = pass.roles().knows_sides() ? Beginnings() : source_of(pass);
  for (const std::string& module : order) {
    auto list = attentions(pass, groups[module]);
    for (std::size_t i = 0; i < list.size(); ++i) {
      views.push_back(view_of(pass, module, list[i], text, source));
      if (list.size() > 1) {
        views.back().layer = static_cast<int>(i);
        views.back().module += "#" + std::to_string(i);
      }
    }
  }
  return views;
}

AxisNames axis_names(const std::vector<AttentionView>& views, const PassNode& node) {
  const Shape& shape = node.value.shape();
  for (const AttentionView& v : views) {
    for (const std::vector<int>* maps : {&v.probs, &v.scores}) {
      auto map = std::find(maps->begin(), maps->end(), node.number);
      if (map == maps->end()) continue;
      if (maps->size() > 1)  // a query a node
        return {{v.queries[static_cast<std::size_t>(map - maps->begin())]}, v.keys};
      return {by_head(v.heads.size(), v.queries), v.keys};
    }
    if (node.scope != v.module || shape.rank() != 4 || shape[0] != 1) continue;
    const bool of_keys = node.label == "key" || node.label == "value";
    const auto& tokens = of_keys ? v.keys : v.queries;
    if (shape[1] == std::ssize(v.heads) && shape[2] == std::ssize(tokens))
      return {by_head(v.heads.size(), tokens), {}};
  }
  return {};
}

}  // namespace glim

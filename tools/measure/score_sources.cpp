#include "tools/measure/score_sources.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "models/tokenizers/utf8.hpp"
#include "tensor/error.hpp"
#include "tensor/matmul/matmul.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/common/counted.hpp"
#include "tools/common/nearest.hpp"
#include "tools/common/number.hpp"
#include "tools/measure/attention_statistics.hpp"

namespace glim {
namespace {

constexpr double kHidden = -1e29;  // a score below it is a mask

// (1, H, T, S) or (1, T, S) -> (H, T, S)
Tensor by_head(const Tensor& x) { return reshape(in_float64(x), {-1, x.size(-2), x.size(-1)}); }

// The number of the source of this name, or whose name ends in it.
std::size_t source_named(const std::string& side, const std::string& name,
                         const std::vector<std::string>& names) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return i;
    if (names[i].ends_with("." + name)) found.push_back(i);
  }
  if (found.empty())
    throw ValueError(
        "why", fmt::format("the {} has no source '{}'{}", side, name, nearest_names(name, names)));
  if (found.size() > 1)
    throw ValueError("why", fmt::format("'{}' names {} sources of the {}: {}, {}", name,
                                        found.size(), side, names[found[0]], names[found[1]]));
  return found[0];
}

}  // namespace

std::vector<int> attention_nodes(const Pass& pass) {
  std::vector<int> nodes;
  for (const PassNode& n : pass.nodes())
    if (is_attention(n.op, n.label) && n.value.rank() >= 2) nodes.push_back(n.number);
  return nodes;
}

ScoreSources::ScoreSources(const Pass& pass, int probs)
    : pass_(pass), values_(pass), module_(pass[probs].scope) {
  const PassNode& softmax = pass[probs];
  if (softmax.value.rank() > 2 && softmax.value.size(0) != 1 && softmax.value.rank() != 3)
    throw ValueError("why", module_ + " attends in a batch: record one example");
  const int scores = softmax.inputs[0];
  scores_ = by_head(pass[scores].value);
  probs_ = by_head(softmax.value);
  gradient_ = pass[scores].gradient.defined() ? by_head(pass[scores].gradient)
                                              : zeros(scores_.shape(), DType::Float64);
  keep_ = keep_of(softmax.value, softmax.run);
  // S = f(Q Kᵀ) with f linear in each element but for a constant: its factor and bias are f(1) - f(0) and f(0).
  std::vector<std::pair<int, std::size_t>> steps;  // from the scores down: node, operand
  std::vector<bool> has_product;
  for (const PassNode& n : pass.nodes())
    has_product.push_back(
        (n.op == "matmul" && !values_.fixed(n.inputs[0]) && !values_.fixed(n.inputs[1])) ||
        std::ranges::any_of(
            n.inputs, [&](int i) { return i >= 0 && has_product[static_cast<std::size_t>(i)]; }));
  int product = scores;
  while (pass[product].op != "matmul" || values_.fixed(pass[product].inputs[0]) ||
         values_.fixed(pass[product].inputs[1])) {
    const PassNode& n = pass[product];
    std::vector<std::size_t> operands = values_.summands(product);
    std::erase_if(operands, [&](std::size_t k) {
      return n.inputs[k] < 0 || !has_product[static_cast<std::size_t>(n.inputs[k])];
    });
    if (operands.size() != 1)
      throw ValueError("why", fmt::format("the scores of {} are no scaled product of queries and "
                                          "keys: {} computes them by {}",
                                          module_, n.name, n.op));
    steps.emplace_back(product, operands[0]);
    product = n.inputs[operands[0]];
  }
  auto scores_of = [&](double each) {
    Tensor x = full(pass[product].value.shape(), each, DType::Float64);
    for (auto step = steps.rbegin(); step != steps.rend(); ++step)
      x = run_with(pass[step->first], {{step->second, x}});
    return by_head(x);
  };
  bias_ = scores_of(0);
  factor_ = sub(scores_of(1), bias_);
  product_ = pass[product].value.shape();
  for (auto [side, k] : {std::pair{&query_, std::size_t{0}}, std::pair{&key_, std::size_t{1}}}) {
    std::vector<Tensor> parts;
    side->node = pass[product].inputs[k];
    for (const auto& [source, part] : values_.of(side->node)) {
      side->sources.push_back(source);
      side->names.push_back(source.name);
      Shape all = product_;  // a product broadcasts its leading axes
      all[all.rank() - 2] = part.size(-2), all[all.rank() - 1] = part.size(-1);
      parts.push_back(
          reshape(broadcast_to(part, all), k == 0 ? Shape{-1, 1, part.size(-2), part.size(-1)}
                                                  : Shape{-1, part.size(-2), 1, part.size(-1)}));
    }
    side->parts = concatenate(parts, k == 0 ? 1 : 2);
  }
}

bool ScoreSources::may_attend(Index head, Index query, Index key) const {
  return keep_.at<bool>({query, key}) && scores_.at<double>({head, query, key}) > kHidden;
}

ScoreParts ScoreSources::cell(Index head, Index query, Index key) const {
  for (auto [what, number, count] :
       {std::tuple{"heads", head, heads()}, {"queries", query, queries()}, {"keys", key, keys()}})
    if (number < 0 || number >= count)
      throw ValueError(
          "why", fmt::format("{} has the {} 0 to {}, not {}", module_, what, count - 1, number));
  if (!may_attend(head, query, key))
    throw ValueError("why",
                     fmt::format("in {} query {} may not attend to key {}", module_, query, key));
  return row(head, query)[static_cast<std::size_t>(key)];
}

std::vector<ScoreParts> ScoreSources::row(Index head, Index query) const {
  auto row_of = [&](const Tensor& x) {
    return select(select(x, 0, head), 0, query).to_vector<double>();
  };
  const std::vector<double> scores = row_of(scores_), factor = row_of(factor_),
                            bias = row_of(bias_);
  const std::size_t count = scores.size(), sources = key_.names.size();
  std::vector<std::size_t> allowed;
  for (std::size_t k = 0; k < count; ++k)
    if (may_attend(head, query, static_cast<Index>(k))) allowed.push_back(k);
  auto mean_of = [&](const double* values) {
    double sum = 0;
    for (std::size_t k : allowed) sum += values[k];
    return sum / static_cast<double>(allowed.size());
  };
  // (A, Dh) x (Dh, B S)
  const Tensor k = select(key_.parts, 0, head);
  std::vector<double> products =
      matmul(select(select(query_.parts, 0, head), 1, query), reshape(k, {k.size(0), -1}))
          .to_vector<double>();
  std::vector<double> sums = bias, means;
  for (double* pair = products.data(); means.size() < query_.names.size() * sources;
       pair += count) {
    for (std::size_t s : allowed) sums[s] += pair[s] *= factor[s];
    means.push_back(mean_of(pair));
  }
  const double largest = max(abs(select(gradient_, 0, head))).item();
  double gap = 0;
  for (std::size_t s : allowed) gap = std::max(gap, std::abs(sums[s] - scores[s]));
  std::vector<ScoreParts> cells(count);
  for (std::size_t j : allowed) {
    ScoreParts& cell = cells[j];
    const auto key = static_cast<Index>(j);
    cell.module = module_;
    cell.head = head, cell.query = query, cell.key = key;
    cell.query_sources = query_.names;
    cell.key_sources = key_.names;
    cell.keys = std::ssize(allowed);
    cell.score = scores[j];
    cell.mean = mean_of(scores.data());
    cell.probability = probs_.at<double>({head, query, key});
    cell.gradient = gradient_.at<double>({head, query, key});
    cell.largest_gradient = largest;
    cell.bias = bias[j] - mean_of(bias.data());
    double sum = cell.bias;
    for (std::size_t i = 0; i < means.size(); ++i) {
      if (i % sources == 0) cell.parts.emplace_back();
      cell.parts.back().push_back(products[i * count + j] - means[i]);
      sum += cell.parts.back().back();
    }
    cell.gap = std::max(gap, std::abs(sum - (cell.score - cell.mean)));
  }
  return cells;
}

SplitPart ScoreSources::split(Index head, Index query, Index key, const std::string& query_source,
                              const std::string& key_source) const {
  const ScoreParts whole = cell(head, query, key);
  const std::size_t a = source_named("query", query_source, query_.names),
                    b = source_named("key", key_source, key_.names);
  SplitPart split{whole.parts[a][b], query_.names[a], key_.names[b], {}};
  // The part is Σ_k c_k q_i^a·k_k^b with c_k = α_ik ([k = j] - 1/n), over the n keys that query i may attend to.
  std::vector<double> coefficients;
  for (Index k = 0; k < keys(); ++k)
    coefficients.push_back(may_attend(head, query, k)
                               ? factor_.at<double>({head, query, k}) *
                                     ((k == key) - 1.0 / static_cast<double>(whole.keys))
                               : 0);
  const Tensor c = from_vector(coefficients, {1, keys()});
  const Tensor q = narrow(select(select(query_.parts, 0, head), 0, static_cast<Index>(a)), 0, query,
                          1);                                                      // (1, Dh)
  const Tensor k = select(select(key_.parts, 0, head), 1, static_cast<Index>(b));  // (Dh, S)
  for (const Side* side : {&query_, &key_}) {
    const bool is_query = side == &query_;
    const Source& source = side->sources[is_query ? a : b];
    if (!values_.splits(source)) continue;
    const Tensor dy = is_query ? matmul(c, transpose(k)) : matmul(transpose(q), c);
    Shape shape = product_;
    shape[shape.rank() - 2] = is_query ? queries() : dy.size(0);
    shape[shape.rank() - 1] = dy.size(1);
    Tensor all = zeros({heads(), shape[shape.rank() - 2], dy.size(1)}, DType::Float64);
    const Tensor part = select(all, 0, head);
    (is_query ? narrow(part, 0, query, 1) : part).copy_(dy);
    const Tensor dx = values_.gradient(side->node, reshape(all, shape), source.node);
    SourceSplit rows{is_query, source.name, {}};
    double total = 0;
    for (const auto& [origin, parts] : values_.products(source, dx)) {
      const std::vector<double> list = parts.to_vector<double>();
      for (std::size_t m = 0; m < list.size(); ++m) {
        rows.rows.push_back({list[m], source.head < 0 ? -1 : static_cast<Index>(m), origin.name});
        total += list[m];
      }
    }
    std::ranges::stable_sort(rows.rows, std::greater(),
                             [](const SourceSplit::Row& r) { return std::abs(r.part); });
    rows.gap = std::abs(total - split.part);
    split.splits.push_back(rows);
  }
  if (split.splits.empty())
    throw ValueError("why",
                     fmt::format("{} and {} are not split: that is exact for an earlier head "
                                 "and for a feed-forward network with a gate (relu, gelu, "
                                 "silu), not for embeddings, biases and other functions",
                                 split.query_source, split.key_source));
  return split;
}

namespace {

// The attention that `head` names, and the head's number.
std::pair<ScoreSources, Index> scores_named(const Pass& pass, const std::string& head) {
  const std::vector<int> nodes = attention_nodes(pass);
  if (nodes.empty())
    throw ValueError(
        "why",
        "this pass has no attention whose softmax was recorded: a model without, or one that was "
        "not recorded within glim.explicit()");
  const auto colon = std::min(head.rfind(':'), head.size());
  const std::string module = head.substr(0, colon);
  const auto number =
      number_in<Index>(std::string_view(head).substr(std::min(colon + 1, head.size())));
  if (!number) throw ValueError("why", fmt::format("'{}' names no head: write {}:0", head, head));
  std::vector<std::string> known;
  std::vector<int> found;
  for (int n : nodes) {
    const std::string& scope = pass[n].scope;
    known.push_back(scope);
    if (scope == module || scope.ends_with("." + module) || "#" + std::to_string(n) == module)
      found.push_back(n);
  }
  if (found.empty())
    throw ValueError(
        "why", fmt::format("no attention is named '{}'{}", module, nearest_names(module, known)));
  if (found.size() > 1)
    throw ValueError(
        "why", fmt::format("'{0}' names {1} attentions: {2} (#{3}:{5}), {4} (#{6}:{5})", module,
                           found.size(), pass[found[0]].scope, found[0], pass[found[1]].scope,
                           *number, found[1]));
  return {ScoreSources(pass, found[0]), *number};
}

}  // namespace

ScoreParts score_parts(const Pass& pass, const std::string& head, Index query, Index key) {
  const auto [scores, number] = scores_named(pass, head);
  return scores.cell(number, query, key);
}

SplitPart split_part(const Pass& pass, const std::string& head, Index query, Index key,
                     const std::string& query_source, const std::string& key_source) {
  const auto [scores, number] = scores_named(pass, head);
  return scores.split(number, query, key, query_source, key_source);
}

std::vector<ScorePart> largest_parts(const ScoreParts& p) {
  std::vector<ScorePart> rows;
  for (std::size_t a = 0; a < p.parts.size(); ++a)
    for (std::size_t b = 0; b < p.parts[a].size(); ++b)
      rows.push_back({p.parts[a][b], p.query_sources[a], p.key_sources[b]});
  if (p.bias != 0) rows.push_back({p.bias, "positions", "no product"});
  std::ranges::stable_sort(rows, std::greater(),
                           [](const ScorePart& r) { return std::abs(r.part); });
  return rows;
}

nlohmann::json in_json(const ScoreParts& p) {
  return {{"module", p.module},     {"head", p.head},
          {"query", p.query},       {"key", p.key},
          {"keys", p.keys},         {"score", p.score},
          {"mean", p.mean},         {"probability", p.probability},
          {"gradient", p.gradient}, {"query_sources", p.query_sources},
          {"parts", p.parts},       {"key_sources", p.key_sources},
          {"bias", p.bias},         {"gap", p.gap}};
}

std::string score_text(const ScoreParts& p, const std::string& query_word,
                       const std::string& key_word) {
  auto quoted = [](const std::string& word) { return word.empty() ? "" : " '" + word + "'"; };
  std::string text = fmt::format(
      "{}:{}, query {}{}, key {}{}\n"
      "  S_ij {:.4g}, the mean over {} {:.4g}, A_ij {:.3g}; ∂L/∂S_ij {:.3g}{}\n"
      "  S_ij - mean {:+.4g} is the sum of\n",
      p.module, p.head, p.query, quoted(query_word), p.key, quoted(key_word), p.score,
      counted(p.keys, "key"), p.mean, p.probability, p.gradient,
      p.gradient == 0 ? ""
      : std::abs(p.gradient) < 1e-3 * p.largest_gradient
          ? fmt::format(": next to nothing, as the largest of this head is {:.3g}",
                        p.largest_gradient)
      : p.gradient > 0 ? ": the loss asks for a lower score"
                       : ": the loss asks for a higher score",
      p.score - p.mean);
  const std::vector<ScorePart> rows = largest_parts(p);
  constexpr std::size_t kShown = 10;
  double rest = 0;
  std::size_t width = 5;
  for (std::size_t k = 0; k < rows.size(); ++k)
    if (k < kShown)
      width = std::max(width, rows[k].query.size());
    else
      rest += rows[k].part;
  text += fmt::format("  {:>9}  {:{}}  key from\n", "part", "query from", width);
  for (std::size_t k = 0; k < std::min(kShown, rows.size()); ++k)
    text += fmt::format("  {:+9.4f}  {:{}}  {}\n", rows[k].part, rows[k].query, width, rows[k].key);
  if (rows.size() > kShown)
    text += fmt::format("  {:+9.4f}  the other {}\n", rest, rows.size() - kShown);
  return text + fmt::format("  the sum of {} differs from the score by {:.1e}\n",
                            counted(rows.size(), "part"), p.gap);
}

nlohmann::json in_json(const SplitPart& p) {
  nlohmann::json splits = nlohmann::json::array();
  for (const SourceSplit& s : p.splits) {
    nlohmann::json rows = nlohmann::json::array();
    for (const SourceSplit::Row& r : s.rows)
      rows.push_back({{"part", r.part},
                      {"position", r.position < 0 ? nlohmann::json() : nlohmann::json(r.position)},
                      {"source", r.source}});
    splits.push_back({{"side", s.is_query ? "query" : "key"},
                      {"source", s.source},
                      {"rows", rows},
                      {"gap", s.gap}});
  }
  return {{"part", p.part},
          {"query_source", p.query_source},
          {"key_source", p.key_source},
          {"splits", splits}};
}

std::string split_text(const SplitPart& p,
                       const std::function<std::vector<std::string>(const std::string&)>& words) {
  std::string text = fmt::format("part {:+.4g}, query from {}, key from {}\n", p.part,
                                 p.query_source, p.key_source);
  for (const SourceSplit& s : p.splits) {
    const bool is_head = s.rows.empty() || s.rows[0].position >= 0;
    const std::vector<std::string> tokens =
        is_head && words ? words(s.source) : std::vector<std::string>();
    text += fmt::format("  {}: what {} read, with its {} of this pass\n",
                        s.is_query ? "query" : "key", s.source, is_head ? "attention" : "gate");
    constexpr std::size_t kShown = 10;
    double rest = 0;
    std::size_t width = 0;
    std::vector<std::string> places;
    for (std::size_t k = 0; k < s.rows.size(); ++k) {
      if (k >= kShown) rest += s.rows[k].part;
      if (k >= kShown || !is_head) continue;
      const auto position = static_cast<std::size_t>(s.rows[k].position);
      places.push_back(fmt::format("position {}", position));
      if (position < tokens.size()) places.back() += " '" + tokens[position] + "'";
      width = std::max(width, display_width(places.back()) + 2);
    }
    for (std::size_t k = 0; k < std::min(kShown, s.rows.size()); ++k)
      text += fmt::format("  {:+9.4f}  {}{}\n", s.rows[k].part,
                          is_head ? fit_columns(places[k], width) : "", s.rows[k].source);
    if (s.rows.size() > kShown)
      text += fmt::format("  {:+9.4f}  the other {}\n", rest, s.rows.size() - kShown);
    text += fmt::format("  the sum of {} differs from the part by {:.1e}\n",
                        counted(s.rows.size(), "row"), s.gap);
  }
  return text;
}

}  // namespace glim

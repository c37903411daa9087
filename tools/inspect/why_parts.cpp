#include "tools/inspect/why_parts.hpp"

#include <algorithm>

#include "tensor/error.hpp"
#include "tools/inspect/pack.hpp"
#include "tools/measure/score_sources.hpp"

namespace glim {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kShown = 6;

Json parts_of(const ScoreSources& scores, const std::vector<Index>& heads) {
  std::vector<std::string> names;
  auto number_of = [&](std::string_view name) {
    const auto place = std::ranges::find(names, name);
    const auto number = static_cast<double>(place - names.begin());
    if (place == names.end()) names.emplace_back(name);
    return number;
  };
  std::vector<double> values, query, key;
  std::size_t count = 0;
  double gap = 0;
  for (Index head : heads)
    for (Index i = 0; i < scores.queries(); ++i)
      for (const ScoreParts& cell : scores.row(head, i)) {
        std::vector<ScorePart> rows = largest_parts(cell);
        count = std::max(count, rows.size());
        gap = std::max(gap, cell.gap);
        double rest = 0;
        for (std::size_t k = kShown; k < rows.size(); ++k) rest += rows[k].part;
        rows.resize(kShown);
        for (const ScorePart& r : rows) {
          values.push_back(r.part);
          query.push_back(r.query.empty() ? 0 : number_of(r.query));
          key.push_back(r.key.empty() ? 0 : number_of(r.key));
        }
        values.push_back(rest);
      }
  auto as_cells = [&](const std::vector<double>& list) {
    return packed(reshape(from_vector(list, {std::ssize(list)}),
                          {std::ssize(heads), scores.queries(), scores.keys(), -1}));
  };
  return {{"sources", names},
          {"heads", heads},
          {"values", as_cells(values)},
          {"query", as_cells(query)},
          {"key", as_cells(key)},
          {"count", count},
          {"gap", gap}};
}

}  // namespace

Json why_cell(const Pass& pass, const std::string& head, Index query, Index key) {
  const ScoreParts cell = score_parts(pass, head, query, key);
  const std::vector<ScorePart> rows = largest_parts(cell);
  Json parts = Json::array();
  double rest = 0;
  for (std::size_t k = 0; k < rows.size(); ++k)
    if (k < kShown)
      parts.push_back({rows[k].part, rows[k].query, rows[k].key});
    else
      rest += rows[k].part;
  return {{"parts", parts}, {"rest", rest}, {"count", rows.size()}, {"gap", cell.gap}};
}

Json why_part(const Pass& pass, const std::string& head, Index query, Index key,
              const std::string& query_source, const std::string& key_source) {
  Json part = in_json(split_part(pass, head, query, key, query_source, key_source));
  for (Json& split : part["splits"]) {
    Json& rows = split["rows"];
    double rest = 0;
    for (std::size_t k = kShown; k < rows.size(); ++k) rest += rows[k]["part"].get<double>();
    split["count"] = rows.size();
    split["rest"] = rest;
    if (rows.size() > kShown) rows.erase(rows.begin() + kShown, rows.end());
  }
  return part;
}

Json why_parts(const Inspection& inspection) {
  struct Head {
    double norm;  // of ∂L/∂A
    std::size_t view;
    Index head;
  };
  std::vector<Head> order;
  const std::vector<AttentionView>& views = inspection.attention;
  for (std::size_t i = 0; i < views.size(); ++i)
    for (std::size_t h = 0; h < views[i].heads.size() && views[i].probs.size() == 1; ++h)
      order.push_back({views[i].heads[h].probs_gradient, i, static_cast<Index>(h)});
  std::ranges::stable_sort(order, std::greater(), &Head::norm);
  std::vector<std::vector<Index>> heads(views.size());
  Index cells = 0;
  for (const Head& h : order) {
    cells += views[h.view].a.size(1) * views[h.view].a.size(2);
    if (cells > kMostWhyCells) break;
    heads[h.view].push_back(h.head);
  }
  Json list = Json::array();
  for (std::size_t i = 0; i < views.size(); ++i) {
    list.emplace_back(views[i].probs.size() == 1 ? Json() : Json(false));
    if (heads[i].empty()) continue;
    try {
      list.back() = parts_of(ScoreSources(inspection.pass, views[i].probs[0]), heads[i]);
    } catch (const Error&) {
      list.back() = false;
    }
  }
  return list;
}

}  // namespace glim

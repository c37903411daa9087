#include "tools/study/features.hpp"

#include <algorithm>
#include <map>

#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"

namespace glim {

Tensor rows_of(const Tensor& x, const std::vector<Index>& rows) {
  return index_select(x, 0, from_vector(rows, {std::ssize(rows)}));
}

namespace {

// Rows of the features by class, for classes with at least so many.
std::map<Index, std::vector<Index>> rows_by_class(const std::vector<Index>& classes, Index least) {
  std::map<Index, std::vector<Index>> rows;
  for (std::size_t i = 0; i < classes.size(); ++i)
    rows[classes[i]].push_back(static_cast<Index>(i));
  std::erase_if(rows, [&](const auto& c) { return std::ssize(c.second) < least; });
  return rows;
}

}  // namespace

double cluster_spread(const Features& f, Index least) {
  auto rows = rows_by_class(f.classes, least);
  if (rows.size() < 2) throw ValueError("cluster_spread", "fewer than two classes are left");
  std::vector<Index> all;
  for (const auto& [c, r] : rows) all.insert(all.end(), r.begin(), r.end());
  Tensor centre = mean(rows_of(f.rows, all), {0});
  double within = 0, between = 0;
  for (const auto& [c, r] : rows) {
    Tensor members = rows_of(f.rows, r), middle = mean(members, {0});
    Tensor off = sub(members, middle), away = sub(middle, centre);
    within += dot(off, off);
    between += static_cast<double>(r.size()) * dot(away, away);
  }
  return within / between;
}

void draw_plane(const Features& f, const std::string& plot, Measurement& m) {
  auto rows = rows_by_class(f.classes, 1);
  std::vector<std::pair<std::size_t, Index>> order;
  for (const auto& [c, r] : rows) order.push_back({r.size(), -c});
  std::sort(order.rbegin(), order.rend());
  std::vector<Tensor> means;
  for (std::size_t i = 0; i < 3; ++i)
    means.push_back(mean(rows_of(f.rows, rows[-order.at(i).second]), {0}));
  Tensor x = sub(means[1], means[0]), y = sub(means[2], means[0]);
  x = div(x, norm(x));
  y = sub(y, mul(x, dot(x, y)));
  y = div(y, norm(y));
  for (std::size_t i = 0; i < 3; ++i) {
    const std::vector<Index>& r = rows[-order[i].second];
    for (std::size_t k = 0; k < std::min<std::size_t>(r.size(), 100); ++k) {
      Tensor h = sub(select(f.rows, 0, r[k]), means[0]);
      m.curve(plot, "class " + std::to_string(i + 1), dot(h, x), dot(h, y), CurveStyle::Points);
    }
  }
}

}  // namespace glim

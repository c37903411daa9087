#include "tools/inspect/positions_view.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numbers>

#include "nn/attention/positions.hpp"
#include "tensor/matmul/matmul.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/portable.hpp"

namespace glim {
namespace {

constexpr Index kMostPositions = 50;

void add(const Module& module, const std::string& path, std::vector<PositionsView>& views) {
  for (const auto& [name, child] : module.children()) add(*child, path + name + ".", views);
  const auto* positions = dynamic_cast<const PositionalEncoding*>(&module);
  if (!positions) return;
  const Tensor table = positions->table(kMostPositions);
  const bool same = std::ranges::any_of(
      views, [&](const PositionsView& v) { return table.defined() && same_bits(v.table, table); });
  if (!table.defined() || same) return;
  PositionsView v{
      path.substr(0, path.size() - 1), "learned", table, matmul(table, transpose(table)), {}};
  if (positions->kind() == Positions::Sinusoidal) {
    v.kind = fmt::format("sinusoidal, base {}", positions->base());
    const auto d = static_cast<double>(table.size(1));
    for (double c = 0; c < d; c += 2)
      v.wavelengths.push_back(2 * std::numbers::pi * portable::pow(positions->base(), c / d));
  }
  views.push_back(std::move(v));
}

}  // namespace

std::vector<PositionsView> positions_views(const Module& model) {
  std::vector<PositionsView> views;
  add(model, "", views);
  return views;
}

}  // namespace glim

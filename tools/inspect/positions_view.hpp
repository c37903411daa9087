// The table of positions that a model adds to its embeddings, as the documents draw it.
//
//   table        PE(p, c) of the first positions (L, D)
//   products     PE(p) · PE(q) (L, L): of sinusoids a function of the distance |p - q| alone
//   wavelengths  of sinusoids, in positions, one for each pair of columns: 2π base^(2i/D)
#pragma once

#include <string>
#include <vector>

#include "nn/module.hpp"

namespace glim {

struct PositionsView {
  std::string module, kind;  // "src_positions", "sinusoidal, base 10000"
  Tensor table, products;    // float64
  std::vector<double> wavelengths;
};

// One for each module that adds positions, without those that add what another of them does.
std::vector<PositionsView> positions_views(const Module& model);

}  // namespace glim

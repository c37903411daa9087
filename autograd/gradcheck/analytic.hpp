// The analytic side of gradcheck: what backward gives.
#pragma once

#include "autograd/gradcheck/numeric.hpp"

namespace glim::detail {

// Of one run on a tape.
struct Analytic {
  std::vector<double> values;
  std::vector<std::vector<double>> along_u;  // Jᵀu by checked input
  std::vector<std::vector<double>> rows;     // J by checked input, row-major
  std::vector<Shape> output_shapes;
  friend bool operator==(const Analytic& a, const Analytic& b);  // to the bit, but for rows
};

// The key of u for output o.
inline RandomKey upstream_key(std::uint64_t seed, std::size_t o) {
  return {seed, std::uint64_t{1} << 32 | o};
}

// `rows`: the whole Jacobian too. `forward_elsewhere`: another forward, with every element moved, comes between
// forward and backward.
Analytic analytic(const Subject& subject, std::uint64_t seed, bool rows = false,
                  bool forward_elsewhere = false);

bool same_doubles(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace glim::detail

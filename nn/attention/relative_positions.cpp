#include "nn/attention/relative_positions.hpp"

#include <algorithm>
#include <cmath>

#include "nn/attention/positions.hpp"
#include "tensor/parallel.hpp"
#include "tensor/portable.hpp"

namespace glim {

RotaryPositions::RotaryPositions(Index width, double base) : width_(width), base_(base) {
  if (width < 2 || width % 2 != 0)
    throw ValueError("rotary_positions", "turn pairs of columns: the width of a head, " +
                                             std::to_string(width) + ", must be even");
  if (!(base > 0)) throw ValueError("rotary_positions", "the base must be positive");
}

Var RotaryPositions::forward(const Var& x, Index offset) {
  require_floating(x.value(), "rotary_positions");
  if (x.rank() < 2 || x.size(-1) != width_)
    throw ShapeError("rotary_positions", "x must be (..., T, " + std::to_string(width_) + ")",
                     {{"x", x}});
  if (offset < 0 || offset > Index{1} << 53)
    throw ValueError("rotary_positions",
                     "the offset " + std::to_string(offset) + " must be in [0, 2^53]");
  Index length = x.size(-2), rows = table_.defined() ? table_.size(0) : 0;
  if (offset + length > rows || table_.dtype() != x.dtype())
    table_ = sinusoidal_positions(0, std::max({offset + length, 2 * rows, Index{64}}), width_,
                                  base_, x.dtype());
  // Even columns of the table are sines, odd ones cosines: (T, D) -> (T, D/2) each.
  Tensor angles = narrow(table_, 0, offset, length);
  return rotate_pairs(x, slice(angles, 1, 1, width_, 2), slice(angles, 1, 0, width_, 2));
}

Tensor alibi_slopes(Index heads) {
  if (heads < 1) throw ValueError("alibi", "needs at least one head");
  std::vector<double> slopes;
  for (Index h = 1; h <= heads; ++h)
    slopes.push_back(portable::pow(2, -8 * static_cast<double>(h) / static_cast<double>(heads)));
  return from_vector(slopes, {heads});
}

Tensor alibi_bias(Index heads, Index queries, Index keys, Index offset, DType dtype) {
  if (offset < -(Index{1} << 53) || offset > Index{1} << 53)
    throw ValueError("alibi", "positions must be within 2^53");
  std::vector<double> slopes = alibi_slopes(heads).to_vector<double>();
  Tensor bias = empty({1, heads, queries, keys}, dtype);
  require_floating(bias, "alibi");
  visit_floating(dtype, [&]<class T>() {
    T* out = bias.data<T>();
    parallel_for(heads * queries, std::max<Index>(1, 16384 / std::max<Index>(1, keys)),
                 [&](Index begin, Index end) {
                   for (Index r = begin; r < end; ++r) {
                     double slope = slopes[r / queries];
                     Index at = offset + r % queries;
                     for (Index j = 0; j < keys; ++j)
                       out[r * keys + j] =
                           static_cast<T>(-slope * static_cast<double>(std::abs(at - j)));
                   }
                 });
  });
  return bias;
}

}  // namespace glim

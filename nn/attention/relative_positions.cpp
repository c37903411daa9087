#include "nn/attention/relative_positions.hpp"

#include <algorithm>
#include <cmath>

#include "tensor/parallel.hpp"
#include "tensor/portable.hpp"

namespace glim {

RotaryPositions::RotaryPositions(Index width, double base) : width_(width), table_(width, base) {
  if (width < 2 || width % 2 != 0)
    throw ValueError("rotary_positions", "turn pairs of columns: the width of a head, " +
                                             std::to_string(width) + ", must be even");
}

Var RotaryPositions::forward(const Var& x, Index offset) {
  require_floating(x.value(), "rotary_positions");
  require_sequence("rotary_positions", x, width_, offset);
  // Even columns of the table are sines, odd ones cosines: (T, D) -> (T, D/2) each.
  Tensor angles = table_.rows(offset, x.size(-2), x.dtype());
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

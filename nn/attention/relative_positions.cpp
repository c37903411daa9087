#include "nn/attention/relative_positions.hpp"

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
  auto positions = [](Index first, Index length) {
    return arange(static_cast<double>(first), static_cast<double>(first + length), 1,
                  DType::Float64);
  };
  Tensor distance = abs(unsqueeze(positions(offset, queries), 1) - positions(0, keys));  // (T, S)
  return (reshape(neg(alibi_slopes(heads)), {1, heads, 1, 1}) * distance).to(dtype);
}

}  // namespace glim

// Positions that live in attention: only the distance of query and key counts.
//
// Rotary (Su et al. 2021, arXiv 2104.09864, equation 15): query and key at position m are turned,
// each pair of columns (2i, 2i+1) by the angle m / base^(2i/D):
//   y[2i]   = x[2i] cos - x[2i+1] sin      y[2i+1] = x[2i] sin + x[2i+1] cos
// so <y_m, y'_n> depends on m - n alone. The angles are the same as in the sinusoidal table. Values are
// not turned.
//
// ALiBi (Press et al. 2022, arXiv 2108.12409, section 3): head h of H subtracts its slope times the
// distance from the scores, softmax(q·k/√D - m_h |i - j|), m_h = 2^(-8h/H), h = 1 ... H. Nothing
// is trained, and a sequence may have any length.
//
// `offset` is the position of the first row, for decoding step by step.
#pragma once

#include "nn/attention/positions.hpp"

namespace glim {

// x: (..., T, D), heads apart. No parameters; the table grows with the sequence.
// ValueError for an odd width, a base that is not positive or a negative offset; ShapeError where x
// has another width.
class RotaryPositions : public Callable<RotaryPositions> {
 public:
  explicit RotaryPositions(Index width, double base = 10000);

  Var forward(const Var& x, Index offset = 0);

 private:
  Index width_;
  SinusoidalTable table_;
};

// (H,), float64. ValueError for fewer than one head.
Tensor alibi_slopes(Index heads);
// -m_h |offset + i - j| for queries i, keys j: (1, H, T, S).
Tensor alibi_bias(Index heads, Index queries, Index keys, Index offset = 0,
                  DType dtype = DType::Float32);

}  // namespace glim

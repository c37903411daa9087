#include "nn/attention/positions.hpp"

#include <algorithm>
#include <cmath>

#include "nn/init.hpp"
#include "tensor/parallel.hpp"
#include "tensor/portable.hpp"

namespace glim {

Tensor sinusoidal_positions(Index first, Index length, Index d_model, double base, DType dtype) {
  if (!(base > 0)) throw ValueError("positional_encoding", "the base must be positive");
  std::vector<double> frequency;  // one for each pair of columns
  for (Index c = 0; c < d_model; c += 2)
    frequency.push_back(
        portable::pow(base, -static_cast<double>(c) / static_cast<double>(d_model)));
  Tensor table = empty({length, d_model}, dtype);
  require_floating(table, "positional_encoding");
  visit_floating(dtype, [&]<class T>() {
    T* out = table.data<T>();
    parallel_for(length, 64, [&](Index begin, Index end) {
      for (Index p = begin; p < end; ++p) {
        for (Index c = 0; c < d_model; ++c) {
          double angle = static_cast<double>(first + p) * frequency[c / 2];
          out[p * d_model + c] =
              static_cast<T>(c % 2 == 0 ? portable::sin(angle) : portable::cos(angle));
        }
      }
    });
  });
  return table;
}

PositionalEncoding::PositionalEncoding(Index d_model, double dropout_p)
    : GLIM_NAMED(dropout, dropout_p), d_model_(d_model) {
  if (d_model < 1) throw ValueError("positional_encoding", "the width must be at least 1");
}

void PositionalEncoding::check(const Var& x, Index offset) const {
  if (x.rank() < 2 || x.size(-1) != d_model_)
    throw ShapeError("positional_encoding", "x must be (..., T, " + std::to_string(d_model_) + ")",
                     {{"x", x}});
  if (offset < 0 || offset > Index{1} << 53)
    throw ValueError("positional_encoding",
                     "the offset " + std::to_string(offset) + " must be in [0, 2^53]");
}

SinusoidalPositionalEncoding::SinusoidalPositionalEncoding(Index d_model, double dropout_p,
                                                           Index max_len, double base)
    : PositionalEncoding(d_model, dropout_p),
      GLIM_NAMED(table, sinusoidal_positions(0, max_len, d_model, base), false),
      base_(base) {}

Var SinusoidalPositionalEncoding::forward(const Var& x, Index offset) {
  check(x, offset);
  Index wanted = offset + x.size(-2);
  if (wanted > table.size(0) || computed_in_ != x.dtype() || table.dtype() != x.dtype()) {
    // Doubling keeps the cost of growing step by step proportional to the length reached.
    Index rows = wanted > table.size(0) ? std::max(wanted, 2 * table.size(0)) : table.size(0);
    table = sinusoidal_positions(0, rows, d_model_, base_, x.dtype());
    computed_in_ = x.dtype();
  }
  return dropout(x + narrow(table, 0, offset, x.size(-2)));
}

Var NoPositionalEncoding::forward(const Var& x, Index offset) {
  check(x, offset);
  return dropout(x);
}

LearnedPositionalEmbedding::LearnedPositionalEmbedding(Index d_model, double dropout_p,
                                                       Index max_len)
    : PositionalEncoding(d_model, dropout_p), GLIM_NAMED(weight, empty({max_len, d_model})) {
  normal_(weight.value(), 0, 1);
}

Var LearnedPositionalEmbedding::forward(const Var& x, Index offset) {
  check(x, offset);
  Index length = x.size(-2), rows = weight.size(0);
  if (offset > rows || length > rows - offset)
    throw IndexError("positional_embedding", "a sequence of " + std::to_string(length) +
                                                 " from position " + std::to_string(offset) +
                                                 " needs more than the " + std::to_string(rows) +
                                                 " learned positions");
  return dropout(x + narrow(weight, 0, offset, length));
}

}  // namespace glim

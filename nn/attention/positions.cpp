#include "nn/attention/positions.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "nn/init.hpp"
#include "tensor/parallel.hpp"
#include "tensor/portable.hpp"
#include "tensor/system/threads.hpp"

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

Tensor SinusoidalTable::rows(Index first, Index length, DType dtype) {
  static std::mutex& growing = new_mutex();  // guards every table: threads may use one model
  const std::lock_guard alone(growing);
  Index have = table_.size(0), end = first + length;
  if (end > have || table_.dtype() != dtype) {
    // Doubling keeps the cost of growing step by step proportional to the length reached.
    Index rows = end > have ? std::max({end, 2 * have, Index{64}}) : have;
    table_ = sinusoidal_positions(0, rows, table_.size(1), base_, dtype);
  }
  return narrow(table_, 0, first, length);
}

void require_sequence(std::string_view op, const Var& x, Index width, Index offset) {
  if (x.rank() < 2 || x.size(-1) != width)
    throw ShapeError(op, "x must be (..., T, " + std::to_string(width) + ")", {{"x", x}});
  if (offset < 0 || offset > Index{1} << 53)
    throw ValueError(op, "the offset " + std::to_string(offset) + " must be in [0, 2^53]");
}

PositionalEncoding::PositionalEncoding(Positions kind, Index d_model, double dropout_p,
                                       Index max_len, double base)
    : GLIM_NAMED(dropout, dropout_p),
      GLIM_NAMED(weight, kind == Positions::Learned ? empty({max_len, d_model}) : Tensor()),
      kind_(kind),
      d_model_(d_model),
      base_(base),
      table_(d_model, base) {
  if (d_model < 1) throw ValueError("positional_encoding", "the width must be at least 1");
  if (weight.defined()) normal_(weight.value(), 0, 1);
}

Tensor PositionalEncoding::table(Index length) const {
  if (kind_ == Positions::Sinusoidal)
    return sinusoidal_positions(0, length, d_model_, base_, DType::Float64);
  if (kind_ != Positions::Learned) return {};
  return narrow(weight.value(), 0, 0, std::min(length, weight.size(0))).to(DType::Float64);
}

Var PositionalEncoding::forward(const Var& x, Index offset) {
  require_sequence("positional_encoding", x, d_model_, offset);
  Index length = x.size(-2);
  if (kind_ == Positions::Sinusoidal)
    return dropout(x + named(table_.rows(offset, length, x.dtype()), "table"));
  if (kind_ != Positions::Learned) return dropout(x);
  Index rows = weight.size(0);
  if (offset > rows || length > rows - offset)
    throw IndexError("positional_embedding", "a sequence of " + std::to_string(length) +
                                                 " from position " + std::to_string(offset) +
                                                 " needs more than the " + std::to_string(rows) +
                                                 " learned positions");
  return dropout(x + narrow(weight, 0, offset, length));
}

}  // namespace glim

#include "nn/attention/guided.hpp"

#include <cmath>

#include "tensor/error.hpp"
#include "tensor/portable.hpp"

namespace glim {

Tensor guided_attention_weights(const std::vector<Index>& target_lengths,
                                const std::vector<Index>& source_lengths, Index rows, Index columns,
                                double width, DType dtype) {
  if (!(width > 0)) throw ValueError("guided_attention", "the width g must be positive");
  if (target_lengths.size() != source_lengths.size())
    throw ShapeError("guided_attention", "there must be as many source lengths as target lengths");
  auto batch = static_cast<Index>(target_lengths.size());
  std::vector<double> w(batch * rows * columns, 0.0);
  for (std::size_t b = 0; b < target_lengths.size(); ++b) {
    Index t_len = target_lengths[b], n_len = source_lengths[b];
    if (t_len < 0 || t_len > rows || n_len < 0 || n_len > columns)
      throw ShapeError("guided_attention",
                       "lengths " + std::to_string(t_len) + " and " + std::to_string(n_len) +
                           " exceed (T, S) = " + to_string(Shape{rows, columns}));
    for (Index t = 0; t < t_len; ++t) {
      double* row = w.data() + (static_cast<Index>(b) * rows + t) * columns;
      for (Index n = 0; n < n_len; ++n) {
        double off = static_cast<double>(n) / static_cast<double>(n_len) -
                     static_cast<double>(t) / static_cast<double>(t_len);
        row[n] = 1 - portable::exp(-off * off / (2 * width * width));
      }
    }
  }
  return from_vector(w, {batch, rows, columns}).to(dtype);
}

Var guided_attention_loss(const Var& attention, const std::vector<Index>& target_lengths,
                          const std::vector<Index>& source_lengths, double width) {
  Scope scope("guided_attention");
  int rank = attention.rank();
  if ((rank != 3 && rank != 4) || attention.size(0) != static_cast<Index>(target_lengths.size()))
    throw ShapeError("guided_attention",
                     "attention must be (B, T, S) or (B, H, T, S), with B lengths",
                     {{"attention", attention}});
  Var heads = rank == 4 ? mean(attention, {1}) : attention;  // (B, H, T, S) -> (B, T, S)
  Tensor w = guided_attention_weights(target_lengths, source_lengths, heads.size(1), heads.size(2),
                                      width, attention.dtype());
  return sum(heads * w);
}

}  // namespace glim

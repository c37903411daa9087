// What the kernels share: rows of a tensor, pieces of work, kernels of a dtype. They compute on tensors
// that an op has checked.
//
// Work is cut by size alone, never by the number of threads: results have the same bits for any.
#pragma once

#include <algorithm>
#include <utility>

#include "autograd/kernels/table.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/parallel.hpp"
#include "tensor/random.hpp"

namespace glim {

// The last axis as rows of adjacent elements, `ld` apart; a copy only where strides force it.
struct Rows {
  Tensor x;
  Index count, columns, ld;
};
inline Rows rows_of(const Tensor& x) {
  Index columns = x.size(-1), count = columns ? x.numel() / columns : 0;
  if (auto v = x.view({count, columns}); v && (columns <= 1 || v->strides()[1] == 1))
    return {*v, count, columns, v->strides()[0]};
  return {x.contiguous(), count, columns, columns};
}

// Rows of one piece of work: about 16,384 elements.
inline Index rows_per_piece(Index columns) {
  return std::max<Index>(1, 16384 / std::max<Index>(1, columns));
}

// x's elements from `offset` on, or null where there is no x.
template <class T>
T* data_or_null(const Tensor& x, Index offset = 0) {
  return x.defined() ? x.data<T>() + offset : nullptr;
}

// Σ of pieces' sums (pieces, D), in order.
inline Tensor sum_of_pieces(const Tensor& sums) {
  if (sums.size(0) == 1) return select(sums, 0, 0);
  Tensor total = zeros({sums.size(1)}, sums.dtype());
  visit_floating(sums.dtype(), [&]<class T>() {
    op_kernels<T>().sum_rows(sums.size(0), sums.size(1), sums.data<T>(), sums.size(1),
                             total.data<T>());
  });
  return total;
}

// p in [0, 1).
inline DropSpec drop_spec(double p, RandomKey key) {
  return {key.seed, key.stream, word_threshold(p), 1 / (1 - p)};
}

}  // namespace glim

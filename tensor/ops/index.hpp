// Reading and writing elements by index; joining, cutting and ordering tensors.
//
// Index tensors are int64. IndexError names the first position outside its range; negative
// positions are not accepted in index tensors.
#pragma once

#include <utility>
#include <vector>

#include "tensor/tensor.hpp"

namespace glim {

// IndexError naming the first position outside [0, extent), and DTypeError unless int64; `what` is the index's name.
void require_indices(std::string_view op, const Tensor& index, Index extent,
                     std::string_view what = "index");

// y[i0..ia..] = x[i0..index[i0..ia..]..]; index has x's rank and, off the axis, at most x's extents.
Tensor gather(const Tensor& x, Index axis, const Tensor& index);
// y = x, then y[i0..index[..]..] += source[..] in order of position; x is not changed.
Tensor scatter_add(const Tensor& x, Index axis, const Tensor& index, const Tensor& source);
// Rows of x along the axis: y has `index`'s shape in place of that axis. index of any rank.
Tensor index_select(const Tensor& x, Index axis, const Tensor& index);
// The reverse: zeros of `shape`, then row index[i] along the axis += source row i, in order.
Tensor index_add(const Shape& shape, Index axis, const Tensor& index, const Tensor& source);
// y, which is contiguous: row index[i] along the axis += source row i, in order.
void index_add_(const Tensor& y, Index axis, const Tensor& index, const Tensor& source,
                const Where& where = Where::current());

// The places of a mask's true elements, in row-major order: an int64 vector for each of its axes.
std::vector<Tensor> nonzero(const Tensor& mask);
// The row-major place within `extents` of one index tensor for each, which broadcast. Negative ones count
// from the end.
Tensor ravel_index(const std::vector<Tensor>& index, const Shape& extents);

Tensor concatenate(const std::vector<Tensor>& parts, Index axis);  // ShapeError off the axis
Tensor stack(const std::vector<Tensor>& parts, Index axis);        // a new axis
std::vector<Tensor> split(const Tensor& x, Index axis, const std::vector<Index>& lengths);  // views

// Keeps elements with column - row <= diagonal (tril), >= diagonal (triu); the others are 0.
Tensor tril(const Tensor& x, Index diagonal = 0);
Tensor triu(const Tensor& x, Index diagonal = 0);
// (...,) int64 -> (..., classes); IndexError for a class outside.
Tensor one_hot(const Tensor& index, Index classes, DType dtype = DType::Float32);

struct Ordered {
  Tensor values, indices;
};
// Along the axis, stable; NaN counts as largest (as in NumPy).
Ordered sort(const Tensor& x, Index axis = -1, bool descending = false);
Ordered top_k(const Tensor& x, Index k, Index axis = -1);  // largest first; ties: lower index first

}  // namespace glim

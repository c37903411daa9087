// Orders along an axis; declared in tensor/ops/index.hpp.
#include <algorithm>
#include <numeric>

#include "tensor/error.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/parallel.hpp"

namespace glim {

namespace {
// The first k of the order along the axis.
Ordered order(const Tensor& x, Index axis, bool descending, Index k, std::string_view op) {
  int a = normalize_axis(axis, x.rank(), op);
  Tensor in = transpose(x, a, -1).contiguous();
  Index n = in.shape().back(), rows = n ? in.numel() / n : 0;
  Shape shape = in.shape();
  shape[shape.rank() - 1] = k;
  Tensor values = empty(shape, x.dtype()), indices = empty(shape, DType::Int64);
  visit_dtype(x.dtype(), [&]<class T>() {
    const T* px = in.data<T>();
    T* pv = values.data<T>();
    Index* pi = indices.data<Index>();
    parallel_for(rows, std::max<Index>(1, 4096 / std::max<Index>(1, n)), [&](Index b, Index e) {
      std::vector<Index> positions(n);
      for (Index r = b; r < e; ++r) {
        const T* row = px + r * n;
        std::iota(positions.begin(), positions.end(), Index{0});
        auto before = [&](Index i, Index j) {  // NaN is largest; equal elements keep their order
          T u = row[i], v = row[j];
          if (descending) std::swap(u, v);
          bool nan_u = u != u, nan_v = v != v;
          if (nan_u != nan_v) return nan_v;
          if (!nan_u && u != v) return u < v;
          return i < j;
        };
        if (k == n)
          std::sort(positions.begin(), positions.end(), before);
        else
          std::partial_sort(positions.begin(), positions.begin() + k, positions.end(), before);
        for (Index j = 0; j < k; ++j) {
          pi[r * k + j] = positions[j];
          pv[r * k + j] = row[pi[r * k + j]];
        }
      }
    });
  });
  return {transpose(values, a, -1), transpose(indices, a, -1)};
}
}  // namespace

Ordered sort(const Tensor& x, Index axis, bool descending) {
  return order(x, axis, descending, x.shape()[normalize_axis(axis, x.rank(), "sort")], "sort");
}

Ordered top_k(const Tensor& x, Index k, Index axis) {
  Index n = x.shape()[normalize_axis(axis, x.rank(), "top_k")];
  if (k < 0 || k > n)
    throw ValueError("top_k",
                     "k must be in [0, " + std::to_string(n) + "], got " + std::to_string(k),
                     {{"x", x}});
  return order(x, axis, true, k, "top_k");
}

}  // namespace glim

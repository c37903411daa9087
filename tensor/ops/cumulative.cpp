// Functions of all elements up to each one, along an axis; declared in tensor/ops/reduce.hpp, beside cumsum.
#include "tensor/ops/reduce.hpp"
#include "tensor/ops/rows.hpp"

namespace glim {
namespace {

// f(row) for every row of n elements, which are cheap.
template <class F>
void each_row_of(Index rows, Index n, const F& f) {
  parallel_for(rows, std::max<Index>(1, 8192 / std::max<Index>(n, 1)), [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) f(r);
  });
}

template <class Better>
Tensor running_best(const Tensor& x, Index axis, std::string_view op, const Better& better) {
  const int a = normalize_axis(axis, x.rank(), op);
  const Tensor xt = transpose(x, a, -1).contiguous(), positions = empty(xt.shape(), DType::Int64);
  const Index n = xt.size(-1), rows = n ? xt.numel() / n : 0;
  visit_dtype(x.dtype(), [&]<class T>() {
    each_row_of(rows, n, [&, px = xt.data<T>(), py = positions.data<Index>()](Index r) {
      const T* row = px + r * n;
      for (Index i = 0, best = 0; i < n; ++i) {
        if (row[i] != row[i] || better(row[i], row[best])) best = i;
        py[r * n + i] = best;
      }
    });
  });
  return transpose(positions, a, -1);
}

}  // namespace

Tensor linear_recurrence(const Tensor& a, const Tensor& b, Index axis, bool reverse) {
  require_floating(b, "linear_recurrence");
  const int along = normalize_axis(axis, b.rank(), "linear_recurrence");
  Shape links = b.shape();
  links[along] = std::max<Index>(0, links[along] - 1);
  if (a.shape() != links || a.dtype() != b.dtype())
    throw ShapeError(
        "linear_recurrence",
        "a must be " + to_string(links) + " of b's dtype: one less than b along the axis",
        {{"a", a}, {"b", b}});
  const Tensor factors = transpose(a, along, -1).contiguous(),
               terms = transpose(b, along, -1).contiguous(), y = empty(terms.shape(), b.dtype());
  const Index n = terms.size(-1), rows = n ? terms.numel() / n : 0;
  visit_floating(b.dtype(), [&]<class T>() {
    each_row_of(rows, n,
                [&, pa = factors.data<T>(), pb = terms.data<T>(), py = y.data<T>()](Index r) {
                  double last = 0;
                  for (Index k = 0; k < n; ++k) {
                    const Index i = r * n + (reverse ? n - 1 - k : k),
                                link = r * (n - 1) + (reverse ? n - 1 - k : k - 1);
                    const double term = static_cast<double>(pb[i]);
                    last = k == 0 ? term : static_cast<double>(pa[link]) * last + term;
                    py[i] = static_cast<T>(last);
                  }
                });
  });
  return transpose(y, along, -1);
}

Tensor cumargmax(const Tensor& x, Index axis) {
  return running_best(x, axis, "cummax", [](auto u, auto best) { return u >= best; });
}
Tensor cumargmin(const Tensor& x, Index axis) {
  return running_best(x, axis, "cummin", [](auto u, auto best) { return u <= best; });
}

}  // namespace glim

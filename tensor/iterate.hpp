// Element-wise loops over strided tensors, for kernels.
//
// Axes that lie evenly in every operand are merged, so that contiguous tensors become one run;
// the innermost axis is the run, the outer ones are counted by an odometer. Runs are cut into
// pieces of fixed size: each element is computed alone, so threads cannot change its bits.
#pragma once

#include <algorithm>
#include <array>

#include "tensor/function_ref.hpp"
#include "tensor/tensor.hpp"

namespace glim {

namespace detail {
// The odometer of Loop: `strides[operand][axis]`, axis 0 innermost, at most kMaxOperands.
inline constexpr int kMaxOperands = 4;
void run_loop(int operands, int rank, const Index* extent, const Index* const* strides,
              FunctionRef<void(Index length, const Index* offsets)> f);
}  // namespace detail

// N operands of one shape, merged to as few axes as possible.
template <int N>
struct Loop {
  int rank = 0;
  std::array<Index, kMaxRank> extent{};
  std::array<std::array<Index, kMaxRank>, N> stride{};

  explicit Loop(const Shape& shape, const std::array<const Strides*, N>& strides) {
    for (int i = shape.rank() - 1; i >= 0; --i) {
      auto axis = [&](int n) { return (*strides[static_cast<std::size_t>(n)])[i]; };
      if (shape[i] == 1) continue;
      bool merges = rank > 0;
      for (int n = 0; n < N && merges; ++n) merges = axis(n) == st(n, rank - 1) * ex(rank - 1);
      if (merges) {
        ex(rank - 1) *= shape[i];
      } else {
        ex(rank) = shape[i];
        for (int n = 0; n < N; ++n) st(n, rank) = axis(n);
        ++rank;
      }
    }
    if (rank == 0) {
      rank = 1;
      ex(0) = 1;
      for (int n = 0; n < N; ++n) st(n, 0) = 1;
    }
  }
  Index& ex(int axis) { return extent[static_cast<std::size_t>(axis)]; }  // axis 0 is innermost
  Index ex(int axis) const { return extent[static_cast<std::size_t>(axis)]; }
  Index& st(int n, int axis) {
    return stride[static_cast<std::size_t>(n)][static_cast<std::size_t>(axis)];
  }
  Index st(int n, int axis) const {
    return stride[static_cast<std::size_t>(n)][static_cast<std::size_t>(axis)];
  }
  bool unit() const {
    for (int n = 0; n < N; ++n)
      if (st(n, 0) != 1) return false;
    return true;
  }

  // Calls f(length, offsets) for every run, offsets[n] being operand n's first element.
  template <class F>
  void runs(const F& f) const {
    std::array<const Index*, N> strides;
    for (std::size_t n = 0; n < N; ++n) strides[n] = stride[n].data();
    detail::run_loop(N, rank, extent.data(), strides.data(), [&](Index length, const Index* at) {
      std::array<Index, N> offsets;
      std::copy_n(at, N, offsets.begin());
      f(length, offsets);
    });
  }
};

// y[i] = f(a[i]); y and a have one shape.
template <class Y, class A, class F>
void map_into(const Tensor& y, const Tensor& a, const F& f) {
  Y* py = y.data<Y>();
  const A* pa = a.data<A>();
  Loop<2> loop(y.shape(), {&y.strides(), &a.strides()});
  if (loop.unit()) {
    loop.runs([&](Index n, const std::array<Index, 2>& at) {
      Y* o = py + at[0];
      const A* x = pa + at[1];
      for (Index i = 0; i < n; ++i) o[i] = f(x[i]);
    });
  } else {
    Index so = loop.st(0, 0), sa = loop.st(1, 0);
    loop.runs([&](Index n, const std::array<Index, 2>& at) {
      Y* o = py + at[0];
      const A* x = pa + at[1];
      for (Index i = 0; i < n; ++i) o[i * so] = f(x[i * sa]);
    });
  }
}

// y[i] = f(a[i], b[i]); all of one shape.
template <class Y, class A, class B, class F>
void zip_into(const Tensor& y, const Tensor& a, const Tensor& b, const F& f) {
  Y* py = y.data<Y>();
  const A* pa = a.data<A>();
  const B* pb = b.data<B>();
  Loop<3> loop(y.shape(), {&y.strides(), &a.strides(), &b.strides()});
  if (loop.unit()) {
    loop.runs([&](Index n, const std::array<Index, 3>& at) {
      Y* o = py + at[0];
      const A* x = pa + at[1];
      const B* z = pb + at[2];
      for (Index i = 0; i < n; ++i) o[i] = f(x[i], z[i]);
    });
  } else {
    Index so = loop.st(0, 0), sa = loop.st(1, 0), sb = loop.st(2, 0);
    loop.runs([&](Index n, const std::array<Index, 3>& at) {
      Y* o = py + at[0];
      const A* x = pa + at[1];
      const B* z = pb + at[2];
      for (Index i = 0; i < n; ++i) o[i * so] = f(x[i * sa], z[i * sb]);
    });
  }
}

}  // namespace glim

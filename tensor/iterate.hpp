// Element-wise loops over strided tensors, for kernels.
//
// Axes that lie evenly in every operand are merged, so that contiguous tensors become one run;
// the innermost axis is the run, the outer ones are counted by an odometer. Runs are cut into
// pieces of fixed size: each element is computed alone, so threads cannot change its bits.
#pragma once

#include <array>
#include <type_traits>

#include "tensor/parallel.hpp"
#include "tensor/tensor.hpp"

namespace glim {

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
    Index rows = 1;
    for (int i = 1; i < rank; ++i) rows *= ex(i);
    if (rows == 0 || ex(0) == 0) return;
    constexpr Index kPiece = 16384;
    if (rows == 1) {
      if (ex(0) <= kPiece) return f(ex(0), std::array<Index, N>{});
      parallel_for(ex(0), kPiece, [&](Index begin, Index end) {
        std::array<Index, N> at{};
        for (int n = 0; n < N; ++n) at[static_cast<std::size_t>(n)] = begin * st(n, 0);
        f(end - begin, at);
      });
      return;
    }
    parallel_for(rows, std::max<Index>(1, kPiece / ex(0)), [&](Index begin, Index end) {
      std::array<Index, kMaxRank> counter{};
      std::array<Index, N> at{};
      Index rest = begin;
      for (int i = 1; i < rank; ++i) {
        Index c = rest % ex(i);
        rest /= ex(i);
        counter[static_cast<std::size_t>(i)] = c;
        for (int n = 0; n < N; ++n) at[static_cast<std::size_t>(n)] += c * st(n, i);
      }
      for (Index row = begin; row < end; ++row) {
        f(ex(0), at);
        for (int i = 1; i < rank; ++i) {
          auto& c = counter[static_cast<std::size_t>(i)];
          for (int n = 0; n < N; ++n) at[static_cast<std::size_t>(n)] += st(n, i);
          if (++c < ex(i)) break;
          for (int n = 0; n < N; ++n) at[static_cast<std::size_t>(n)] -= c * st(n, i);
          c = 0;
        }
      }
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

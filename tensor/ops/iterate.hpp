// Element-wise loops over strided tensors, for kernels.
//
// Axes that are evenly spaced in every operand are merged, so that contiguous tensors become one run;
// the innermost axis is the run, the outer ones are counted by an odometer. Runs are cut into
// pieces of fixed size: each element is computed alone, so threads cannot change its bits.
#pragma once

#include <array>
#include <initializer_list>
#include <type_traits>

#include "tensor/function_ref.hpp"
#include "tensor/tensor.hpp"

namespace glim {

// Up to four operands of one shape, merged to as few axes as possible; axis 0 is the innermost.
class Loop {
 public:
  static constexpr std::size_t kMaxOperands = 4;
  Loop(const Shape& shape, std::initializer_list<const Strides*> strides);

  // The stride of an operand along the innermost axis.
  Index step(std::size_t operand) const { return stride_[operand][0]; }
  bool unit() const;  // every step is 1

  // Calls f(length, offsets) for every run, offsets[n] being the place of operand n's first element.
  void runs(FunctionRef<void(Index length, const Index* offsets)> f) const;

 private:
  std::size_t operands_, rank_ = 0;
  std::array<Index, kMaxRank> extent_{};
  std::array<std::array<Index, kMaxRank>, kMaxOperands> stride_{};
};

// A step that the compiler knows, as vectors need.
inline constexpr std::integral_constant<Index, 1> kUnitStep;

// y[i] = f(a[i]); y and a have one shape.
template <class Y, class A, class F>
void map_into(const Tensor& y, const Tensor& a, const F& f) {
  Y* py = y.data<Y>();
  const A* pa = a.data<A>();
  Loop loop(y.shape(), {&y.strides(), &a.strides()});
  auto run = [&](auto so, auto sa) {
    loop.runs([&](Index n, const Index* at) {
      Y* o = py + at[0];
      const A* x = pa + at[1];
      for (Index i = 0; i < n; ++i) o[i * so] = f(x[i * sa]);
    });
  };
  loop.unit() ? run(kUnitStep, kUnitStep) : run(loop.step(0), loop.step(1));
}

// y[i] = f(a[i], b[i]); all of one shape.
template <class Y, class A, class B, class F>
void zip_into(const Tensor& y, const Tensor& a, const Tensor& b, const F& f) {
  Y* py = y.data<Y>();
  const A* pa = a.data<A>();
  const B* pb = b.data<B>();
  Loop loop(y.shape(), {&y.strides(), &a.strides(), &b.strides()});
  auto run = [&](auto so, auto sa, auto sb) {
    loop.runs([&](Index n, const Index* at) {
      Y* o = py + at[0];
      const A* x = pa + at[1];
      const B* z = pb + at[2];
      for (Index i = 0; i < n; ++i) o[i * so] = f(x[i * sa], z[i * sb]);
    });
  };
  loop.unit() ? run(kUnitStep, kUnitStep, kUnitStep)
              : run(loop.step(0), loop.step(1), loop.step(2));
}

}  // namespace glim

// Element-wise loops over strided tensors, for kernels.
//
// Axes that are evenly spaced in every operand are merged, so that contiguous tensors become one run;
// the innermost axis is the run, the outer ones are counted by an odometer. Runs are cut into
// pieces of fixed size: each element is computed alone, so threads cannot change its bits.
#pragma once

#include <array>
#include <initializer_list>
#include <tuple>
#include <type_traits>
#include <utility>

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
  // Values are in the first rank_ places, for the operands that there are.
  std::array<Index, kMaxRank> extent_;
  std::array<std::array<Index, kMaxRank>, kMaxOperands> stride_;
};

// A step that the compiler knows, as vectors need.
inline constexpr std::integral_constant<Index, 1> kUnitStep;

// y[i] = f(a[i], b[i], ...); y, of Y, and the operands, of A ..., have one shape.
template <class Y, class... A, class F>
void map_into(const Tensor& y, std::initializer_list<const Tensor*> operands, const F& f) {
  [&]<std::size_t... k>(std::index_sequence<k...>) {
    Y* const py = y.data<Y>();
    const std::tuple<const A*...> bases{operands.begin()[k]->template data<A>()...};
    const Loop loop(y.shape(), {&y.strides(), &operands.begin()[k]->strides()...});
    auto run = [&](auto so, auto... sa) {
      loop.runs([&](Index n, const Index* offsets) {
        Y* o = py + offsets[0];
        const std::tuple<const A*...> x{std::get<k>(bases) + offsets[k + 1]...};
        for (Index i = 0; i < n; ++i) o[i * so] = f(std::get<k>(x)[i * sa]...);
      });
    };
    loop.unit() ? run(kUnitStep, ((void)k, kUnitStep)...) : run(loop.step(0), loop.step(k + 1)...);
  }
  (std::index_sequence_for<A...>());
}

}  // namespace glim

// One source of kernels, several instruction sets, in the way of Google's Highway. Write the function once, export
// it in one line, call it through `dispatch`.
//
//   // A header declares the kernel for its callers.
//   namespace glim::simd {
//   template <class T>
//   void halve(std::int64_t n, const T* x, T* y);
//   }
//
//   // This source defines it. Meson compiles it once for each instruction set (`kernel_sources`). It calls no inline
//   // function of other headers (tensor/simd/vec.hpp says why).
//   namespace glim::GLIM_ISA {
//   template <class T>
//   void halve(std::int64_t n, const T* x, T* y) { ... }
//   }
//   GLIM_EXPORT(halve)
//
//   dispatch<simd::halve<T>>(n, x, y);          // the best one for this CPU
//   dispatch<simd::halve<T>>.on(isa)(n, x, y);  // the one for an instruction set of supported_isas()
#pragma once

#include <type_traits>

#include "tensor/simd/isa.hpp"

namespace glim {

// Returns the kernel that was compiled for `isa`. GLIM_EXPORT defines it.
template <auto kernel, Isa isa>
decltype(kernel) version();

template <class Signature, Signature* kernel>
struct Dispatch;
template <class R, class... Args, R (*kernel)(Args...)>
struct Dispatch<R(Args...), kernel> {
  static auto on(Isa isa) {
#if defined(__x86_64__) && !defined(GLIM_PLAIN)
    if (isa == Isa::Avx512) return version<kernel, Isa::Avx512>();
    if (isa == Isa::Avx2) return version<kernel, Isa::Avx2>();
#endif
    (void)isa;
    return version<kernel, Isa::Baseline>();
  }
  R operator()(Args... args) const { return on(best_isa())(args...); }
};
template <auto kernel>
inline constexpr Dispatch<std::remove_pointer_t<decltype(kernel)>, kernel> dispatch;

namespace baseline {
inline constexpr Isa kIsa = Isa::Baseline;
}
namespace avx2 {
inline constexpr Isa kIsa = Isa::Avx2;
}
namespace avx512 {
inline constexpr Isa kIsa = Isa::Avx512;
}

}  // namespace glim

#define GLIM_EXPORT(name)     \
  GLIM_EXPORT_OF(name<float>) \
  GLIM_EXPORT_OF(name<double>)
#define GLIM_EXPORT_OF(kernel)                                                              \
  template <>                                                                               \
  decltype(&glim::simd::kernel) glim::version<glim::simd::kernel, glim::GLIM_ISA::kIsa>() { \
    return glim::GLIM_ISA::kernel;                                                          \
  }

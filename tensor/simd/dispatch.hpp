// One source of kernels, several instruction sets. A room's kernels are the members of a struct, its table:
//
//   template <class T>
//   struct OpKernels { void (*softmax)(const ScoreTile<T>& scores); ... };
//   template <class T>
//   const OpKernels<T>& op_kernels(Isa isa = best_isa());  // for this CPU, or for one of supported_isas()
//
// A source that is compiled once for each instruction set (`kernel_sources` in meson.build) fills it, and
// ends with the macro below, which defines the function:
//
//   namespace glim::GLIM_ISA {
//   template <class T>
//   constexpr OpKernels<T> kOpKernels{.softmax = softmax<T>, ...};
//   }
//   GLIM_KERNELS(OpKernels, op_kernels, kOpKernels)
#pragma once

#include "tensor/simd/isa.hpp"

namespace glim {

namespace baseline {
template <class Table>
const Table& table();
}
#if defined(__x86_64__)
namespace avx2 {
template <class Table>
const Table& table();
}
namespace avx512 {
template <class Table>
const Table& table();
}
#endif

// Instantiated in the baseline's compilation alone.
template <class Table>
const Table& table_for(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::Avx512) return avx512::table<Table>();
  if (isa == Isa::Avx2) return avx2::table<Table>();
#endif
  (void)isa;
  return baseline::table<Table>();
}

}  // namespace glim

#define GLIM_KERNELS(Table, accessor, values) \
  namespace glim::GLIM_ISA {                  \
  template <>                                 \
  const Table<float>& table() {               \
    return values<float>;                     \
  }                                           \
  template <>                                 \
  const Table<double>& table() {              \
    return values<double>;                    \
  }                                           \
  }                                           \
  GLIM_JOIN(GLIM_ACCESSOR_, GLIM_ISA)(Table, accessor)

#define GLIM_JOIN(a, b) GLIM_JOIN_(a, b)
#define GLIM_JOIN_(a, b) a##b
#define GLIM_ACCESSOR_avx2(Table, accessor)
#define GLIM_ACCESSOR_avx512(Table, accessor)
#define GLIM_ACCESSOR_baseline(Table, accessor) \
  namespace glim {                              \
  template <class T>                            \
  const Table<T>& accessor(Isa isa) {           \
    return table_for<Table<T>>(isa);            \
  }                                             \
  template const Table<float>& accessor(Isa);   \
  template const Table<double>& accessor(Isa);  \
  }

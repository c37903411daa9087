// Which compilation of the row kernels a caller gets.
#include "autograd/kernels/recurrent.hpp"
#include "tensor/simd/kernels.hpp"

namespace glim {

namespace baseline {
template <class T>
const RowKernels<T>& table();
template <class T>
const RecurrentKernels<T>& recurrent_table();
}  // namespace baseline
#if defined(__x86_64__)
namespace avx2 {
template <class T>
const RowKernels<T>& table();
template <class T>
const RecurrentKernels<T>& recurrent_table();
}  // namespace avx2
namespace avx512 {
template <class T>
const RowKernels<T>& table();
template <class T>
const RecurrentKernels<T>& recurrent_table();
}  // namespace avx512
#endif

template <class T>
const RowKernels<T>& row_kernels(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::Avx512) return avx512::table<T>();
  if (isa == Isa::Avx2) return avx2::table<T>();
#endif
  (void)isa;
  return baseline::table<T>();
}
template const RowKernels<float>& row_kernels<float>(Isa);
template const RowKernels<double>& row_kernels<double>(Isa);

template <class T>
const RecurrentKernels<T>& recurrent_kernels(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::Avx512) return avx512::recurrent_table<T>();
  if (isa == Isa::Avx2) return avx2::recurrent_table<T>();
#endif
  (void)isa;
  return baseline::recurrent_table<T>();
}
template const RecurrentKernels<float>& recurrent_kernels<float>(Isa);
template const RecurrentKernels<double>& recurrent_kernels<double>(Isa);

}  // namespace glim

// Compiled once for each instruction set, with GLIM_ISA naming it (tensor/meson.build).
#include "autograd/kernels/recurrent.hpp"

#include "autograd/kernels/cells.hpp"

namespace glim::GLIM_ISA {

template <class T>
const RecurrentKernels<T>& recurrent_table() {
  static constexpr RecurrentKernels<T> kernels = {
      gru<T>, gru_grad<T>, lstm<T>, lstm_grad<T>, additive_scores<T>, additive_scores_grad<T>};
  return kernels;
}
template const RecurrentKernels<float>& recurrent_table<float>();
template const RecurrentKernels<double>& recurrent_table<double>();

}  // namespace glim::GLIM_ISA

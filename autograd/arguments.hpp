// The arguments of an op's function that are no Vars: numbers, axes, shapes and tensors. A recorded op is written
// down with them (tools/derive).
//
//   Arguments arguments() const override { return {{"axis", axis}, {"index", index}}; }
//
// Names are those of the function's parameters (autograd/ops.hpp). A flag is 0 or 1.
#pragma once

#include <string_view>
#include <type_traits>
#include <vector>

#include "tensor/tensor.hpp"

namespace glim {

struct Argument {
  template <class Number>
  requires std::is_arithmetic_v<Number> Argument(std::string_view n, Number v)
      : name(n), number(static_cast<double>(v)) {}
  Argument(std::string_view n, const Dims& v) : name(n), dims(v) {}
  Argument(std::string_view n, const Tensor& v) : name(n), tensor(v) {}
  std::string_view name;
  double number = 0;
  Dims dims;
  Tensor tensor;
};
using Arguments = std::vector<Argument>;

}  // namespace glim

// Shared by the tests of autograd/.
#pragma once

#include <string>

#include "autograd/observe/finite.hpp"
#include "autograd/observe/hook.hpp"
#include "autograd/observe/op_times.hpp"
#include "autograd/observe/watch.hpp"
#include "autograd/ops.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tests/catch.hpp"

namespace glim {

inline Tensor random64(const Shape& shape, std::uint64_t stream) {
  return uniform(shape, -1, 1, {77, stream}, DType::Float64);
}
inline Var leaf64(const Shape& shape, std::uint64_t stream, std::string name = "x") {
  return Var::leaf(random64(shape, stream), std::move(name));
}
inline Var leaf_of(std::initializer_list<double> values, std::string name = "x") {
  return Var::leaf(tensor(values, DType::Float64), std::move(name));
}
inline std::vector<double> list(const Tensor& x) { return x.to_vector<double>(); }

}  // namespace glim

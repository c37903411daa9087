// What the tests of tensor/ share.
#pragma once

#include <functional>
#include <string>

#include "tensor/elementwise.hpp"
#include "tensor/error.hpp"
#include "tensor/parallel.hpp"
#include "tensor/random.hpp"
#include "tensor/tensor.hpp"

namespace glim {

// A file of tests/reference.
inline std::string reference(const std::string& name) {
  return std::string(GLIM_REFERENCE) + "/" + name;
}

inline DType dtype_named(const std::string& name) {
  for (DType t : {DType::Float32, DType::Float64, DType::Int64, DType::Bool})
    if (name_of(t) == name) return t;
  throw ValueError("dtype_named", name);
}

// Random numbers of any dtype, the same on every run.
inline Tensor random_tensor(const Shape& shape, DType dtype, std::uint64_t stream) {
  Key key{2024, stream};
  if (dtype == DType::Bool) return bernoulli(shape, 0.5, key);
  if (dtype == DType::Int64) return random_integers(shape, -9, 10, key);
  return normal(shape, 0, 1, key, dtype);
}

// The text of the error that f throws; "" when it throws none.
template <class E = Error>
std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "";
}

// Runs f with 1, 2, 3 and 4 threads: true when every result has the same bits.
inline bool same_for_any_threads(const std::function<Tensor()>& f) {
  int before = num_threads();
  set_num_threads(1);
  Tensor first = f();
  bool same = true;
  for (int n : {2, 3, 4}) {
    set_num_threads(n);
    same = same && same_bits(first, f());
  }
  set_num_threads(before);
  return same;
}

}  // namespace glim

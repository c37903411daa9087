// Tensors and the arrays of Python: NumPy's and those of any library that speaks DLPack, without copies.
#pragma once

#include <memory>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <string>
#include <utility>

#include "tensor/tensor.hpp"

namespace glim::python {

namespace nb = nanobind;

std::string type_of(nb::handle x);  // the name of its class
nb::tuple tuple_of(const Dims& dims);

// A tensor over the memory of an array, whatever its strides; it keeps the array alive. A Tensor or a Var gives its own.
// `name` is the array's in messages. DTypeError for elements that Glim lacks (float16, int32, objects); TypeError for
// what is no array; ValueError for memory of a GPU.
Tensor tensor_of(nb::handle x, std::string_view name = "x");
// A NumPy array over the memory of a tensor; it keeps the memory alive.
nb::object numpy_of(const Tensor& x, bool read_only = false);

// A Python object that C++ keeps, and may drop where the interpreter is not locked, or has ended.
template <class Object>
std::shared_ptr<Object> kept(Object object) {
  return {new Object(std::move(object)), [](Object* held) {
            if (!nb::is_alive()) return;
            nb::gil_scoped_acquire lock;
            delete held;
          }};
}

void bind_tensor(nb::module_& m);
void bind_errors(nb::module_& m);
void bind_gradcheck(nb::module_& m);
void bind_pipeline(nb::module_& m);

}  // namespace glim::python

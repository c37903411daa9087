// Tensors and the arrays of Python: NumPy's and those of any library that speaks DLPack, without copies.
#pragma once

#include <memory>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <string>
#include <utility>

#include "tensor/tensor.hpp"
#include "tools/python/calls.hpp"

namespace glim::python {

std::string text_of(nb::handle x);  // str(x)
std::string type_of(nb::handle x);  // the name of its class
nb::tuple tuple_of(const Dims& dims);

// A tensor over the memory of an array, whatever its strides; it keeps the array alive. A Tensor or a Var gives its own.
// `name` is the array's in messages. DTypeError for elements that Glim lacks (float16, int32, objects); TypeError for
// what is no array, or has a meaning beside its elements, such as a mask; ValueError for memory of a GPU.
Tensor tensor_of(nb::handle x, std::string_view name = "x");
enum class NumpyClass { Array, File, Scalar };
nb::handle numpy_class(NumpyClass c);
// TypeError for an array of a class with a meaning of its own, such as a masked one, and for an array
// of PyTorch that needs a gradient.
void require_plain(nb::handle x, std::string_view name);
// Integers of any width become int64. Other arrays are returned unchanged. IndexError for an integer
// beyond 64 bits.
nb::object widened(nb::object x, std::string_view name);
// A NumPy array over the memory of a tensor; it keeps the memory alive.
nb::object numpy_of(const Tensor& x, bool read_only = false);
// True while this thread has an open tape: what Python could write, backward may read.
bool recording();
// A number of Python or NumPy. A Var that needs a gradient is none: it would lose it.
bool is_number(nb::handle x) noexcept;
bool number_of(nb::handle x, double& value) noexcept;

// A Python object that C++ keeps, and may drop where the interpreter is not locked, or has ended.
template <class Object>
std::shared_ptr<Object> kept(Object object) {
  return {new Object(std::move(object)), [](Object* held) {
            if (Lock lock; lock) delete held;
          }};
}

void bind_tensor(nb::module_& m);
void bind_errors(nb::module_& m);
void bind_gradcheck(nb::module_& m);
void bind_pipeline(nb::module_& m);
void bind_study(nb::module_& m);

// True of a bool of Python and of NumPy, whose earlier versions take it for an index.
inline bool is_bool(nb::handle x) {
  if (PyBool_Check(x.ptr()) || PyLong_Check(x.ptr())) return PyBool_Check(x.ptr());
  const std::string type = nb::cast<std::string>(nb::type_name(x.type()));
  return type.ends_with("bool") || type.ends_with("bool_");
}

}  // namespace glim::python

namespace nanobind::detail {

// A bool is no axis and no extent: glim.sum(v, True) would sum along axis 1.
template <>
struct type_caster<glim::Index> {
  NB_TYPE_CASTER(glim::Index, const_name("int"))
  bool from_python(handle src, std::uint32_t, cleanup_list*) noexcept {
    if (!PyIndex_Check(src.ptr()) || glim::python::is_bool(src)) return false;
    value = PyNumber_AsSsize_t(src.ptr(), PyExc_OverflowError);
    const bool fits = !PyErr_Occurred();
    PyErr_Clear();
    return fits;
  }
  static handle from_cpp(glim::Index x, rv_policy, cleanup_list*) noexcept {
    return PyLong_FromSsize_t(x);
  }
};
template <>
struct type_caster<int> {
  NB_TYPE_CASTER(int, const_name("int"))
  bool from_python(handle src, std::uint32_t flags, cleanup_list* cleanup) noexcept {
    make_caster<glim::Index> wide;
    if (!wide.from_python(src, flags, cleanup) || !std::in_range<int>(wide.value)) return false;
    value = static_cast<int>(wide.value);
    return true;
  }
  static handle from_cpp(int x, rv_policy, cleanup_list*) noexcept { return PyLong_FromLong(x); }
};

template <>
struct type_caster<double> {
  NB_TYPE_CASTER(double, const_name("float"))
  bool from_python(handle src, std::uint32_t, cleanup_list*) noexcept {
    return glim::python::number_of(src, value);
  }
  static handle from_cpp(double x, rv_policy, cleanup_list*) noexcept {
    return PyFloat_FromDouble(x);
  }
};

}  // namespace nanobind::detail

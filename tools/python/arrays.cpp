#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "tools/python/vars.hpp"

namespace glim::python {
namespace {

constexpr DType kDTypes[] = {DType::Float32, DType::Float64, DType::Int64, DType::Bool};

nb::dlpack::dtype dlpack_of(DType t) {
  return visit_dtype(t, []<class T>() { return nb::dtype<T>(); });
}

std::optional<DType> dtype_from(nb::dlpack::dtype t) {
  for (DType ours : kDTypes)
    if (dlpack_of(ours) == t) return ours;
  return {};
}

// An array that neither DLPack nor the buffer protocol hands over. One of NumPy is copied if it merely is misaligned, as
// a field of a record may be, or has the other order of bytes.
Tensor copy_or_refuse(nb::handle x, std::string_view name) {
  if (nb::hasattr(x, "dtype") && text_of(x.type().attr("__module__")) == "numpy")
    for (DType t : kDTypes)
      if (const std::string ours(name_of(t));
          nb::cast<std::string>(x.attr("dtype").attr("name")) == ours)
        return tensor_of(nb::module_::import_("numpy").attr("array")(x, ours), name);
  if (nb::hasattr(x, "device"))
    if (const std::string device = text_of(x.attr("device")); !device.starts_with("cpu"))
      throw ValueError(name, "the array is on " + device +
                                 "; pass a copy in main memory, such as " + std::string(name) +
                                 ".cpu()");
  if (nb::hasattr(x, "dtype"))
    throw DTypeError(
        name, "elements of " + text_of(x.attr("dtype")) +
                  "; Glim has float32, float64, int64 and bool: convert the array, such as with "
                  ".astype(\"float64\")");
  throw nb::type_error(
      (std::string(name) +
       ": expected an array of NumPy, or of a library that speaks DLPack (PyTorch, "
       "JAX), got " +
       type_of(x) + "; glim.tensor makes one of numbers and lists")
          .c_str());
}

template <class Array>
Tensor over(const Array& array, nb::handle x, std::string_view name, bool read_only) {
  if (array.device_type() != nb::device::cpu::value) return copy_or_refuse(x, name);
  const std::optional<DType> dtype = dtype_from(array.dtype());
  if (!dtype) return copy_or_refuse(x, name);
  Shape shape;
  Strides strides;
  Index low = 0, high = 0, numel = 1;  // of the elements, relative to the first
  for (std::size_t i = 0; i < array.ndim(); ++i) {
    const auto extent = static_cast<Index>(array.shape(i));
    shape.push_back(extent);
    strides.push_back(extent > 1 ? array.stride(i) : 0);
    (strides.back() < 0 ? low : high) += (extent - 1) * strides.back();
    numel *= extent;
  }
  if (numel == 0) return empty(shape, *dtype);
  for (int i = shape.rank() - 1, k = 1; i >= 0; --i)  // of extents of 1, as of a row-major array
    if (shape[i] == 1) strides[i] = i + 1 < shape.rank() ? strides[i + 1] * shape[i + 1] : k;
  const auto size = static_cast<Index>(size_of(*dtype));
  auto* first =
      const_cast<char*>(static_cast<const char*>(array.data_handle())) + array.byte_offset();
  if (reinterpret_cast<std::uintptr_t>(first) % static_cast<std::uintptr_t>(size) != 0)
    return copy_or_refuse(x, name);
  return Tensor::from_storage(
      Storage::over(first + low * size, static_cast<std::size_t>((high - low + 1) * size),
                    kept(array), read_only),
      -low, shape, strides, *dtype);
}

// Memory that an array of Python may write for as long as it lives.
struct Lent {
  explicit Lent(const Tensor& x) : tensor(x) { tensor.storage().lend(1); }
  ~Lent() { tensor.storage().lend(-1); }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;
  Tensor tensor;
};

template <class Array>
nb::object exported(const Tensor& x, nb::object owner) {
  std::vector<std::size_t> shape(x.shape().begin(), x.shape().end());
  void* data = x.storage().data() + x.offset() * static_cast<Index>(size_of(x.dtype()));
  Array array(data, shape.size(), shape.data(), owner, x.strides().begin(), dlpack_of(x.dtype()),
              nb::device::cpu::value);
  return nb::cast(std::move(array));
}
template <class Framework>
nb::object exported(const Tensor& x, bool read_only) {
  if (read_only) return exported<nb::ndarray<Framework, nb::ro>>(x, nb::cast(x));
  return exported<nb::ndarray<Framework>>(
      x, nb::capsule(new Lent(x), [](void* p) noexcept { delete static_cast<Lent*>(p); }));
}

// A plain capsule cannot say that its memory is read-only.
bool is_plain_capsule(nb::handle x) { return PyCapsule_IsValid(x.ptr(), "dltensor"); }

// Read-only memory is copied: plain DLPack cannot say that it is, and PyTorch writes to it although it was told.
nb::object dlpack(const Tensor& x, nb::dict options) {
  const bool read_only = x.storage().read_only() || recording();
  if (read_only && options.contains("copy") && options["copy"].is(Py_False))
    throw nb::buffer_error("the memory is read-only; take a copy, or .numpy(), which can say so");
  return exported<nb::array_api>(read_only ? x.clone() : x, false).attr("__dlpack__")(**options);
}

void require_defined(const Tensor& x) {
  if (!x.defined()) throw StateError("tensor", "is undefined");
}

}  // namespace

std::string text_of(nb::handle x) { return nb::cast<std::string>(nb::str(x)); }
std::string type_of(nb::handle x) { return text_of(x.type().attr("__name__")); }

nb::tuple tuple_of(const Dims& dims) {
  nb::list all;
  for (Index d : dims) all.append(d);
  return nb::tuple(all);
}

nb::handle numpy_class(NumpyClass c) {
  static constexpr const char* kNames[] = {"ndarray", "memmap", "generic"};
  static PyObject* known[3] = {};
  const auto k = static_cast<std::size_t>(c);
  if (!known[k])
    known[k] = nb::object(nb::module_::import_("numpy").attr(kNames[k])).release().ptr();
  return known[k];
}

void require_plain(nb::handle x, std::string_view name) {
  const nb::handle array = numpy_class(NumpyClass::Array), type = x.type();
  if (type.is(array)) return;
  if (!nb::isinstance<Var>(x) && nb::getattr(x, "requires_grad", nb::none()).is(Py_True))
    throw nb::type_error((std::string(name) +
                          " has a gradient of another library, and would lose it here: pass " +
                          std::string(name) + ".detach() if it is a constant")
                             .c_str());
  if (!nb::isinstance(x, array) || type.is(numpy_class(NumpyClass::File))) return;
  throw nb::type_error((std::string(name) + ": a " + type_of(x) +
                        " means more than its elements, which is all that Glim would read; pass "
                        "numpy.asarray(" +
                        std::string(name) +
                        ") if they are enough, or .filled(value) of a masked array")
                           .c_str());
}

Tensor tensor_of(nb::handle x, std::string_view name) {
  if (const Tensor* t = nullptr; nb::try_cast<const Tensor*>(x, t) && t) return *t;
  if (const Var* v = nullptr; nb::try_cast<const Var*>(x, v) && v) {
    require_constant(*v, name);
    return v->value();
  }
  require_plain(x, name);
  // PyTorch's DLPack ignores that a lazily negated tensor still has to be negated.
  if (nb::hasattr(x, "is_neg") && nb::cast<bool>(x.attr("is_neg")()))
    return tensor_of(x.attr("resolve_neg")(), name);
  // JAX hands out as writable what nobody may write.
  const bool jax = text_of(x.type().attr("__module__")).starts_with("jax");
  // nanobind reads strides, which the buffers of ctypes and of NumPy's dates lack; a memoryview has them.
  nb::object source = nb::borrow(x);
  if (!nb::hasattr(x, "__dlpack__")) {
    if (PyObject* view = PyMemoryView_FromObject(x.ptr()))
      source = nb::steal(view);
    else
      PyErr_Clear();
  }
  const bool plain = is_plain_capsule(x);  // until it is taken
  if (nb::ndarray<> array; !jax && nb::try_cast(source, array)) return over(array, x, name, plain);
  if (nb::ndarray<nb::ro> array; nb::try_cast(source, array)) return over(array, x, name, true);
  return copy_or_refuse(x, name);
}

nb::object numpy_of(const Tensor& x, bool read_only) {
  require_defined(x);
  return exported<nb::numpy>(x, read_only || x.storage().read_only());
}

void bind_tensor(nb::module_& m) {
  m.def(
      "_require_plain", [](nb::handle x, const std::string& name) { require_plain(x, name); },
      nb::arg("x").none(), nb::arg("name"));
  m.def(
      "_widened", [](nb::object x, const std::string& name) { return widened(x, name); },
      nb::arg("x"), nb::arg("name"));
  nb::class_<Tensor> tensor(
      m, "Tensor",
      "An n-dimensional array of float32, float64, int64 or bool, without gradients.\n\n"
      "Tensor(array) shares the memory of a NumPy array, or of an array of a library that speaks "
      "DLPack. "
      "numpy() and DLPack hand it out again, without copies. Its operators are those of this "
      "array.");
  // A Tensor has no gradient to lose.
  for (const char* name :
       {"__add__",     "__radd__",     "__sub__",    "__rsub__",    "__mul__",    "__rmul__",
        "__truediv__", "__rtruediv__", "__matmul__", "__rmatmul__", "__pow__",    "__rpow__",
        "__neg__",     "__abs__",      "__and__",    "__or__",      "__invert__", "__getitem__",
        "__len__",     "__iter__",     "__float__",  "__int__"})
    tensor.def(name,
               [name](nb::handle x, nb::args args) { return x.attr("numpy")().attr(name)(*args); });
  tensor
      .def(
          "__init__",
          [](Tensor* self, nb::handle array) { new (self) Tensor(tensor_of(array, "array")); },
          nb::arg("array").none())
      .def_prop_ro(
          "shape", [](const Tensor& x) { return tuple_of(x.shape()); }, "The extents, a tuple.")
      .def_prop_ro(
          "strides", [](const Tensor& x) { return tuple_of(x.strides()); }, "In elements, a tuple.")
      .def_prop_ro(
          "dtype", [](const Tensor& x) { return std::string(name_of(x.dtype())); },
          "'float32', 'float64', 'int64' or 'bool'.")
      .def_prop_ro("ndim", &Tensor::rank)
      .def_prop_ro("size", &Tensor::numel, "The number of elements.")
      .def(
          "numpy", [](const Tensor& x) { return numpy_of(x, recording()); },
          "A NumPy array over the same memory, read-only while a tape is open.")
      .def("item", &Tensor::item, "The one element, a float. ShapeError if there are several.")
      .def("clone", &Tensor::clone, "A copy with memory of its own.")
      .def("__array__",
           [](const Tensor& x, nb::args args, nb::kwargs options) {
             nb::object array = numpy_of(x, recording());
             return args.size() + options.size()
                        ? nb::module_::import_("numpy").attr("array")(array, *args, **options)
                        : array;
           })
      .def("__reduce__",
           [](nb::handle self) {
             return nb::make_tuple(self.type(), nb::make_tuple(self.attr("numpy")()));
           })
      .def("__dlpack__",
           [](const Tensor& x, nb::kwargs options) {
             require_defined(x);
             return dlpack(x, options);
           })
      .def("__dlpack_device__",
           [](const Tensor&) { return nb::make_tuple(nb::device::cpu::value, 0); })
      .def("__repr__", [](const Tensor& x) {
        std::ostringstream out;
        if (x.defined()) out << x;
        return x.defined() ? "Tensor(" + out.str() + ", " + x.kind() + ")"
                           : std::string("Tensor()");
      });
}

}  // namespace glim::python

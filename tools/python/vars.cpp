// Var and the ops. The bindings of ops are generated from autograd/ops.hpp (ops.py).
#include "tools/python/vars.hpp"

#include <nanobind/stl/optional.h>
#include <sstream>

#include "nn/attention/head_options.hpp"
#include "tensor/matmul/plan.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tools/python/words.hpp"

namespace glim::python {

using namespace nb::literals;
namespace {

// An integer of Python or NumPy; a bool is none.
bool is_integer(nb::handle x) { return is_number(x) && PyIndex_Check(x.ptr()) && !is_bool(x); }

// The ids or the mask that an index is, if it is an array or a list; undefined if it is not.
Tensor index_array(nb::handle part) {
  if (part.is_none() || part.is(nb::handle(Py_Ellipsis)) || PySlice_Check(part.ptr()) ||
      is_integer(part))
    return {};
  require_plain(part, "index");
  nb::object array = nb::module_::import_("numpy").attr("asarray")(part);
  const std::string kind = nb::cast<std::string>(array.attr("dtype").attr("kind"));
  if (kind == "i" || kind == "u")
    array = widened(array, "index");
  else if (nb::isinstance<nb::list>(part) && nb::len(part) == 0)
    array = array.attr("astype")("int64");
  else if (kind != "b" || nb::cast<int>(array.attr("ndim")) == 0)
    throw DTypeError("index",
                     "an index is a " + type_of(part) +
                         "; it is an integer, a slice, None, ..., or an array of integers or bool");
  return tensor_of(array, "index").clone();
}

// x[i], x[a:b:c], x[..., None]: views; x[ids], x[mask], x[i, j]: copies; all as of NumPy.
Var item_of(const Var& x, nb::handle index, const Where& line) {
  nb::tuple parts =
      nb::isinstance<nb::tuple>(index) ? nb::borrow<nb::tuple>(index) : nb::make_tuple(index);
  const nb::handle ellipsis(Py_Ellipsis);
  std::vector<Tensor> arrays, indices;
  int consumed = 0;
  bool by_arrays = false;
  for (nb::handle part : parts) {
    arrays.push_back(index_array(part));
    const bool mask = arrays.back().defined() && arrays.back().dtype() == DType::Bool;
    by_arrays = by_arrays || arrays.back().defined();
    consumed += mask ? arrays.back().rank() : !part.is_none() && !part.is(ellipsis);
  }
  if (consumed > x.rank())
    throw IndexError(
        "index", std::to_string(consumed) + " indices for " + std::to_string(x.rank()) + " axes",
        {{"x", x}});
  CallSite site(line);
  Var y = x;
  Index axis = 0, covered = 0;  // axes of y; axes that `indices` covers
  auto by_array = [&](const Tensor& array) {
    for (; covered < axis; ++covered) indices.emplace_back();
    indices.push_back(array);
    covered = axis += array.dtype() == DType::Bool ? array.rank() : 1;
  };
  for (std::size_t k = 0; k < arrays.size(); ++k) {
    const nb::handle part = parts[k];
    if (part.is_none()) {
      y = unsqueeze(y, axis++);
    } else if (part.is(ellipsis)) {
      axis += x.rank() - consumed;
    } else if (PySlice_Check(part.ptr())) {
      Py_ssize_t start = 0, stop = 0, step = 0;
      if (PySlice_Unpack(part.ptr(), &start, &stop, &step) != 0) throw nb::python_error();
      if (step < 1)
        throw ValueError("index", "a slice has step " + std::to_string(step) + "; it is at least 1",
                         {{"x", x}});
      const Py_ssize_t length = PySlice_AdjustIndices(y.size(axis), &start, &stop, step);
      y = length == 0 ? slice(y, axis, 0, 0) : slice(y, axis, start, stop, step);
      ++axis;
    } else if (is_integer(part)) {
      Index i = 0;
      if (!nb::try_cast(part, i)) throw IndexError("index", "is beyond 64 bits", {{"x", x}});
      if (by_arrays)
        by_array(scalar(static_cast<double>(i), DType::Int64));
      else
        y = select(y, axis, i);
    } else {
      by_array(arrays[k]);
    }
  }
  return by_arrays ? glim::index(y, indices) : y;
}

std::string shown(const Var& x) {
  std::ostringstream out;
  if (!x.defined()) return "Var()";
  out << "Var(" << x.value() << ", " << x.value().kind();
  if (x.is_leaf()) out << ", leaf" << (x.name().empty() ? "" : " " + x.name());
  out << ")";
  return out.str();
}

// A leaf is written by optimizers: read-only memory is copied.
Var leaf_of(const Arg& value, const std::string& name) {
  require_constant(value("value"), "value");
  const Tensor& x = value("value").value();
  if (!is_floating(x.dtype()))
    throw DTypeError("leaf",
                     "a leaf of " + std::string(name_of(x.dtype())) +
                         " gets no gradient: pass array.astype(\"float32\"), or \"float64\"",
                     {{"value", x}});
  return Var::leaf(x.storage().read_only() ? x.clone() : x, name);
}

// NumPy and others turn their arguments into arrays without a word.
void require_constant_array(const Var& x) {
  if (Tape::current() && is_floating(x.dtype()) && x.requires_grad())
    throw nb::type_error(
        "a Var that needs a gradient would lose it as an array: use the ops of glim (stack, "
        "concatenate, where), or .numpy() if it is a constant");
}

using Compare = Tensor (*)(const Tensor&, const Tensor&);

// x == other, element by element. Nothing equals None.
nb::object compared(const Arg& x, nb::handle other, Compare f) {
  if (other.is_none()) return nb::borrow(Py_NotImplemented);
  const Arg y = nb::cast<Arg>(other);
  const bool number = y.number();
  convert_numbers({{x, "x"}, {y, "other"}});
  const Tensor &a = x("x").value(), &b = y("other").value();
  return nb::cast(f(number ? a.to(b.dtype()) : a, b));  // a fraction beside integers
}

template <class Class>
void bind_comparisons(nb::class_<Class>& c) {
  for (auto [name, f] : {std::pair<const char*, Compare>("__eq__", &equal),
                         {"__ne__", &not_equal},
                         {"__lt__", &less},
                         {"__le__", &less_equal},
                         {"__gt__", &greater},
                         {"__ge__", &greater_equal}})
    c.def(
        name, [f = f](const Arg& x, nb::handle other) { return compared(x, other, f); },
        nb::arg("other").none(), "Element by element, a bool Tensor.");
  c.def("__hash__",
        [](nb::handle self) { return reinterpret_cast<std::uintptr_t>(self.ptr()) >> 4; });
  c.def("__contains__", [](nb::handle, nb::handle) -> bool {
    throw nb::type_error(
        "`in` compares whole arrays; compare elements, such as (x == value).numpy().any()");
  });
}

}  // namespace

void bind_vars(nb::module_& m) {
  nb::class_<AttentionMask>(
      m, "AttentionMask",
      "Which keys a query may attend to.\n\nkeep: bool, true = may attend, broadcasts to "
      "(..., T, S). bias: added to the scores. form: weights of scores S, 'softmax', 'relu' "
      "(relu(S)/n "
      "for n keys) or 'linear' (S).")
      .def(
          "__init__",
          [](AttentionMask* self, const Arg& keep, const Arg& bias, const std::string& form) {
            new (self) AttentionMask{keep.constant("keep"), bias("bias"), 0,
                                     kWords<AttentionForm>.parse("form", form)};
          },
          "keep"_a.none() = nb::none(), "bias"_a.none() = nb::none(), "form"_a = "softmax");
  nb::class_<Window>(m, "Window",
                     "Windows along one axis: kernel, stride, dilation, padding before and after.")
      .def(
          "__init__",
          [](Window* self, Index kernel, Index stride, Index dilation, Index before, Index after) {
            new (self) Window{kernel, stride, dilation, before, after};
          },
          "kernel"_a = 1, "stride"_a = 1, "dilation"_a = 1, "before"_a = 0, "after"_a = 0);
  nb::class_<Tensor> tensor = nb::borrow<nb::class_<Tensor>>(m.attr("Tensor"));
  bind_comparisons(tensor);
  tensor.def("__bool__", [](const Tensor& x) { return x.item() != 0; });
  auto minus = [](const Arg& x, double c) {
    const Where line = user_line();
    return add(Operand(x("x"), line), -c);
  };
  nb::class_<Var> var(
      m, "Var",
      "A tensor that may be on a tape.\n\nVar(array) is a constant, Var.leaf(array) a leaf, where "
      "gradients end up. Ops on Vars are recorded while a Tape is open.");
  var.def(
         "__init__", [](Var* self, const Arg& value) { new (self) Var(value("value")); }, "value"_a)
      .def_static("leaf", &leaf_of, "value"_a, "name"_a = "", "A leaf over the memory of an array.")
      .def_prop_ro(
          "value", [](const Var& x) { return x.value(); }, "The Tensor, without a gradient.")
      .def_prop_ro(
          "shape", [](const Var& x) { return tuple_of(x.shape()); }, "The extents, a tuple.")
      .def_prop_ro("dtype", [](const Var& x) { return std::string(name_of(x.dtype())); })
      .def_prop_ro("ndim", &Var::rank)
      .def_prop_ro("size", &Var::numel, "The number of elements.")
      .def_prop_ro(
          "T",
          [](const Var& x) {
            if (x.rank() > 2)
              throw ValueError("T", "reverses all " + std::to_string(x.rank()) +
                                        " axes in NumPy: v.mT exchanges the last two, and "
                                        "np.transpose(v) reverses all");
            const Where line = user_line();
            return transpose(Operand(x, line));
          },
          "The two axes exchanged.")
      .def_prop_ro(
          "mT",
          [](const Var& x) {
            const Where line = user_line();
            return transpose(Operand(x, line));
          },
          "The last two axes exchanged.")
      .def_prop_ro("requires_grad", &Var::requires_grad)
      .def_prop_ro("is_leaf", &Var::is_leaf)
      .def_prop_ro("name", &Var::name)
      .def_prop_rw(
          "grad",
          [](const Var& x) {
            if (!x.is_leaf())
              throw StateError(
                  "grad",
                  "is kept for leaves, such as glim.Var.leaf(array). Of a value on the "
                  "way, tape.watch(v) before backward keeps it, and tape.grad_of(v) "
                  "reads it");
            return array_or_none(x.grad());
          },
          [](const Var& x, const Arg& g) { x.set_grad(g.constant("grad")); },
          nb::for_setter(nb::arg("grad").none()),
          "The gradient of a leaf, a Tensor, or None. Set it to a copy of an array.")
      .def("zero_grad", &Var::zero_grad, "Drops the gradient of a leaf.")
      .def("detach", &Var::detach, "The same value as a constant.")
      .def("item", &Var::item, "The one element, a float. ShapeError if there are several.")
      .def("__float__", &Var::item)
      .def(
          "numpy", [](const Var& x) { return numpy_of(x.value(), recording()); },
          "A NumPy array over the same memory, without a gradient; read-only while a tape is open.")
      .def("__array__",
           [](const Var& x, nb::args args, nb::kwargs options) {
             require_constant_array(x);
             return nb::cast(x.value()).attr("__array__")(*args, **options);
           })
      .def("__dlpack__",
           [](const Var& x, nb::kwargs options) {
             require_constant_array(x);
             return nb::cast(x.value()).attr("__dlpack__")(**options);
           })
      .def("__dlpack_device__",
           [](const Var&) { return nb::make_tuple(nb::device::cpu::value, 0); })
      .def("__len__", [](const Var& x) { return x.size(0); })
      .def("__bool__", [](const Var& x) { return x.item() != 0; })
      .def(
          "__getitem__",
          [](const Var& x, nb::handle index) { return item_of(x, index, user_line()); },
          "index"_a.none())
      .def("__sub__", minus, nb::is_operator())
      .def("__repr__", &shown);
  bind_comparisons(var);
  m.def("sub", minus, "x"_a, "c"_a);
  m.def(
      "named", [](const Arg& x, const std::string& label) { return named(x("x"), label); }, "x"_a,
      "label"_a,
      "Gives the node of x a name of its own on the tape. Pages show a softmax named 'probs' as "
      "attention.");
  m.def(
      "_mask_named",
      [](nb::object keep, const std::string& label) -> std::optional<Var> {
        const Var x = named(keep.is_none() ? Var() : var_of(keep, label), label);
        return x.defined() ? std::optional(x) : std::nullopt;
      },
      "keep"_a.none(), "label"_a, "A mask, or none, as an observer of the tape changes it.");
  m.def(
      "recomputed",
      [](nb::callable f) {
        return recomputed(
            [f = kept(f)] {
              return call_back([&] {
                nb::object y = call_python([&] { return (*f)(); });
                if (y.is_none())
                  throw ValueError("recomputed", "f returned None. Is a return missing?");
                return var_of(y, "the result");
              });
            },
            user_line());
      },
      "f"_a, "f(), of which nothing is kept: backward runs it again (Chen et al. 2016).");
#include "tools/python/ops.inc"
  var.def("transpose", [](nb::handle, nb::args) {
    throw nb::type_error(
        "transpose exchanges two axes: v.transpose(0, 1); v.permute(2, 0, 1) orders all of them");
  });
}

DType dtype_of(const DTypeArg& dtype) {
  for (DType t : {DType::Float32, DType::Float64, DType::Int64, DType::Bool})
    if (dtype.name == name_of(t)) return t;
  throw DTypeError("tensor", "dtype is \"" + dtype.name +
                                 "\"; it is \"float32\", \"float64\", \"int64\" or \"bool\"");
}

void bind_random(nb::module_& m) {
  auto drawn = [](Tensor (*draw)(const Shape&, double, double, RandomKey, DType)) {
    return [draw](const DimsArg& s, double a, double b, std::optional<Key> key, const DTypeArg& t) {
      return draw(s.dims(), a, b, key ? key_of(*key) : generator().next(), dtype_of(t));
    };
  };
  nb::class_<Tensor> tensor = nb::borrow<nb::class_<Tensor>>(m.attr("Tensor"));
  tensor.def(
      "to", [](const Tensor& x, const DTypeArg& dtype) { return x.to(dtype_of(dtype)); }, "dtype"_a,
      "Converted; itself when it has the dtype.");
  m.def("seed", &seed, "value"_a, "Sets the generator that initial values and dropout draw from.");
  m.def(
      "next_key",
      [] {
        const RandomKey k = generator().next();
        return Key(k.seed, k.stream);
      },
      "The next stream of the generator, a key for dropout, normal and uniform.");
  m.def(
      "_set_key", [](const Key& k) { generator().set_state(k.first, k.second); }, "key"_a);
  using Make = Tensor (*)(const Shape&, DType);
  for (auto [name, make] :
       {std::pair<const char*, Make>("empty", &empty), {"zeros", &zeros}, {"ones", &ones}})
    m.def(
        name,
        [make = make](const DimsArg& s, const DTypeArg& t) { return make(s.dims(), dtype_of(t)); },
        "shape"_a, "dtype"_a = "float32");
  m.def(
      "full",
      [](const DimsArg& s, double v, const DTypeArg& t) { return full(s.dims(), v, dtype_of(t)); },
      "shape"_a, "value"_a, "dtype"_a = "float32");
  m.def(
      "arange",
      [](double a, double b, double step, const DTypeArg& t) {
        return arange(a, b, step, dtype_of(t));
      },
      "start"_a, "stop"_a, "step"_a = 1, "dtype"_a = "int64");
  m.def(
      "eye", [](Index n, const DTypeArg& t) { return eye(n, dtype_of(t)); }, "n"_a,
      "dtype"_a = "float32");
  m.def("normal", drawn(&normal), "shape"_a, "mean"_a = 0, "deviation"_a = 1, "key"_a = nb::none(),
        "dtype"_a = "float32",
        "Normal numbers: of the stream `key`, a pair (seed, stream), or of the next one.");
  m.def("uniform", drawn(&uniform), "shape"_a, "low"_a = 0, "high"_a = 1, "key"_a = nb::none(),
        "dtype"_a = "float32",
        "Uniform numbers: of the stream `key`, a pair (seed, stream), or of the next one.");
  m.def("num_threads", &num_threads);
  m.def("set_num_threads", &set_num_threads, "n"_a);
  m.def("get_float32_matmul_precision", [] { return name_of(float32_matmul_precision()); });
  m.def(
      "set_float32_matmul_precision",
      [](std::string_view name) { set_float32_matmul_precision(matmul_precision_of(name)); },
      "precision"_a, "\"highest\", or \"medium\": operands of products are rounded to bfloat16.");
}

}  // namespace glim::python

// Arguments of ops as Python hands them over: a Var, a Tensor, an array, a number; and the line of the call.
#pragma once

#include <exception>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "autograd/ops.hpp"
#include "autograd/scope.hpp"
#include "tensor/interrupt.hpp"
#include "tensor/parallel.hpp"
#include "tools/python/arrays.hpp"

namespace glim {
class Module;
}

namespace glim::python {

// TypeError naming the argument if a tape records and v needs a gradient, which it would lose.
void require_constant(const Var& v, std::string_view name);

// A Var, or a value that becomes a constant: a Tensor, an array, a number. None is an undefined Var. Others are refused
// when the op asks for them, under the name of the argument.
class Arg {
 public:
  // False for a number that another overload may take, unless `numbers`.
  bool take(nb::handle x, bool numbers) noexcept;
  // The value, for what has a gradient.
  const Var& operator()(std::string_view name) const {
    if (array_.is_valid()) convert(name);
    return *var_;
  }
  // The value, for what has none: it must not need one. Integers of any width are int64, and memory that others may
  // write to is copied, as backward may read it later.
  Tensor constant(std::string_view name) const;
  // The targets of a loss: distributions, which may need a gradient, or integers of any width.
  const Var& target(std::string_view name) const;
  bool given() const { return array_.is_valid() || var_->defined(); }
  bool number() const { return array_.is_valid() && is_number(array_); }
  bool is_var() const { return !array_.is_valid() && var_ != &value_; }
  void convert_to(DType dtype) const;  // of a number
  // Converts a number, an array or a Tensor to a floating dtype. A Var stays.
  void convert_values(DType dtype, std::string_view name) const;
  Arg() = default;
  Arg(const Arg& o) { *this = o; }
  Arg& operator=(const Arg& o) {
    value_ = o.value_;
    array_ = o.array_;
    var_ = o.var_ == &o.value_ ? &value_ : o.var_;
    return *this;
  }

 private:
  void convert(std::string_view name) const;
  const Var* var_ = &value_;
  mutable Var value_;
  mutable nb::object array_;  // until it is converted
};

// A shape or axes: a number or a sequence of numbers.
struct DimsArg {
  Dims list;
  bool is_bool = false;
  const Dims& dims() const {
    if (is_bool)
      throw nb::type_error("an axis is a bool, expected an int; keepdims=True keeps the axes");
    return list;
  }
};
// None or an AttentionMask.
struct MaskArg {
  AttentionMask value;
  const AttentionMask& mask() const { return value; }
};
struct NamedArg {
  const Arg& arg;
  const char* name;
};
// Numbers, arrays and Tensors among the arguments of an op get the dtype of the first floating Var. Without such a
// Var, numbers get the dtype of the first array.
void convert_numbers(std::initializer_list<NamedArg> args);
// The dtype of the module's first parameter.
std::optional<DType> dtype_of(const Module& module);
// Numbers, arrays and Tensors get the dtype of the module.
void convert_for(const Module& module, std::initializer_list<NamedArg> args);
// A dtype by its name, or NumPy's: "float64", np.float64, float.
struct DTypeArg {
  std::string name;
};
using Key = std::pair<std::uint64_t, std::uint64_t>;  // a stream of random numbers: (seed, stream)
inline RandomKey key_of(const Key& key) { return {key.first, key.second}; }
// TypeError for an unknown keyword argument. It names the word to type. A keyword that is None is ignored, because NumPy's
// functions pass such ones.
void refuse_words(const std::string& op, nb::kwargs words);
std::vector<Var> vars_of(const std::vector<Arg>& list);
// TypeError for one Var in place of a list of them, which would be read row by row.
void require_list(nb::handle list, const char* name);
DType dtype_of(const DTypeArg& dtype);                    // DTypeError for an unknown name
std::vector<Var> parts_of(const std::vector<Arg>& list);  // of one dtype, as convert_numbers has it
// The result of a Python function: a number is one element. With a dtype, values are converted to it.
Var var_of(nb::handle x, std::string_view name, std::optional<DType> dtype = {});

// The line of Python that is running, outside the package itself.
Where user_line();
// Within the block, nodes are recorded in the module of this name, at a line of a file that Python is not in.
class NamedPart {
 public:
  NamedPart(const std::string& name, const std::string& file, int line);
  ~NamedPart();
  NamedPart(const NamedPart&) = delete;
  NamedPart& operator=(const NamedPart&) = delete;

 private:
  Scope scope_;
  Where before_;
};

inline Var result_of(Var v) { return v; }
inline Tensor result_of(Tensor v) { return v; }
inline std::vector<Var> result_of(std::vector<Var> v) { return v; }
nb::object result_of(OrderedVar v);       // (values, indices)
nb::object result_of(AttentionResult v);  // (context, probs), probs None unless asked for
nb::object result_of(MeasuredLoss v);     // (loss, sums), sums a dict

// A comment and the op's formula; lives for ever.
const char* doc_of(const char* op, const char* comment);

// Until the end of the block Ctrl-C ends what computes, as a KeyboardInterrupt.
class UntilCtrlC {
 public:
  UntilCtrlC();
  ~UntilCtrlC();
  UntilCtrlC(const UntilCtrlC&) = delete;
  UntilCtrlC& operator=(const UntilCtrlC&) = delete;

 private:
  Interruptible until_stop_;
};

nb::object array_or_none(const Tensor& x);
void bind_vars(nb::module_& m);
void bind_tape(nb::module_& m);
void bind_capture(nb::module_& m);
void bind_random(nb::module_& m);

}  // namespace glim::python

namespace nanobind::detail {

template <>
struct type_caster<glim::python::Arg> {
  NB_TYPE_CASTER(glim::python::Arg, const_name("Var | Tensor | numpy.typing.ArrayLike | float"))
  bool from_python(handle src, std::uint32_t flags, cleanup_list*) noexcept {
    return value.take(src, flags & cast_flags::convert);
  }
  static handle from_cpp(const glim::python::Arg&, rv_policy, cleanup_list*) noexcept {
    return none().release();
  }
};
template <>
struct type_caster<glim::python::DimsArg> {
  NB_TYPE_CASTER(glim::python::DimsArg, const_name("int | Sequence[int]"))
  bool from_python(handle src, std::uint32_t flags, cleanup_list* cleanup) noexcept;
  static handle from_cpp(const glim::python::DimsArg&, rv_policy, cleanup_list*) noexcept {
    return none().release();
  }
};
template <>
struct type_caster<glim::python::DTypeArg> {
  NB_TYPE_CASTER(glim::python::DTypeArg, const_name("numpy.typing.DTypeLike"))
  bool from_python(handle src, std::uint32_t, cleanup_list*) noexcept;
  static handle from_cpp(const glim::python::DTypeArg&, rv_policy, cleanup_list*) noexcept {
    return none().release();
  }
};
template <>
struct type_caster<glim::python::MaskArg> {
  NB_TYPE_CASTER(glim::python::MaskArg, const_name("AttentionMask | None"))
  bool from_python(handle src, std::uint32_t flags, cleanup_list* cleanup) noexcept;
  static handle from_cpp(const glim::python::MaskArg&, rv_policy, cleanup_list*) noexcept {
    return none().release();
  }
};

}  // namespace nanobind::detail

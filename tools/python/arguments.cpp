#include <atomic>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "autograd/formula.hpp"
#include "nn/module.hpp"
#include "tensor/system/process.hpp"
#include "tools/python/vars.hpp"

namespace glim::python {
namespace {

// Names that live for ever, as a Where needs them.
const char* interned(std::string text) {
  static std::set<std::string>* all = new std::set<std::string>;
  return all->insert(std::move(text)).first->c_str();
}

// The file of a code object, or null for one of the package itself. A code object that is remembered is kept alive, so
// that no other gets its address.
const char* file_of(PyObject* code) {
  static auto* known = new std::unordered_map<PyObject*, const char*>;
  static const std::string package = nb::cast<std::string>(nb::module_::import_("os.path").attr(
      "join")(nb::module_::import_("os.path").attr("dirname")(
                  nb::module_::import_("glim").attr("__file__")),
              ""));
  if (auto entry = known->find(code); entry != known->end()) return entry->second;
  if (known->size() > 4096) {  // code that is made again and again
    for (auto& entry : *known) Py_DECREF(entry.first);
    known->clear();
  }
  std::string file = nb::cast<std::string>(nb::handle(code).attr("co_filename"));
  Py_INCREF(code);
  return (*known)[code] = file.starts_with(package) ? nullptr : interned(std::move(file));
}

thread_local Where given_line;  // by the innermost NamedPart that has one

std::atomic<bool> interrupted{false};
int depth = 0;  // of UntilCtrlC

}  // namespace

nb::object widened(nb::object x, std::string_view name) {
  require_plain(x, name);
  const nb::object as_array = nb::module_::import_("numpy").attr("asarray");
  if (is_number(x)) x = as_array(x);
  if (!nb::hasattr(x, "dtype")) {
    PyObject* view = PyMemoryView_FromObject(x.ptr());
    if (!view) return PyErr_Clear(), x;
    x = as_array(nb::steal(view));
  }
  const nb::object type = x.attr("dtype");
  const std::string dtype = text_of(nb::getattr(type, "name", type));  // NumPy's has one
  const bool is_unsigned = dtype.find("uint") != std::string::npos;
  if (dtype.find("int") == std::string::npos || (dtype.ends_with("int64") && !is_unsigned))
    return x;
  const nb::object wide = as_array(x).attr("astype")("int64");
  if (is_unsigned && nb::cast<bool>(nb::bool_(wide.attr("__lt__")(0).attr("any")())))
    throw IndexError(name, "an integer is beyond 64 bits");
  return wide;
}

bool recording() { return Tape::open() != nullptr; }

bool is_number(nb::handle x) noexcept {
  if (PyFloat_Check(x.ptr()) || PyLong_Check(x.ptr())) return true;
  try {
    return nb::isinstance(x, numpy_class(NumpyClass::Scalar)) &&
           nb::cast<std::string_view>(x.attr("dtype").attr("kind")).find_first_of("biuf") == 0;
  } catch (...) {
    PyErr_Clear();
    return false;
  }
}

bool number_of(nb::handle x, double& value) noexcept {
  try {
    const Var* v = nullptr;
    if (nb::try_cast<const Var*>(x, v) && v)
      require_constant(*v, "");
    else
      require_plain(x, "");
    value = PyFloat_AsDouble(x.ptr());
    if (!PyErr_Occurred()) return true;
  } catch (...) {
  }
  PyErr_Clear();
  return false;
}

void require_constant(const Var& v, std::string_view name) {
  if (Tape::current() && v.defined() && is_floating(v.dtype()) && v.requires_grad())
    throw nb::type_error((std::string(name) + " needs a gradient, and gets none here: pass " +
                          std::string(name) + ".detach() if it is a constant")
                             .c_str());
}

bool Arg::take(nb::handle x, bool numbers) noexcept {
  array_.reset();
  if (nb::inst_check(x)) {
    const Var* v = nullptr;
    if (nb::try_cast<const Var*>(x, v) && v) {
      var_ = v;
      return true;
    }
    if (const Tensor* t = nullptr; nb::try_cast<const Tensor*>(x, t) && t) {
      value_ = Var(*t);
      var_ = &value_;
      return true;
    }
  }
  if (!numbers && is_number(x)) return false;
  value_ = Var();
  var_ = &value_;
  if (!x.is_none()) array_ = nb::borrow(x);
  return true;
}

// A number is float32, as glim.tensor has it, unless NumPy gave it a dtype.
void Arg::convert(std::string_view name) const {
  if (PyFloat_CheckExact(array_.ptr())) return convert_to(DType::Float32);
  value_ = Var(tensor_of(number() ? widened(array_, name) : array_, name));
  array_.reset();
}

void Arg::convert_to(DType dtype) const {
  const double value = nb::cast<double>(array_);
  if (!is_floating(dtype) && value != std::floor(value)) dtype = DType::Float32;  // the op refuses
  value_ = dtype == DType::Int64 && PyLong_Check(array_.ptr())
               ? Var(from_vector<Index>({nb::cast<Index>(array_)}, {}))
               : Var(scalar(value, dtype));
  array_.reset();
}

Tensor Arg::constant(std::string_view name) const {
  if (array_.is_valid()) array_ = widened(array_, name);
  const Var& v = (*this)(name);
  require_constant(v, name);
  return v.value().storage().shared() ? v.value().clone() : v.value();
}

const Var& Arg::target(std::string_view name) const {
  if (array_.is_valid()) array_ = widened(array_, name);
  return (*this)(name);
}

void Arg::convert_values(DType dtype, std::string_view name) const {
  if (!given() || is_var()) return;
  if (number()) return convert_to(dtype);
  if (array_.is_valid()) array_ = widened(array_, name);
  value_ = Var((*this)(name).value().to(dtype));
}

namespace {

std::optional<DType> dtype_of_var(std::initializer_list<NamedArg> args) {
  for (const auto& [arg, name] : args)
    if (arg.is_var() && is_floating(arg(name).dtype())) return arg(name).dtype();
  return {};
}

}  // namespace

void convert_numbers(std::initializer_list<NamedArg> args) {
  std::optional<DType> dtype = dtype_of_var(args);
  if (dtype) {
    for (const auto& [arg, name] : args) arg.convert_values(*dtype, name);
    return;
  }
  for (const auto& [arg, name] : args)
    if (arg.given() && !arg.number() && !dtype) dtype = arg(name).dtype();
  for (const auto& [arg, name] : args)
    if (arg.number() && dtype) arg.convert_to(*dtype);
}

std::optional<DType> dtype_of(const Module& module) {
  const std::vector<Var> parameters = module.parameters();
  return parameters.empty() ? std::nullopt : std::optional(parameters[0].dtype());
}

void convert_for(const Module& module, std::initializer_list<NamedArg> args) {
  std::optional<DType> dtype;
  for (const auto& [arg, name] : args)
    if (arg.given() && !arg.is_var() && (dtype || (dtype = dtype_of(module))))
      arg.convert_values(*dtype, name);
}

Var var_of(nb::handle x, std::string_view name, std::optional<DType> dtype) {
  Arg argument;
  argument.take(x, true);
  if (dtype) argument.convert_values(*dtype, name);
  return argument(name);
}

NamedPart::NamedPart(const std::string& name, const std::string& file, int line)
    : scope_(name), before_(given_line) {
  if (line > 0) given_line = Where::current(interned(file), line);
}
NamedPart::~NamedPart() { given_line = before_; }

Where user_line() {
  if (given_line.line() > 0) return given_line;
  nb::object frame = nb::borrow(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (frame.is_valid() && !frame.is_none()) {
    auto* f = reinterpret_cast<PyFrameObject*>(frame.ptr());
    nb::object code = nb::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(f)));
    if (const char* file = file_of(code.ptr()))
      return Where::current(file, PyFrame_GetLineNumber(f));
    frame = frame.attr("f_back");
  }
  return Where::current("", 0);
}

std::vector<Var> vars_of(const std::vector<Arg>& list) {
  std::vector<Var> all;
  for (std::size_t k = 0; k < list.size(); ++k)
    all.push_back(list[k]("input " + std::to_string(k)));
  return all;
}

void require_list(nb::handle list, const char* name) {
  if (nb::isinstance<Var>(list))
    throw nb::type_error((std::string(name) + " is a list of Vars: [x]").c_str());
}

void refuse_words(const std::string& op, nb::kwargs words) {
  static const std::map<std::string, const char*> kNames = {
      {"dim", "axis"}, {"axes", "axis"}, {"keepdim", "keepdims"}, {"ddof", "correction"}};
  for (auto [key, value] : words) {
    const std::string word = nb::cast<std::string>(key);
    if (value.is_none()) continue;
    const auto known = kNames.find(word);
    throw nb::type_error(
        (op + ": unknown argument '" + word + "'" +
         (known == kNames.end() ? ": help(glim." + op + ") names them"
                                : "; it is called '" + std::string(known->second) + "'"))
            .c_str());
  }
}

std::vector<Var> parts_of(const std::vector<Arg>& list) {
  for (const Arg& part : list)
    if (part.is_var() && is_floating(part("").dtype())) {
      for (std::size_t k = 0; k < list.size(); ++k)
        list[k].convert_values(part("").dtype(), "input " + std::to_string(k));
      break;
    }
  return vars_of(list);
}

nb::object result_of(OrderedVar v) { return nb::make_tuple(v.values, v.indices); }
nb::object result_of(AttentionResult v) {
  return nb::make_tuple(v.context, v.probs.defined() ? nb::cast(v.probs) : nb::none());
}
nb::object result_of(MeasuredLoss v) {
  nb::dict sums;
  sums["kl"] = v.sums.kl;
  sums["smoothed_ce"] = v.sums.smoothed_ce;
  sums["nll"] = v.sums.nll;
  sums["tokens"] = v.sums.tokens;
  return nb::make_tuple(v.loss, sums);
}

const char* doc_of(const char* op, const char* comment) {
  std::string text = comment;
  if (const Formula* f = formula(op)) {
    text += text.empty() ? "" : "\n\n";
    text += f->value;
    for (std::string_view d : f->gradients)
      if (!d.empty()) text += "\n" + std::string(d);
  }
  return interned(std::move(text));
}

nb::object array_or_none(const Tensor& x) { return x.defined() ? nb::cast(x) : nb::none(); }

UntilCtrlC::UntilCtrlC() : until_stop_(&interrupted) {
  if (depth++ > 0) return;
  interrupted = false;
  watch_interrupt(interrupted);
}
UntilCtrlC::~UntilCtrlC() {
  if (--depth == 0) end_interrupt_watch();
}

}  // namespace glim::python

namespace nanobind::detail {

bool type_caster<glim::python::DimsArg>::from_python(handle src, std::uint32_t flags,
                                                     cleanup_list* cleanup) noexcept {
  value = {.list = {}, .is_bool = glim::python::is_bool(src)};
  if (src.is_none() || value.is_bool) return true;  // None where an argument may be None: no axes
  // A Var as a sequence would record each of its elements.
  if (isinstance<glim::Var>(src)) return false;
  make_caster<glim::Index> one;
  if (one.from_python(src, flags, cleanup)) return value.list.push_back(one.value), true;
  make_caster<std::vector<glim::Index>> sequence;
  if (!sequence.from_python(src, flags, cleanup)) return false;
  if (sequence.value.size() > static_cast<std::size_t>(glim::kMaxRank)) return false;
  value.list = glim::Dims(sequence.value);
  return true;
}

bool type_caster<glim::python::DTypeArg>::from_python(handle src, std::uint32_t,
                                                      cleanup_list*) noexcept {
  try {
    const object type =
        isinstance<str>(src) ? borrow(src) : module_::import_("numpy").attr("dtype")(src);
    value.name = glim::python::text_of(type);
    return true;
  } catch (const python_error&) {
    return false;
  }
}

bool type_caster<glim::python::MaskArg>::from_python(handle src, std::uint32_t,
                                                     cleanup_list*) noexcept {
  value = {};
  if (src.is_none()) return true;
  const glim::AttentionMask* mask = nullptr;
  if (!try_cast<const glim::AttentionMask*>(src, mask) || !mask) return false;
  value.value = *mask;
  return true;
}

}  // namespace nanobind::detail

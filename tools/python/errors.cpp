// Errors as exceptions of Python: each one is a glim.Error, and of the type that a user of Python expects.
#include <exception>
#include <filesystem>
#include <string>
#include <typeinfo>

#include "tensor/interrupt.hpp"
#include "tools/common/ascii.hpp"
#include "tools/python/vars.hpp"

namespace glim::python {
namespace {

PyObject* error_class = nullptr;

// The exception of an Error's class, made once.
template <class E>
PyObject*& exception_of() {
  static PyObject* type = nullptr;
  return type;
}

template <class E>
void add(nb::module_& m, const char* name, PyObject* base, const char* doc) {
  PyObject* bases = PyTuple_Pack(2, error_class, base);
  exception_of<E>() =
      PyErr_NewExceptionWithDoc((std::string("glim.") + name).c_str(), doc, bases, nullptr);
  Py_XDECREF(bases);
  if (!exception_of<E>()) throw nb::python_error();
  m.attr(name) = nb::handle(exception_of<E>());
}

// --remove-head is remove_head in Python.
std::string with_python_names(std::string text) {
  for (std::size_t k = 0; (k = text.find("--", k)) != text.npos;) {
    const bool option = (k == 0 || !is_letter_or_digit(text[k - 1])) && k + 2 < text.size() &&
                        is_lower(text[k + 2]);
    if (!option) {
      k += 2;
      continue;
    }
    text.erase(k, 2);
    for (; k < text.size() && (is_letter_or_digit(text[k]) || text[k] == '-'); ++k)
      if (text[k] == '-') text[k] = '_';
  }
  return text;
}

template <class... E>
void raise_as(const Error& error) {
  PyObject* type = error_class;
  ((dynamic_cast<const E*>(&error) ? void(type = exception_of<E>()) : void()), ...);
  std::string text = with_python_names(error.what());
  if (dynamic_cast<const DTypeError*>(&error) && text.find(") float32") != std::string::npos &&
      text.find(") float64") != std::string::npos)
    text +=
        "\n  float32 and float64 differ: make the leaf of array.astype(\"float32\"), or call "
        "layer.to(\"float64\")";
  if (const Where line = user_line();
      line.line() && text.find(to_string(line)) == std::string::npos)
    text += "\n  called at " + to_string(line);
  PyErr_SetString(type, text.c_str());
}

}  // namespace

void bind_errors(nb::module_& m) {
  error_class = PyErr_NewExceptionWithDoc(
      "glim.Error", "An error of Glim; the message says what is wrong, where, and what to do.",
      nullptr, nullptr);
  if (!error_class) throw nb::python_error();
  m.attr("Error") = nb::handle(error_class);
  add<ShapeError>(m, "ShapeError", PyExc_ValueError,
                  "Shapes that do not fit each other or the op.");
  add<DTypeError>(m, "DTypeError", PyExc_TypeError, "An element type that the op does not take.");
  add<IndexError>(m, "IndexError", PyExc_IndexError,
                  "An axis, position or class outside its range.");
  add<ValueError>(m, "ValueError", PyExc_ValueError, "An argument outside its domain.");
  add<FileError>(m, "FileError", PyExc_OSError,
                 "A file that cannot be read, written or understood.");
  add<MemoryError>(m, "MemoryError", PyExc_MemoryError, "The system refused memory.");
  add<NonFiniteError>(m, "NonFiniteError", PyExc_ArithmeticError,
                      "NaN or infinity where a finite number is required.");
  add<StateError>(m, "StateError", PyExc_RuntimeError, "A call in the wrong order.");
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      raise_as<ShapeError, DTypeError, IndexError, ValueError, FileError, MemoryError,
               NonFiniteError, StateError>(error);
    } catch (const std::filesystem::filesystem_error& e) {
      raise_as<FileError>(FileError(e.path1().string(), e.code().message()));
    } catch (const std::bad_cast&) {
      PyErr_SetString(PyExc_TypeError,
                      "an argument has a type that the function does not take; help() lists them");
    } catch (const Interrupted&) {
      if (PyErr_CheckSignals() == 0) PyErr_SetNone(PyExc_KeyboardInterrupt);
    }
  });
}

}  // namespace glim::python

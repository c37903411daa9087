// Calls between Python and C++, and the lock of the interpreter.
//
// At Python's exit a daemon thread that asks for the lock gets it no more. Until 3.13 Python ends such a thread by
// pthread_exit, which unwinds the stack by force; frames of C++ that are noexcept or catch everything end the program
// then. From 3.14 on it sleeps for ever, and so do threads here.
#pragma once

#include <chrono>
#include <cstring>
#include <cxxabi.h>
#include <nanobind/nanobind.h>
#include <thread>

namespace glim::python {

namespace nb = nanobind;

[[noreturn]] inline void sleep_for_ever() {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

// f(), which may run Python.
template <class F>
auto until_exit(const F& f) -> decltype(f()) {
#ifdef __GLIBCXX__
  try {
    return f();
  } catch (abi::__forced_unwind&) {
    sleep_for_ever();
  }
#else
  return f();
#endif
}

// While a function of Python runs in an op, a region or a hook: no tape from before may end, and its own ones end with it.
class WithinCall {
 public:
  WithinCall();
  ~WithinCall();
};

// A user's function, called with the lock held.
template <class F>
nb::object call_python(const F& f) {
  try {
    return until_exit(f);
  } catch (nb::python_error& e) {
    if (e.matches(PyExc_ValueError) && std::strstr(e.what(), "read-only"))
      nb::raise_from(e, PyExc_ValueError,
                     "the array is read-only, as others share its memory: write to a copy, such as "
                     "dy.numpy().copy()");
    throw;
  }
}

// The lock, for a thread that may not have it; false once Python has ended.
class Lock {
 public:
  Lock() : held_(Py_IsInitialized()) {
    if (held_) state_ = until_exit([] { return PyGILState_Ensure(); });
  }
  ~Lock() {
    if (held_) PyGILState_Release(state_);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  explicit operator bool() const { return held_; }

 private:
  bool held_;
  PyGILState_STATE state_{};
};

// A user's function, called from a pass that runs without the lock.
template <class F>
auto call_back(const F& f) {
  Lock lock;
  if (!lock) sleep_for_ever();
  WithinCall call;
  return f();
}

// Lets other threads of Python run until the end of the block.
class Unlocked {
 public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  ~Unlocked() {
    if (!Py_IsInitialized()) sleep_for_ever();
    until_exit([this] { PyEval_RestoreThread(state_); });
  }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* state_;
};

}  // namespace glim::python

// _glim: the core of Glim as a module of Python. The package `glim` beside it is what users import.
#include "tools/python/arrays.hpp"

NB_MODULE(_glim, m) {
  using namespace glim::python;
  bind_errors(m);
  bind_tensor(m);
  bind_gradcheck(m);
}

// _glim: the core of Glim as a module of Python. The package `glim` beside it is what users import.
#include "tensor/io/atomic_file.hpp"
#include "tensor/system/threads.hpp"
#include "tools/python/modules.hpp"

NB_MODULE(_glim, m) {
  using namespace glim::python;
  // At the end the objects of daemon threads are still there, which is no leak.
  nanobind::set_leak_warnings(false);
  bind_errors(m);
  bind_tensor(m);
  bind_random(m);
  bind_vars(m);
  bind_tape(m);
  bind_capture(m);
  bind_modules(m);
  bind_layers(m);
  bind_models(m);
  bind_optimizers(m);
  bind_own_ops(m);
  bind_trace(m);
  bind_curvature(m);
  bind_gradcheck(m);
  m.def("_write_file", [](const std::string& path, const std::string& text) {
    glim::write_file_atomically(path, text);
  });
#if GLIM_PIPELINE
  bind_pipeline(m);
#endif
#if GLIM_STUDY
  bind_study(m);
#endif
  // Threads do not survive a fork: the child computes alone, to the same bits.
  glim::on_fork([] { glim::set_num_threads(1); });
}

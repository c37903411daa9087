// Which GEMM computes large products, and how float32 operands of products are read (plan.hpp).
#include <atomic>
#include <cstdlib>

#include "tensor/error.hpp"
#include "tensor/matmul/blas.hpp"

namespace glim {

std::string_view name_of(GemmEngine engine) {
  return engine == GemmEngine::Builtin ? "builtin" : "openblas";
}

GemmEngine choose_gemm_engine(const char* name) {
  std::string_view word = name ? name : "builtin";
  for (GemmEngine p : {GemmEngine::Builtin, GemmEngine::OpenBlas})
    if (word == name_of(p)) return p;
  throw ValueError("GLIM_GEMM", "'" + std::string(word) + "' is not one of builtin, openblas");
}

namespace {
// OpenBLAS is loaded here, so that its errors come at once and not in the middle of a run.
GemmEngine loaded(GemmEngine engine) {
  if (engine == GemmEngine::OpenBlas) blas_info();
  return engine;
}
std::atomic<GemmEngine>& chosen_engine() {
  static std::atomic<GemmEngine> engine = loaded(choose_gemm_engine(std::getenv("GLIM_GEMM")));
  return engine;
}

std::atomic<MatmulPrecision> chosen_precision = MatmulPrecision::Highest;

void require_builtin(GemmEngine engine, MatmulPrecision precision) {
  if (engine == GemmEngine::OpenBlas && precision == MatmulPrecision::Medium)
    throw StateError("float32_matmul_precision", "medium needs the builtin GEMM, not openblas");
}
}  // namespace

GemmEngine gemm_engine() { return chosen_engine().load(std::memory_order_relaxed); }
void use_gemm_engine(GemmEngine engine) {
  require_builtin(engine, chosen_precision);
  chosen_engine() = loaded(engine);
}

std::string_view name_of(MatmulPrecision precision) {
  return precision == MatmulPrecision::Highest ? "highest" : "medium";
}
MatmulPrecision matmul_precision_of(std::string_view name) {
  for (MatmulPrecision p : {MatmulPrecision::Highest, MatmulPrecision::Medium})
    if (name == name_of(p)) return p;
  throw ValueError("float32_matmul_precision",
                   "'" + std::string(name) + "' is not one of highest, medium");
}
MatmulPrecision float32_matmul_precision() {
  return chosen_precision.load(std::memory_order_relaxed);
}
void set_float32_matmul_precision(MatmulPrecision precision) {
  require_builtin(gemm_engine(), precision);
  if (precision == MatmulPrecision::Medium) require_bfloat16();
  chosen_precision = precision;
}
void require_highest_precision(std::string_view op) {
  if (float32_matmul_precision() != MatmulPrecision::Highest)
    throw StateError(std::string(op),
                     "products of float32 are rounded to bfloat16: "
                     "set_float32_matmul_precision(\"highest\") first, or check in float64");
}

}  // namespace glim

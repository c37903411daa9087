// glim doctor: what this machine offers, what Glim makes of it, and what to change.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <memory>
#include <optional>

#include "tensor/isa.hpp"
#include "tensor/kernels_rows.hpp"
#include "tensor/matmul.hpp"
#include "tensor/parallel.hpp"
#include "tensor/random.hpp"
#include "tools/cli/machine.hpp"
#include "tools/verbs/verbs.hpp"

namespace glim {
namespace {

// Best rate of products of two n × n float32 matrices within about `seconds`.
double measure_gflops(double seconds, Tensor (*product)(const Tensor&, const Tensor&)) {
  using Clock = std::chrono::steady_clock;
  constexpr Index n = 1024;
  Tensor a = uniform({n, n}, -1, 1, {1, 1}), b = uniform({n, n}, -1, 1, {1, 2});
  double best = 0;
  auto start = Clock::now();
  auto elapsed = [](Clock::time_point t) {
    return std::chrono::duration<double>(Clock::now() - t).count();
  };
  for (int i = 0; i < 3 || elapsed(start) < seconds; ++i) {
    auto t = Clock::now();
    product(a, b);
    best = std::max(best, 2.0 * n * n * n / elapsed(t) * 1e-9);
  }
  return best;
}

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  return value && *value ? std::optional<std::string>(value) : std::nullopt;
}

// OpenBLAS chooses its kernels when it is loaded, so another process has to measure.
std::optional<double> measure_without_pin() {
  std::unique_ptr<FILE, int (*)(FILE*)> child(
      ::popen("exec env -u OPENBLAS_CORETYPE \"/proc/$PPID/exe\" doctor --measure 2>/dev/null",
              "r"),
      ::pclose);
  double gflops = 0;
  if (!child || std::fscanf(child.get(), "%lf", &gflops) != 1) return std::nullopt;
  return gflops;
}

Runtime inspect_runtime() {
  Runtime r;
  BlasInfo blas = blas_info();
  r.blas_config = blas.config;
  r.blas_core = blas.core;
  r.blas_parallel = blas.parallel;
  r.threads = num_threads();
  r.core_variable = environment("OPENBLAS_CORETYPE");
  r.threads_variable = environment("OMP_NUM_THREADS");
#if !defined(__OPTIMIZE__)
  r.optimized = false;
#endif
#if defined(__SANITIZE_ADDRESS__)
  r.sanitized = true;
#endif
  r.gflops = measure_gflops(0.3, blas_matmul);
  return r;
}

std::string gibibytes(std::int64_t bytes) {
  return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1 << 30));
}

std::string features_line(const std::set<std::string>& features) {
  std::string line;
  for (const char* name : {"sse4_2", "avx", "avx2", "fma", "avx512f", "avx512bw", "avx512vl",
                           "avx512_vnni", "avx512_bf16", "amx_tile"})
    if (features.contains(name)) line += (line.empty() ? "" : " ") + std::string(name);
  return line.empty() ? "none known" : line;
}

void print_row(std::string_view name, std::string_view value) {
  print(fmt::format("{:<16}{}\n", name, value));
}

void run_doctor(bool measure_only) {
  if (measure_only) return print_line(fmt::format("{:.1f}", measure_gflops(0.3, blas_matmul)));
  Machine m = inspect_machine();
  Runtime r = inspect_runtime();
  double own_gflops = measure_gflops(0.3, matmul);
  auto variable = [](const char* name, const std::optional<std::string>& value) {
    return value ? fmt::format(" ({}={})", name, *value) : std::string();
  };
  print_row("CPU", m.cpu.empty() ? "unknown" : m.cpu);
  print_row("  has", features_line(m.features));
  print_row("cores", fmt::format("{}; {} processor{} usable, load {:.1f}",
                                 m.cores > 0 ? std::to_string(m.cores) : "unknown", m.processors,
                                 m.processors == 1 ? "" : "s", m.load));
  print_row("threads", std::to_string(r.threads) + variable("OMP_NUM_THREADS", r.threads_variable));
  std::string waiting;
  for (const char* name : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"})
    if (auto value = environment(name))
      waiting += fmt::format("{}{}={}", waiting.empty() ? "" : " ", name, *value);
  print_row("  waiting", waiting.empty() ? "as OpenMP does" : waiting);
  print_row("memory", fmt::format("{}, {} free; transparent huge pages: {}",
                                  gibibytes(m.memory_bytes), gibibytes(m.available_bytes),
                                  m.huge_pages.empty() ? "unknown" : m.huge_pages));
  print_row("BLAS", r.blas_config);
  print_row("  kernels", r.blas_core + variable("OPENBLAS_CORETYPE", r.core_variable));
  print_row("  threading", r.blas_parallel);
  print_row("  measured",
            fmt::format("{:.0f} GFLOP/s, products of 1024 x 1024 float32 matrices", r.gflops));
  print_row("Glim's kernels",
            std::string(name_of(best_isa())) + variable("GLIM_ISA", environment("GLIM_ISA")));
  print_row("  measured", fmt::format("{:.0f} GFLOP/s, the same products{}", own_gflops,
                                      row_kernels<float>().packed_product ? "" : " (by BLAS)"));
  std::vector<Advice> advice = advise(m, r, measure_without_pin);
  if (advice.empty()) print("\nNothing here makes Glim slow.\n");
  for (const Advice& a : advice)
    print(fmt::format("\nwarning: {}\n remedy: {}\n", a.problem, a.remedy));
}

}  // namespace

Command doctor_command() {
  Command c("doctor", "say what this machine offers, and what makes it slow");
  auto measure = std::make_shared<bool>(false);
  c.option("measure", measure.get(), "print the rate of matrix products alone, in GFLOP/s");
  c.run = [measure](Command&) { run_doctor(*measure); };
  return c;
}

}  // namespace glim

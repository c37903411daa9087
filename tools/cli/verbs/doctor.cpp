// glim doctor: what this machine offers, what Glim makes of it, and what to change.
#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "tensor/clock.hpp"
#include "tensor/matmul/matmul.hpp"
#include "tensor/matmul/plan.hpp"
#include "tensor/parallel.hpp"
#include "tensor/random.hpp"
#include "tensor/simd/isa.hpp"
#include "tensor/system/process.hpp"
#include "tools/cli/verbs.hpp"
#include "tools/common/counted.hpp"
#include "tools/common/machine.hpp"

namespace glim {
namespace {

// GFLOP/s of products of two n × n float32 matrices, in turn for about that many seconds: medians.
struct Rates {
  double builtin, openblas;
};

Index side() { return best_isa() == Isa::Baseline ? 256 : 1024; }

Rates measure_gemm(double seconds, bool with_openblas) {
  const Index n = side();
  Tensor a = uniform({n, n}, -1, 1, {1, 1}), b = uniform({n, n}, -1, 1, {1, 2});
  std::vector<double> builtin, openblas;
  auto once = [&](GemmEngine large, std::vector<double>& rates) {
    double start = seconds_now();
    matmul_by(large, a, b);
    rates.push_back(2.0 * static_cast<double>(n * n * n) / (seconds_now() - start) * 1e-9);
  };
  for (double end = seconds_now() + seconds; builtin.size() < 3 || seconds_now() < end;) {
    once(GemmEngine::Builtin, builtin);
    if (with_openblas) once(GemmEngine::OpenBlas, openblas);
  }
  auto median = [](std::vector<double>& x) {
    if (x.empty()) return 0.0;
    std::sort(x.begin(), x.end());
    return x[x.size() / 2];
  };
  return {median(builtin), median(openblas)};
}

Runtime inspect_runtime() {
  Runtime r;
  try {
    r.blas = blas_info();
  } catch (const Error& e) {
    r.blas.config = "none: " + e.one_line();
  }
  r.threads = num_threads();
  r.threads_variable = environment("OMP_NUM_THREADS");
#if !defined(__OPTIMIZE__)
  r.optimized = false;
#endif
#if defined(__SANITIZE_ADDRESS__)
  r.sanitized = true;
#endif
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

// The instruction set that computes products with --matmul-precision medium.
std::string bfloat16_gemm() {
  if (amx() == Amx::Used) return "amx";
  return std::string(name_of(best_isa())) +
         (amx() == Amx::Refused ? ", as the system refuses AMX" : "");
}

void print_row(std::string_view name, std::string_view value) {
  print(fmt::format("{:<16}{}\n", name, value));
}

nlohmann::ordered_json doctor_json(const Machine& m, const Runtime& r, const Rates& rates,
                                   const std::vector<Advice>& advice) {
  nlohmann::ordered_json environment_json = nlohmann::ordered_json::object(), remedies;
  for (const char* name : {"OPENBLAS_CORETYPE", "OMP_NUM_THREADS", "GLIM_ISA", "GLIM_GEMM"})
    if (auto value = environment(name)) environment_json[name] = *value;
  remedies = nlohmann::ordered_json::array();
  for (const Advice& a : advice) remedies.push_back({{"problem", a.problem}, {"remedy", a.remedy}});
  return {{"cpu", m.cpu},
          {"features", m.features},
          {"cores", m.cores},
          {"processors", m.processors},
          {"load", m.load},
          {"threads", r.threads},
          {"memory_bytes", m.memory_bytes},
          {"available_bytes", m.available_bytes},
          {"huge_pages", m.huge_pages},
          {"blas",
           {{"config", r.blas.config}, {"kernels", r.blas.core}, {"threading", r.blas.parallel}}},
          {"kernels", name_of(best_isa())},
          {"gemm", name_of(gemm_engine())},
          {"bfloat16_gemm", bfloat16_gemm()},
          {"builtin_gflops", rates.builtin},
          {"openblas_gflops", rates.openblas},
          {"environment", environment_json},
          {"advice", remedies}};
}

void run_doctor(bool json, bool gemm_given) {
  const GemmEngine engine = gemm_engine();
  Machine m = inspect_machine();
  Runtime r = inspect_runtime();
  Rates rates = measure_gemm(0.6, !r.blas.core.empty());
  std::vector<Advice> advice = advise(m, r);
  if (json) return print_json(doctor_json(m, r, rates, advice));
  auto variable = [](const char* name) {
    const auto value = environment(name);
    return value ? fmt::format(" ({}={})", name, *value) : std::string();
  };
  print_row("CPU", m.cpu.empty() ? "unknown" : m.cpu);
  print_row("  has", features_line(m.features));
  print_row("cores", fmt::format("{}; {} usable, load {:.1f}",
                                 m.cores > 0 ? std::to_string(m.cores) : "unknown",
                                 counted(m.processors, "processor"), m.load));
  print_row("threads", std::to_string(r.threads) + variable("OMP_NUM_THREADS"));
  print_row("memory", fmt::format("{}, {} free; transparent huge pages: {}",
                                  gibibytes(m.memory_bytes), gibibytes(m.available_bytes),
                                  m.huge_pages.empty() ? "unknown" : m.huge_pages));
  print_row("BLAS", r.blas.config);
  if (!r.blas.core.empty()) {
    print_row("  kernels", r.blas.core + variable("OPENBLAS_CORETYPE"));
    print_row("  threading", r.blas.parallel);
  }
  print_row("Glim's kernels", std::string(name_of(best_isa())) + variable("GLIM_ISA"));
  print_row("large GEMM",
            std::string(name_of(engine)) + (gemm_given ? " (--gemm)" : variable("GLIM_GEMM")));
  print_row("bfloat16 GEMM", bfloat16_gemm() + variable("GLIM_ISA"));
  print_row("  measured",
            fmt::format("builtin {:.3g}{} GFLOP/s, {} x {} float32 matrices", rates.builtin,
                        rates.openblas > 0 ? fmt::format(", openblas {:.3g}", rates.openblas) : "",
                        side(), side()));
  if (advice.empty()) print("\nNothing here makes Glim slow.\n");
  for (const Advice& a : advice)
    print(fmt::format("\nwarning: {}\n remedy: {}\n", a.problem, a.remedy));
}

}  // namespace

Command doctor_command() {
  Command c("doctor", "show what this machine offers, and what makes it slow");
  auto json = std::make_shared<bool>(false);
  c.option("json", json.get(), "print one JSON object");
  c.run = [json](Command& command) { run_doctor(*json, command.given("gemm")); };
  return c;
}

}  // namespace glim

// glim_bench: the measurements that tools/bench compares with a peer's (tools/benchmarks/run.py).
#include <cstdlib>
#include <fmt/format.h>

#include "autograd/op_form.hpp"
#include "tensor/error.hpp"
#include "tensor/matmul/blas.hpp"
#include "tensor/matmul/matmul.hpp"
#include "tensor/matmul/plan.hpp"
#include "tensor/parallel.hpp"
#include "tensor/random.hpp"
#include "tensor/simd/isa.hpp"
#include "tensor/system/process.hpp"
#include "tools/benchmarks/measures.hpp"
#include "tools/benchmarks/server.hpp"
#include "tools/cli/command_line.hpp"
#include "tools/common/output.hpp"

namespace {

using namespace glim;
using namespace glim::bench;

void print_machine() {
  BlasInfo blas = blas_info();
  fmt::print(
      "{{\"threads\": {}, \"kernels\": \"{}\", \"blas\": \"{}\", \"coretype\": \"{}\", "
      "\"isa\": \"{}\", \"gemm\": \"{}\"}}\n",
      num_threads(), blas.core, blas.parallel,
      std::getenv("OPENBLAS_CORETYPE") ? std::getenv("OPENBLAS_CORETYPE") : "unset",
      name_of(best_isa()), name_of(gemm_engine()));
}

// A product in float32: "nn" (M, K) (K, N), "nt" (M, K) (N, K)ᵀ, "tn" (K, M)ᵀ (K, N).
Work product(const std::string& order, Index m, Index n, Index k) {
  auto matrix = [](Index rows, Index columns, std::uint64_t stream, bool transposed) {
    return transposed ? transpose(normal({columns, rows}, 0, 1, {1, stream}))
                      : normal({rows, columns}, 0, 1, {1, stream});
  };
  Tensor a = matrix(m, k, 1, order == "tn"), b = matrix(k, n, 2, order == "nt");
  return [a, b] { matmul(a, b); };
}

}  // namespace

int main(int argc, char** argv) {
  if (!glim::prepare_streams()) return 1;
  std::string name = "tiny", recompute = "none", order = "nn", precision = "highest";
  int steps = 10, beam = 1;
  Index batch = 1, m = 4096, n = 4096, k = 4096;
  bool explicit_ops = false;
  std::vector<Command> commands;
  auto command = [&](const char* verb, const char* help, std::function<void()> run) {
    commands.emplace_back(verb, help).run = [run](Command&) { run(); };
  };
  // One that measures a training step or an op.
  auto measured = [&](const char* verb, const char* help, std::function<void(Recompute)> run) {
    command(verb, help, [&, run] {
      set_float32_matmul_precision(matmul_precision_of(precision));
      UseForm use(explicit_ops ? OpForm::Explicit : OpForm::Fused);
      run(kNames<Recompute>.parse("--recompute", recompute));
    });
    Command& c = commands.back();
    c.argument("name", &name, "what to measure");
    c.option("steps", &steps, "steps of a hash", kPositive);
    c.option("explicit", &explicit_ops, "compositions instead of fused ops");
    c.option("recompute", &recompute, "layers that backward runs again");
    c.option("matmul-precision", &precision, "highest, or medium for products of bfloat16");
  };
  command("machine", "kernels and threads", print_machine);
  command("settings", "sizes, as JSON", [] { fmt::print("{}\n", settings_json()); });
  command("ops", "names of single ops", [] {
    for (const std::string& op : op_names()) fmt::print("{}\n", op);
  });
  command("sgemm", "a server: a matrix product", [&] {
    set_float32_matmul_precision(matmul_precision_of(precision));
    serve([&] { return product(order, m, n, k); });
  });
  commands.back().option("order", &order, "which operands are transposed").choices = {"nn", "nt",
                                                                                      "tn"};
  commands.back().option("matmul-precision", &precision, "highest, or medium: of bfloat16");
  commands.back().option("m", &m, "rows", kPositive);
  commands.back().option("n", &n, "columns", kPositive);
  commands.back().option("k", &k, "the inner dimension", kPositive);
  measured("step", "a server: a training step",
           [&](Recompute r) { serve([&] { return training_step(setting(name), r); }); });
  measured("hash", "of the weights after some steps",
           [&](Recompute r) { fmt::print("{}\n", weights_after(setting(name), steps, r)); });
  measured("profile", "time of a step by op, beside what the machine allows",
           [&](Recompute) { print_profile(setting(name), steps); });
  measured("op", "a server: one op", [&](Recompute) { serve([&] { return one_op(name); }); });
  command("decode", "a server: decoding",
          [&] { serve([&] { return decoding(setting(name), batch, beam); }); });
  commands.back().argument("name", &name, "sizes of the model");
  commands.back().option("batch", &batch, "sentences at once", kPositive);
  commands.back().option("beam", &beam, "prefixes kept at each step", kPositive);
  try {
    const About about = {"glim_bench", "0.1.0", "measurements; see tools/bench"};
    if (Command* c = parse_command_line(about, commands, argc, argv)) c->run(*c);
    return 0;
  } catch (const UsageError& e) {
    fmt::print(stderr, "glim_bench: error: {}\n", printable(e.what()));
    return 2;
  } catch (const Error& e) {
    fmt::print(stderr, "glim_bench: error: {}\n", printable(e.one_line()));
    return 1;
  }
}

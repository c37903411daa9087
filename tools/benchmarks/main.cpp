// glim_bench: the measurements that tools/bench compares with a peer's (tools/benchmarks/run.py).
#include <CLI/CLI.hpp>
#include <cstdlib>
#include <fmt/format.h>
#include <memory>

#include "autograd/magnification.hpp"
#include "tensor/error.hpp"
#include "tensor/isa.hpp"
#include "tensor/matmul.hpp"
#include "tensor/parallel.hpp"
#include "tensor/random.hpp"
#include "tools/benchmarks/measures.hpp"
#include "tools/benchmarks/server.hpp"
#include "tools/cli/waiting.hpp"
#include "tools/train/option_names.hpp"

namespace {

using namespace glim;
using namespace glim::bench;

void print_machine() {
  BlasInfo blas = blas_info();
  fmt::print(
      "{{\"threads\": {}, \"kernels\": \"{}\", \"blas\": \"{}\", \"coretype\": \"{}\", "
      "\"isa\": \"{}\"}}\n",
      num_threads(), blas.core, blas.parallel,
      std::getenv("OPENBLAS_CORETYPE") ? std::getenv("OPENBLAS_CORETYPE") : "unset",
      name_of(best_isa()));
}

// C = A B of 4096³ in float32, by Glim or by BLAS: the rate that shares of the peak refer to.
Work product(bool by_blas) {
  Tensor a = normal({4096, 4096}, 0, 1, {1, 1});
  if (by_blas) return [a] { blas_matmul(a, a); };
  return [a] { matmul(a, a); };
}

}  // namespace

int main(int argc, char** argv) {
  wait_briefly(argv);  // as the program that is measured
  CLI::App app("measurements; see tools/bench");
  app.require_subcommand(1);
  std::string name = "tiny";
  int steps = 10, beam = 1;
  Index batch = 1;
  bool explicit_ops = false, by_blas = false;
  std::string recompute = "none";
  auto again = [&] { return kRecomputes.parse("recompute", recompute); };
  auto measured = [&](const char* verb, const char* help) {
    CLI::App* sub = app.add_subcommand(verb, help);
    sub->add_option("name", name, "what to measure");
    sub->add_option("--steps", steps)->check(CLI::PositiveNumber);
    sub->add_flag("--explicit", explicit_ops, "compositions instead of fused ops");
    sub->add_option("--recompute", recompute, "layers that backward runs again");
    return sub;
  };
  app.add_subcommand("machine", "kernels and threads")->callback(print_machine);
  app.add_subcommand("settings", "sizes, as JSON")->callback([] {
    fmt::print("{}\n", settings_json());
  });
  app.add_subcommand("ops", "names of single ops")->callback([] {
    for (const std::string& op : op_names()) fmt::print("{}\n", op);
  });
  app.add_subcommand("overhead", "nanoseconds an op")->callback(print_overhead);
  auto* sgemm = app.add_subcommand("sgemm", "a server: a product of 4096³");
  sgemm->add_flag("--blas", by_blas, "by BLAS");
  sgemm->callback([&] { serve([&] { return product(by_blas); }); });
  auto level = [&] { return explicit_ops ? Magnification::Explicit : Magnification::Fused; };
  measured("step", "a server: a training step")->callback([&] {
    Magnify magnify(level());
    serve([&] { return training_step(setting(name), again()); });
  });
  measured("profile", "a table: where a step's time goes")->callback([&] {
    Magnify magnify(level());
    profile_step(setting(name), steps, again());
  });
  measured("hash", "of the weights after some steps")->callback([&] {
    fmt::print("{}\n", weights_after(setting(name), steps, again()));
  });
  measured("op", "a server: one op")->callback([&] { serve([&] { return one_op(name); }); });
  CLI::App* decode = app.add_subcommand("decode", "a server: decoding");
  std::string decoded = "base";
  decode->add_option("name", decoded, "sizes of the model");
  decode->add_option("--batch", batch);
  decode->add_option("--beam", beam);
  decode->callback([&] { serve([&] { return decoding(setting(decoded), batch, beam); }); });
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::ParseError& e) {
    return app.exit(e);
  } catch (const Error& e) {
    fmt::print(stderr, "glim_bench: error: {}\n", e.one_line());
    return 1;
  }
}

// glim_bench: the measurements that tools/bench compares with a peer's (tools/benchmarks/run.py).
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
#include "tools/cli/command_line.hpp"
#include "tools/cli/output.hpp"
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
  std::string name = "tiny", recompute = "none";
  int steps = 10, beam = 1;
  Index batch = 1;
  bool explicit_ops = false, by_blas = false;
  std::vector<Command> commands;
  auto command = [&](const char* verb, const char* help, std::function<void()> run) {
    commands.emplace_back(verb, help).run = [run](Command&) { run(); };
  };
  // One that measures a training step or an op.
  auto measured = [&](const char* verb, const char* help, std::function<void(Recompute)> run) {
    command(verb, help, [&, run] {
      Magnify magnify(explicit_ops ? Magnification::Explicit : Magnification::Fused);
      run(kRecomputes.parse("recompute", recompute));
    });
    Command& c = commands.back();
    c.argument("name", &name, "what to measure");
    c.option("steps", &steps, "steps of a profile or a hash", kPositive);
    c.option("explicit", &explicit_ops, "compositions instead of fused ops");
    c.option("recompute", &recompute, "layers that backward runs again");
  };
  command("machine", "kernels and threads", print_machine);
  command("settings", "sizes, as JSON", [] { fmt::print("{}\n", settings_json()); });
  command("ops", "names of single ops", [] {
    for (const std::string& op : op_names()) fmt::print("{}\n", op);
  });
  command("overhead", "nanoseconds an op", print_overhead);
  command("sgemm", "a server: a product of 4096³",
          [&] { serve([&] { return product(by_blas); }); });
  commands.back().option("blas", &by_blas, "by BLAS");
  measured("step", "a server: a training step",
           [&](Recompute r) { serve([&] { return training_step(setting(name), r); }); });
  measured("profile", "a table: where a step's time goes",
           [&](Recompute r) { profile_step(setting(name), steps, r); });
  measured("hash", "of the weights after some steps",
           [&](Recompute r) { fmt::print("{}\n", weights_after(setting(name), steps, r)); });
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

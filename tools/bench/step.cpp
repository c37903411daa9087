// Times a training step of the Transformer and shows where the time goes, by op.
//
//   step [configuration ...] [--steps N] [--explicit] [--profile]
//
// A step is forward, loss, backward; random tokens of full length, dropout 0.1, smoothing 0.1. The
// time is the median over N steps after three to warm up. FLOPs are those of the matrix products
// of the layers (2 per multiplication and addition, three times forward), as for PyTorch's models.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fmt/format.h>
#include <map>
#include <string>
#include <vector>

#include "autograd/magnification.hpp"
#include "models/transformer.hpp"
#include "tensor/error.hpp"
#include "tensor/matmul.hpp"
#include "tensor/parallel.hpp"

namespace {

using namespace glim;

struct Setting {
  std::string name;
  Index vocab, d, heads, d_ff, layers, batch, source, target;
};
const std::vector<Setting> kSettings = {
    {"micro", 16, 16, 2, 32, 1, 4, 8, 8},           {"tiny", 10000, 128, 4, 256, 4, 128, 16, 16},
    {"small", 10000, 256, 4, 1024, 3, 128, 16, 16}, {"base", 10000, 512, 8, 2048, 6, 32, 32, 32},
    {"seed", 5000, 512, 8, 2048, 6, 16, 100, 99},
};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Processor time of all threads: what a step costs even while others use the machine.
double processor_now() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Multiplications and additions of one step.
double flops(const Setting& c) {
  auto d = static_cast<double>(c.d), ff = static_cast<double>(c.d_ff);
  auto s = static_cast<double>(c.source), t = static_cast<double>(c.target);
  double n = static_cast<double>(c.layers);
  double encoder = n * s * (4 * d * d + 2 * d * ff + 2 * s * d);
  double decoder = n * (t * (6 * d * d + 2 * d * ff + 2 * t * d + 2 * s * d) + s * 2 * d * d);
  double generator = t * d * static_cast<double>(c.vocab);
  return 6 * static_cast<double>(c.batch) * (encoder + decoder + generator);
}

struct OpTime {
  int count = 0;
  double forward = 0, backward = 0;
};

void run(const Setting& c, int steps, bool profile) {
  seed(1);
  TransformerConfig config;
  config.src_vocab = config.tgt_vocab = c.vocab;
  config.d_model = c.d;
  config.heads = c.heads;
  config.d_ff = c.d_ff;
  config.encoder_layers = config.decoder_layers = c.layers;
  Transformer model(config);
  model.train();
  Tensor source = random_integers({c.batch, c.source}, 3, c.vocab, {2, 0});
  Tensor target = random_integers({c.batch, c.target + 1}, 3, c.vocab, {2, 1});
  Tensor input = target.narrow(1, 0, c.target).contiguous();
  Tensor output = target.narrow(1, 1, c.target).contiguous().reshape({-1});
  double tokens = static_cast<double>(c.batch * c.target);

  std::vector<double> times, processor;
  std::map<std::string, OpTime> ops;
  double loss_value = 0;
  for (int i = 0; i < steps + 3; ++i) {
    for (const Var& p : model.parameters()) p.zero_grad();
    double start = now(), processor_start = processor_now();
    {
      Tape tape({.profile = profile});
      Var logits = model.forward(source, input);  // (B, T, V)
      Var loss =
          mul(label_smoothing_loss(reshape(logits, {-1, c.vocab}), output, 0.1, 0), 1 / tokens);
      logits = {};
      loss_value = loss.item();
      tape.backward(loss);
      if (profile && i >= 3)
        for (const Node& node : tape.nodes()) {
          OpTime& op = ops[std::string(node.name)];
          ++op.count;
          op.forward += node.forward_seconds;
          op.backward += node.backward_seconds;
        }
    }
    if (i < 3) continue;
    times.push_back(now() - start);
    processor.push_back(processor_now() - processor_start);
  }
  std::sort(times.begin(), times.end());
  std::sort(processor.begin(), processor.end());
  double median = times[times.size() / 2];
  AllocatorStats memory = allocator_stats();
  fmt::print(
      "{:<6} {:9.3f} ms  best {:9.3f}  cpu {:9.3f}  {:9.0f} tokens/s  {:6.1f} GFLOP/s  {:7.1f} MB  "
      "loss {:.6f}\n",
      c.name, median * 1e3, times[0] * 1e3, processor[processor.size() / 2] * 1e3, tokens / median,
      flops(c) / median * 1e-9, static_cast<double>(memory.peak_bytes) / 1048576.0, loss_value);
  reset_peak();
  if (!profile) return;
  std::vector<std::pair<std::string, OpTime>> sorted(ops.begin(), ops.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second.forward + a.second.backward > b.second.forward + b.second.backward;
  });
  double known = 0;
  double per = 1e3 / steps;
  fmt::print("  {:<30} {:>6} {:>10} {:>10}\n", "op", "count", "forward ms", "backward ms");
  for (const auto& [name, op] : sorted) {
    if (op.forward + op.backward == 0) continue;
    fmt::print("  {:<30} {:>6} {:>10.3f} {:>10.3f}\n", name, op.count / steps, op.forward * per,
               op.backward * per);
    known += (op.forward + op.backward) * per;
  }
  double total = 0;
  for (double t : times) total += t;
  fmt::print("  {:<30} {:>6} {:>10.3f}\n", "accumulation and the rest", "", total * per - known);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("times a training step of the Transformer");
  std::vector<std::string> names;
  int steps = 10;
  bool explicit_ops = false, profile = false;
  app.add_option("configuration", names, "micro, tiny, small, base, seed; none means all");
  app.add_option("--steps", steps, "steps to time")->check(CLI::PositiveNumber);
  app.add_flag("--explicit", explicit_ops, "record compositions instead of fused ops");
  app.add_flag("--profile", profile, "time of each op");
  CLI11_PARSE(app, argc, argv);
  try {
    BlasInfo blas = blas_info();
    fmt::print("{} threads, {} kernels, {}; {}; OPENBLAS_CORETYPE {}\n", num_threads(), blas.core,
               blas.parallel, explicit_ops ? "explicit" : "fused",
               std::getenv("OPENBLAS_CORETYPE") ? "set" : "unset");
    Magnify level(explicit_ops ? Magnification::Explicit : Magnification::Fused);
    for (const Setting& s : kSettings)
      if (names.empty() || std::find(names.begin(), names.end(), s.name) != names.end())
        run(s, steps, profile);
  } catch (const Error& e) {
    fmt::print(stderr, "glim: error: {}\n", e.one_line());
    return 1;
  }
  return 0;
}

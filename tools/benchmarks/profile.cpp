// Where the time of a training step goes, by op, beside the least time that this machine allows: a roofline.
//
// allowed = max(operations of the op's products ÷ peak, time of a copy that moves as many bytes)
// bytes   = forward reads the operands and writes the output. Backward reads dy and the operands, and writes a
//           gradient for each operand.
// peak    = the rate of a product of 2048³
//
// An op that finds its operands in a cache, or that moves nothing, as a reshape, may take less than is allowed.
#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "autograd/observe/op_times.hpp"
#include "tensor/clock.hpp"
#include "tensor/matmul/matmul.hpp"
#include "tensor/random.hpp"
#include "tools/benchmarks/measures.hpp"

namespace glim::bench {
namespace {

template <class F>
double best_seconds(int runs, const F& run) {
  double best = 1e9;
  for (int i = 0; i < runs; ++i) {
    double start = seconds_now();
    run();
    best = std::min(best, seconds_now() - start);
  }
  return best;
}

double peak() {
  const Index n = 2048;
  Tensor a = normal({n, n}, 0, 1, {1, 1}), b = normal({n, n}, 0, 1, {1, 2});
  return 2.0 * n * n * n / best_seconds(5, [&] { matmul(a, b); });
}

// Seconds of a copy that reads and writes `bytes` together.
double copy_seconds(double bytes) {
  static std::map<Index, double> measured;  // by the floats of a copy, a power of two
  Index floats = 64;
  while (static_cast<double>(floats) * 8 < bytes) floats *= 2;
  auto [entry, first] = measured.try_emplace(floats, 0);
  if (first) {
    Tensor source = zeros({floats}), target = zeros({floats});
    entry->second = best_seconds(9, [&] { target.copy_(source); });
  }
  return entry->second * bytes / (static_cast<double>(floats) * 8);
}

struct Cost {
  double forward = 0, backward = 0, operations = 0, allowed = 0;  // seconds, but for operations
  double lost() const { return forward + backward - allowed; }
};

double bytes_of(const Shape& shape) { return 4 * static_cast<double>(numel_of(shape)); }

// Multiplications and additions of the products in the node's forward pass.
double product_operations(const Node& n, const std::vector<Shape>& in) {
  double outputs = bytes_of(n.shape) / 4;
  if (n.name() == "linear_label_smoothing_loss")  // hidden (N, D), weight (V, D)
    return 2 * bytes_of(in[0]) / 4 * static_cast<double>(in[1][0]);
  if (n.name().find("attention") != std::string_view::npos)  // scores and context; keys are last
    return 4 * outputs * static_cast<double>(in.back()[in.back().rank() - 2]);
  if (n.name().find("linear") != std::string_view::npos ||
      n.name().find("matmul") != std::string_view::npos)
    return 2 * outputs * static_cast<double>(in[0].back());
  return 0;
}

class Roofline {
 public:
  void add(const std::string& what, double forward, double backward, double operations,
           double bytes) {
    for (const std::string& row : {std::string("step"), what}) {
      Cost& c = costs_[row];
      c.forward += forward;
      c.backward += backward;
      c.operations += operations;
      c.allowed += std::max(operations / peak_, copy_seconds(bytes));
    }
  }

  // Returns the seconds of all ops.
  double add(const Tape& tape, const OpTimes& times) {
    double sum = 0;
    int number = 0;
    for (const Node& n : tape.nodes()) {
      Timing time = times.of(number++);
      if (n.leaf) continue;
      std::vector<Shape> in;
      for (int i : n.inputs)
        if (i >= 0) in.push_back(tape.nodes()[i].shape);
      double written = bytes_of(n.shape), read = 0;
      for (const Shape& shape : in) read += n.name() == "index_select" ? written : bytes_of(shape);
      add(std::string(n.name()), time.forward_seconds, time.backward_seconds,
          3 * product_operations(n, in), 3 * read + 2 * written);
      sum += time.forward_seconds + time.backward_seconds;
    }
    return sum;
  }

  void print(int steps) const {
    std::vector<std::pair<std::string, Cost>> rows(costs_.begin(), costs_.end());
    std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
      return a.second.lost() > b.second.lost();
    });
    fmt::print("peak {:.0f} GFLOP/s\n\n", peak_ * 1e-9);
    fmt::print(
        "| work | forward ms | backward ms | allowed ms | lost ms | GFLOP | of peak "
        "|\n|---|---|---|---|---|---|---|\n");
    for (const auto& [what, c] : rows)
      fmt::print("| {} | {:.3f} | {:.3f} | {:.3f} | {:.3f} | {:.6f} | {:.0f} % |\n", what,
                 c.forward / steps * 1e3, c.backward / steps * 1e3, c.allowed / steps * 1e3,
                 c.lost() / steps * 1e3, c.operations / steps * 1e-9,
                 100 * c.operations / (c.forward + c.backward) / peak_);
  }

 private:
  double peak_ = peak();
  std::map<std::string, Cost> costs_;  // by op, and of the whole step
};

}  // namespace

void print_profile(const Setting& s, int steps) {
  Roofline roofline;
  StepProfile profile;
  profile.after_backward = [&](const Tape& tape, const OpTimes& times, double seconds) {
    roofline.add("between ops", 0, seconds - roofline.add(tape, times), 0, 0);
  };
  // Adam reads w, dw, m and v, and writes w, m and v.
  profile.after_update = [&](Index weights, double seconds) {
    roofline.add("Adam", 0, seconds, 0, 7 * 4 * static_cast<double>(weights));
  };
  profiled_steps(s, steps, profile);
  roofline.print(steps);
}

}  // namespace glim::bench

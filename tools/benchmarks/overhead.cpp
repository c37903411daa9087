#include <algorithm>
#include <fmt/format.h>

#include "autograd/ops.hpp"
#include "tensor/clock.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tools/benchmarks/measures.hpp"
#include "tools/benchmarks/server.hpp"

namespace glim::bench {
namespace {

constexpr int kOps = 1000;

// Median nanoseconds an op, of 201 runs of 1,000 ops.
template <class F>
double nanoseconds(const F& run) {
  std::vector<double> times;
  for (int i = 0; i < 211; ++i) {
    double start = seconds_now();
    run();
    if (i >= 10) times.push_back((seconds_now() - start) / kOps * 1e9);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace

void print_overhead() {
  Tensor a = ones({4}), b = ones({4});
  Var x(a), y(b);
  Var w = Var::leaf(ones({4}));
  double tensor = nanoseconds([&] {
    for (int i = 0; i < kOps; ++i) Tensor c = add(a, b);
  });
  double forward = nanoseconds([&] {
    for (int i = 0; i < kOps; ++i) Var c = add(x, y);
  });
  // Forward and backward of a chain of such ops.
  auto chain = [&](auto op) {
    return nanoseconds([&] {
      Tape tape;
      Var h = w;
      for (int i = 0; i < kOps; ++i) h = op(h, y);
      tape.backward(h, b);
      w.zero_grad();
    });
  };
  double recorded = chain([](const Var& h, const Var& v) { return add(h, v); });
  double product = chain([](const Var& h, const Var& v) { return mul(h, v); });
  fmt::print(
      "tensor_add {:.1f}\nadd_without_tape {:.1f}\nadd_forward_backward {:.1f}\n"
      "mul_forward_backward {:.1f}\n",
      tensor, forward, recorded, product);
}

}  // namespace glim::bench

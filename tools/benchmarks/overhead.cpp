#include <algorithm>
#include <fmt/format.h>
#include <vector>

#include "autograd/ops.hpp"
#include "tensor/clock.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tools/benchmarks/measures.hpp"
#include "tools/benchmarks/server.hpp"

namespace glim::bench {
namespace {

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// Median nanoseconds of each of two parts of a run, divided among its ops.
struct Parts {
  double first = 0, second = 0;
};
template <class F>
Parts nanoseconds(int runs, int ops, const F& run) {
  std::vector<double> first, second;
  for (int i = 0; i < runs; ++i) {
    const double start = seconds_now();
    const double between = run(ops), end = seconds_now();
    first.push_back((between - start) / ops * 1e9);
    second.push_back((end - between) / ops * 1e9);
  }
  return {median(first), median(second)};
}

}  // namespace

void print_overhead() {
  const Tensor a = ones({14});
  const Var x(a), w = Var::leaf(a);
  const double tensor = nanoseconds(201, 1000, [&](int ops) {
                          for (int i = 0; i < ops; ++i) Tensor c = mul(a, a);
                          return seconds_now();
                        }).first;
  const double forward = nanoseconds(201, 1000, [&](int ops) {
                           for (int i = 0; i < ops; ++i) Var c = mul(x, x);
                           return seconds_now();
                         }).first;
  fmt::print("of_tensors {:.0f}\nwithout_tape {:.0f}\n", tensor, forward);
  // A chain of products on a tape, which also has to end.
  for (int ops : {1000, 1000000}) {
    const Parts chain = nanoseconds(ops == 1000 ? 201 : 5, ops, [&](int n) {
      Tape tape;
      Var h = w;
      for (int i = 0; i < n; ++i) h = mul(h, x);
      const double recorded = seconds_now();
      tape.backward(h, a);
      w.zero_grad();
      return recorded;
    });
    fmt::print("recorded,_tape_of_{} {:.0f}\nbackward,_tape_of_{} {:.0f}\n", ops, chain.first, ops,
               chain.second);
  }
}

}  // namespace glim::bench

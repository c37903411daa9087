// microgpt (Karpathy 2026, https://karpathy.github.io/2026/02/12/microgpt/): a GPT of one layer and
// 4,192 weights that learns names letter by letter, one name a step.
//
//   x = norm(E[letter] + P[position])          norm(x) = x/√(mean x² + 1e-5)
//   x ← x + W_O attention(W_QKV norm(x))       four heads, causal
//   x ← x + W_2 relu(W_1 norm(x))
//   loss = mean over letters of -ln softmax(W x)[next letter]
//
// Adam with β = (0.85, 0.99) has a rate that falls from 0.01 to 0. The weights begin in the order E, P,
// W_QKV, W_O, W_1, W_2, W with numbers that every language can draw: uniform, of deviation 0.08.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fmt/format.h>
#include <random>

#include "autograd/ops.hpp"
#include "autograd/tape.hpp"
#include "nn/attention/mask.hpp"
#include "optim/adam.hpp"
#include "tensor/clock.hpp"
#include "tensor/error.hpp"
#include "tools/benchmarks/measures.hpp"
#include "tools/data/corpus/corpus.hpp"

namespace glim::bench {
namespace {

constexpr Index kWidth = 16, kContext = 16, kEdge = 26;  // letter 26 is before and after a name

struct Microgpt {
  std::minstd_rand0 draw{1};
  std::vector<Var> weights;
  Var weight(Index rows, Index columns) {
    Tensor w = empty({rows, columns});
    for (Index i = 0; i < w.numel(); ++i)
      w.data<float>()[i] =
          static_cast<float>(0.08 * std::sqrt(3.0) * (2.0 * draw() / 2147483647 - 1));
    return weights.emplace_back(Var::leaf(w));
  }
  Var letters = weight(kEdge + 1, kWidth), positions = weight(kContext, kWidth),
      qkv = weight(3 * kWidth, kWidth), out = weight(kWidth, kWidth),
      up = weight(4 * kWidth, kWidth), down = weight(kWidth, 4 * kWidth),
      head = weight(kEdge + 1, kWidth);

  Var loss(const Tensor& name) const {
    const Index n = name.numel() - 1;
    auto norm = [](const Var& x) { return rms_norm(x, Var(), 1e-5); };
    Var x = norm(index_select(letters, 0, narrow(name, 0, 0, n)) + narrow(positions, 0, 0, n));
    Var heads = reshape(linear(norm(x), qkv, {}), {1, n, 3 * kWidth});
    Var context = packed_attention(heads, {}, 4, {causal_keep(n), {}}).context;
    x = x + linear(reshape(context, {n, kWidth}), out, {});
    x = x + linear(linear_relu(norm(x), up, {}), down, {});
    return label_smoothing_loss(linear(x, head, {}), narrow(name, 0, 1, n), 0, -1) /
           static_cast<double>(n);
  }
};

}  // namespace

void print_microgpt(int steps) {
  std::vector<Tensor> names;
  for (std::string line; next_line(stdin, line);) {
    if (line.find_first_not_of("abcdefghijklmnopqrstuvwxyz") != line.npos)
      throw ValueError("bench",
                       fmt::format("line {} of standard input is not a name in the letters a to z",
                                   names.size() + 1));
    std::vector<Index> letters = {kEdge};
    for (char c : line) letters.push_back(c - 'a');
    letters.push_back(kEdge);
    letters.resize(std::min<std::size_t>(letters.size(), kContext + 1));
    names.push_back(from_vector(letters, {static_cast<Index>(letters.size())}));
  }
  if (names.empty()) throw ValueError("bench", "standard input has no names, one a line");
  Microgpt model;
  Adam optimizer(model.weights, {.beta1 = 0.85, .beta2 = 0.99});
  std::vector<double> losses;
  const double start = seconds_now();
  for (int step = 0; step < steps; ++step) {
    Tape tape;
    Var loss = model.loss(names[static_cast<std::size_t>(step) % names.size()]);
    tape.backward(loss);
    losses.push_back(loss.item());
    optimizer.set_rate(0.01 * (1 - static_cast<double>(step) / steps));
    optimizer.step();
    optimizer.zero_grad();
  }
  fmt::print("{:.6f}\n{:.6f}\n", seconds_now() - start, fmt::join(losses, "\n"));
}

}  // namespace glim::bench

// output-layer: how much of the logits' gradient the output layer lets through (Godey & Artzi 2026, arXiv 2603.10145).
//
//   logits = h Wᵀ, W (V, D)          ∂L/∂h = G W, G = ∂L/∂logits (N, V)
//
// The part of G that is orthogonal to the D columns of W reaches no layer below. Its share is 1 - ‖G Q‖/‖G‖, where Q
// (V, D) is an orthonormal basis of these columns. A random subspace of dimension D keeps D/V of the square, so that it loses
// 1 - √(D/V). The best subspace is that of the D largest eigenvalues of GᵀG.
//
// A gpt of one layer learns successions of words as frequent as in a text (tools/study/sequences.hpp).
#include <algorithm>
#include <cmath>

#include "autograd/curvature.hpp"
#include "nn/loss.hpp"
#include "optim/adam.hpp"
#include "tensor/matmul/matmul.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/study/measures.hpp"
#include "tools/study/sequences.hpp"

namespace glim::output_layer {

double lost_in(const Tensor& g, const Tensor& w) {
  const Index size = w.size(0), width = w.size(1);
  const Tensor basis = zeros({width, size}, DType::Float64);
  for (Index j = 0; j < width; ++j) {
    Tensor column = select(w, 1, j).to(DType::Float64).contiguous();
    const Tensor q = narrow(basis, 0, 0, j);
    for (int twice = 0; twice < 2 && j > 0; ++twice)
      column = column -
               reshape(matmul(reshape(matmul(q, reshape(column, {size, 1})), {1, j}), q), {size});
    select(basis, 0, j).copy_(div(column, std::sqrt(dot(column, column))));
  }
  const Tensor kept = matmul(g.to(DType::Float64), transpose(basis));
  return 1 - std::sqrt(dot(kept, kept) / dot(g, g));
}

double lost_at_best(const Tensor& g, Index width) {
  const Tensor rows = g.to(DType::Float64).contiguous();
  const Index size = g.size(1);
  auto product = [&](const Tensor& v) {
    return reshape(matmul(transpose(rows), matmul(rows, reshape(v, {size, 1}))), {size});
  };
  const Ritz r = lanczos(size, product, {.largest = width, .tolerance = 1e-6});
  double kept = 0;
  for (Index i = 0; i < width; ++i)
    kept += r.values[r.values.size() - 1 - static_cast<std::size_t>(i)];
  return 1 - std::sqrt(kept / dot(g, g));
}

Measurement measure(std::uint64_t seed, bool small) {
  Measurement m;
  const Index vocab = small ? 128 : 2048, updates = small ? 10 : 300;
  for (const Index width : sizes<Index>(small, {2, 32}, {4, 8, 16, 32})) {
    generator().set_state(seed, 0);
    GptConfig c;
    c.vocab = vocab, c.context = 16, c.d_model = width, c.heads = 2, c.layers = 1;
    Gpt model(c);
    auto gradient = [&] {
      const Successions batch = successions(vocab, 16, 16, {seed, 1}, seed);
      Tape tape;
      const Var logits = model(batch.ids);
      const Var loss = cross_entropy(logits, batch.targets);
      const Tensor g = tape.grad(loss, {logits})[0].value();
      return std::pair(reshape(g, {256, vocab}), loss.item());
    };
    const auto [fresh, first_loss] = gradient();
    const double fresh_lost = lost_in(fresh, model.lm_head.weight.value());
    Adam adam(model.named_parameters(), {.rate = 3e-3});
    for (Index t = 1; t <= updates; ++t) {
      const Successions batch =
          successions(vocab, 16, 16, {seed, 1 + static_cast<std::uint64_t>(t)}, seed);
      adam.zero_grad();
      Tape tape;
      tape.backward(cross_entropy(model(batch.ids), batch.targets));
      adam.step();
      show_step(t, updates);
    }
    const auto [trained, loss] = gradient();
    const double lost = lost_in(trained, model.lm_head.weight.value()),
                 chance = 1 - std::sqrt(static_cast<double>(width) / static_cast<double>(vocab)),
                 best = lost_at_best(trained, width), d = static_cast<double>(width);
    m.curve("lost", "fresh", d, fresh_lost);
    m.curve("lost", "trained", d, lost);
    m.curve("lost", "best subspace", d, best);
    m.curve("lost", "1 - √(D/V)", d, chance, CurveStyle::Reference);
    m.values["fresh_gap"] = std::max(m.values["fresh_gap"], std::abs(fresh_lost - chance));
    m.values["trained_gap"] = std::max(m.values["trained_gap"], std::abs(lost - chance));
    m.values["lost"] = lost;
    m.values["lost_square"] = 1 - (1 - lost) * (1 - lost);
    m.values["best"] = best;
    m.values["loss"] = loss / first_loss;
  }
  return m;
}

}  // namespace glim::output_layer

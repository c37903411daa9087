// least-squares: what one layer of linear attention learns from prompts of a linear regression.
//
// Zhang, Frei & Bartlett 2023 (arXiv 2306.09927), theorem 4.1. A prompt has N pairs and a query, w and x fresh in each:
//
//   e_i = (x_i, y_i), y_i = wᵀx_i, x_i ~ N(0, Λ), w ~ N(0, I);  e_q = (x_q, 0)
//   ŷ = 1/N Σ_i (pᵀe_i) (e_iᵀ W e_q)          over all tokens; p and W = W_K W_Qᵀ are learned
//   ŷ = (1/N Σ_i y_i x_iᵀ) Γ⁻¹ x_q            at the optimum, Γ = (1 + 1/N) Λ + 1/N tr(Λ) I
//
// The learned A is p's last element times W's block of x. The risk of an A is tr Λ(A Γ Λ Aᵀ - A Λ - Λ Aᵀ + I), and that
// of Γ⁻¹ is the least. One step of gradient descent has a multiple of I in the place of Γ⁻¹.
#include <cmath>
#include <functional>

#include "autograd/ops.hpp"
#include "optim/adam.hpp"
#include "optim/schedule.hpp"
#include "tensor/matmul/matmul.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/study/measures.hpp"

namespace glim::least_squares {
namespace {

const std::vector<double> kVariances = {2, 1.5, 1, 0.5};  // Λ
constexpr Index kWidth = 4, kPairs = 20, kPrompts = 200;
constexpr double kN = static_cast<double>(kPairs);

double trace_of_variances() {
  double total = 0;
  for (double variance : kVariances) total += variance;
  return total;
}
double gamma(std::size_t i) { return (1 + 1 / kN) * kVariances[i] + trace_of_variances() / kN; }

Tensor diagonal(const std::function<double(std::size_t)>& element) {
  Tensor d = zeros({kWidth, kWidth}, DType::Float64);
  for (std::size_t i = 0; i < kVariances.size(); ++i)
    select(select(d, 0, static_cast<Index>(i)), 0, static_cast<Index>(i)).fill_(element(i));
  return d;
}

struct Prompts {
  Tensor tokens, queries, answers;  // (B, N + 1, D + 1), (B, 1, D + 1), (B,)
};
Prompts draw(RandomKey key) {
  std::vector<double> deviations;
  for (double variance : kVariances) deviations.push_back(std::sqrt(variance));
  const Tensor x = normal({kPrompts, kPairs + 1, kWidth}, 0, 1, key, DType::Float64) *
                   from_vector(deviations, {kWidth}),
               w = normal({kPrompts, 1, kWidth}, 0, 1, {key.seed, key.stream + 1}, DType::Float64);
  const Tensor y = sum(x * w, {2}, true);
  Tensor tokens = concatenate(std::vector<Tensor>{x, y}, 2).contiguous();
  const Tensor last = narrow(tokens, 1, kPairs, 1);
  narrow(last, 2, kWidth, 1).fill_(0);
  return {tokens, last.clone(), reshape(narrow(y, 1, kPairs, 1), {kPrompts}).clone()};
}

}  // namespace

Tensor optimum() {
  return diagonal([](std::size_t i) { return 1 / gamma(i); });
}

double risk(const Tensor& a) {
  const Tensor variances = diagonal([](std::size_t i) { return kVariances[i]; }),
               second = diagonal([](std::size_t i) { return gamma(i) * kVariances[i]; });
  const Tensor product = matmul(a, variances);
  const Tensor inner = matmul(matmul(a, second), transpose(a)) - product - transpose(product) +
                       diagonal([](std::size_t) { return 1; });
  return sum(variances * inner, {0, 1}, false).item();
}

// A after training on fresh prompts; W is one matrix, or a product of two.
Tensor learned(std::uint64_t seed, bool merged, Index updates) {
  const Shape square{kWidth + 1, kWidth + 1};
  auto leaf = [&](const Shape& shape, std::uint64_t stream, const char* name) {
    return Var::leaf(normal(shape, 0, 0.3, {seed, stream}, DType::Float64), name);
  };
  const Var key = leaf(square, 1, "key"), query = leaf(square, 2, "query"),
            p = leaf({kWidth + 1, 1}, 3, "p");
  auto weight = [&] { return merged ? key : matmul(key, transpose(query)); };
  Adam adam(merged ? NamedParameters({key, p}) : NamedParameters({key, query, p}), {.rate = 1e-2});
  const Schedule schedule = cosine_schedule(1e-2, 0, updates);
  for (Index t = 1; t <= updates; ++t) {
    const Prompts prompts = draw({seed, 10 + 2 * static_cast<std::uint64_t>(t)});
    adam.zero_grad();
    adam.set_rate(schedule.rate(t));
    Tape tape;
    const Var e(prompts.tokens), q(prompts.queries);
    const Var scores = matmul(matmul(e, weight()), transpose(q)) / kN;  // (B, N + 1, 1)
    const Var off = sum(matmul(e, p) * scores, {1, 2}) - Var(prompts.answers);
    tape.backward(mean(off * off));
    adam.step();
    show_step(t, updates);
  }
  const Tensor block = narrow(narrow(weight().value(), 0, 0, kWidth), 1, 0, kWidth);
  return (select(p.value(), 0, kWidth).item() * block).contiguous();
}

Measurement measure(std::uint64_t seed, bool small) {
  Measurement m;
  const Tensor best = optimum();
  auto distance = [&](const Tensor& a) { return norm(a - best) / norm(best); };
  for (const Index updates : sizes<Index>(small, {10}, {250, 500, 1000, 2000}))
    for (const bool merged : {true, false}) {
      const std::string word = merged ? "merged" : "separate";
      const Tensor a = learned(seed, merged, updates);
      m.curve("distance", word, static_cast<double>(updates * kPrompts), distance(a));
      m.values[word + "_distance"] = distance(a);
      m.values[word + "_risk"] = risk(a) / risk(best);
    }
  const Tensor identity = diagonal([](std::size_t) { return 1; });
  const double along = dot(best, identity) / dot(identity, identity);
  m.values["descent"] = distance(along * identity);
  return m;
}

}  // namespace glim::least_squares

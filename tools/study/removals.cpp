#include "tools/study/removals.hpp"

#include <cmath>
#include <set>

#include "autograd/products.hpp"
#include "tensor/error.hpp"
#include "tensor/portable.hpp"
#include "tensor/random.hpp"
#include "tools/study/statistics.hpp"
#include "tools/study/study.hpp"

namespace glim {
namespace {

// -∇q · ∇ℓ_i of each query and example, times `factor`, at the present parameters.
void add_products(Scores& scores, const TrainingTrace& trace, const TrainingTrace::Query& query,
                  double factor) {
  constexpr Index kTogether = 64;
  std::vector<Var> xs;
  for (const auto& [name, p] : trace.parameters()) xs.push_back(p);
  std::vector<std::vector<Var>> gradients;
  {
    Tape tape;
    each_gradient(tape, query(), xs, [&](Index, const std::vector<Var>& g) {
      std::vector<Var>& copies = gradients.emplace_back();
      for (const Var& d : g) copies.push_back(d.value().clone());
    });
  }
  const Index examples = trace.recipe().examples;
  scores.resize(gradients.size(), std::vector<double>(static_cast<std::size_t>(examples)));
  for (Index first = 0; first < examples; first += kTogether) {
    std::vector<Index> batch;
    for (Index i = first; i < std::min(first + kTogether, examples); ++i) batch.push_back(i);
    Tape tape;
    const Var losses = trace.recipe().losses(batch);
    // jvp of every query: the first of its two backward passes is one for all.
    const Var u = Var::leaf(zeros(losses.shape(), losses.dtype()));
    const std::vector<Var> transposed = tape.grad(losses, xs, u, {.create_graph = true});
    for (std::size_t q = 0; q < gradients.size(); ++q) {
      const Tensor along =
          tape.grad(transposed, {u}, gradients[q], {.retain = true})[0].value().to(DType::Float64);
      for (Index i : batch)
        scores[q][static_cast<std::size_t>(i)] -= factor * along.at<double>({i - first});
    }
  }
}

}  // namespace

Scores exact_scores(TrainingTrace& trace, const TrainingTrace::Query& query) {
  Scores scores;
  for (Influence& i : trace.influence(query)) scores.push_back(std::move(i.examples));
  return scores;
}

Scores dot_scores(TrainingTrace& trace, const TrainingTrace::Query& query) {
  Scores scores;
  add_products(scores, trace, query, 1);
  return scores;
}

Scores tracin_scores(TrainingTrace& trace, const TrainingTrace::Query& query) {
  Scores scores;
  trace.visit([&](Index, double rate) { add_products(scores, trace, query, rate); });
  return scores;
}

// Σ over the query's words of ln(1 + (n - n_word + ½)/(n_word + ½)) f (k₁ + 1)/(f + k₁ (1 - b + b length/mean length))
Scores bm25_scores(const std::vector<std::vector<std::string>>& queries,
                   const std::vector<std::vector<std::string>>& examples) {
  constexpr double k1 = 1.2, b = 0.75;
  const auto n = static_cast<double>(examples.size());
  double words = 0;
  std::map<std::string, double> with;  // how many examples have a word
  for (const auto& example : examples) {
    words += static_cast<double>(example.size());
    for (const std::string& word : std::set<std::string>(example.begin(), example.end()))
      ++with[word];
  }
  Scores scores;
  for (const auto& query : queries) {
    std::vector<double>& row = scores.emplace_back();
    for (const auto& example : examples) {
      double score = 0;
      const double length = static_cast<double>(example.size()) * n / words;
      for (const std::string& word : query) {
        const auto f = static_cast<double>(std::count(example.begin(), example.end(), word));
        const double in = with[word];
        score += portable::log(1 + (n - in + 0.5) / (in + 0.5)) * f * (k1 + 1) /
                 (f + k1 * (1 - b + b * length));
      }
      row.push_back(-score);
    }
  }
  return scores;
}

Removals removals(TrainingTrace& trace, const TrainingTrace::Query& query, double share, int times,
                  std::uint64_t seed) {
  const Index examples = trace.recipe().examples;
  const auto count = static_cast<Index>(std::llround(share * static_cast<double>(examples)));
  if (!(share > 0 && share < 1) || count == 0 || count == examples)
    throw ValueError("removals",
                     "the share of examples left out must be in (0, 1), and at least one example");
  const Tensor before = trace.value(query).to(DType::Float64);
  Removals r;
  for (int k = 0; k < times; ++k) {
    show_step(k, times);
    const std::vector<Index> order =
        permutation(examples, {seed, static_cast<std::uint64_t>(k)}).to_vector<Index>();
    r.left_out.emplace_back(order.begin(), order.begin() + count);
    std::vector<double> weights(static_cast<std::size_t>(examples), 1.0);
    for (Index i : r.left_out.back()) weights[static_cast<std::size_t>(i)] = 0;
    r.measured.push_back(
        (trace.retrained(weights, query).to(DType::Float64) - before).to_vector<double>());
  }
  return r;
}

namespace {

double predicted(const std::vector<double>& scores, const std::vector<Index>& left_out) {
  double sum = 0;
  for (Index i : left_out) sum -= scores[static_cast<std::size_t>(i)];
  return sum;
}

}  // namespace

std::vector<double> Removals::correlations(const Scores& scores) const {
  std::vector<double> all;
  for (std::size_t q = 0; q < scores.size(); ++q) {
    std::vector<double> x, y;
    for (std::size_t k = 0; k < left_out.size(); ++k) {
      x.push_back(predicted(scores[q], left_out[k]));
      y.push_back(measured[k][q]);
    }
    all.push_back(spearman(x, y));
  }
  return all;
}

}  // namespace glim

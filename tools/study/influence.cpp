// influence: does the gradient through training say what leaving examples out does?
//
// A small Transformer learns a grammar of measure words, where the word after the number depends on the noun behind it:
//
//   i-see three red shirt   ->   我看见 三 件 红 衬衫            件 for clothes, 本 for books, 辆 for vehicles ...
//
// The queries are losses of sentences held out. Twenty trainings leave a random share of the examples out, and predicted
// and measured changes of each query are compared by rank (removals.hpp). A recipe is how the model is trained.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/tokenizers/vocabulary.hpp"
#include "nn/loss.hpp"
#include "optim/adam.hpp"
#include "tools/study/measures.hpp"
#include "tools/study/removals.hpp"
#include "tools/study/sequences.hpp"
#include "tools/study/statistics.hpp"

namespace glim::influence_study {

// Verb, number, adjective and noun, in this order; the target has the noun's measure word behind the number.
std::vector<TokenPair> sentences(std::uint64_t seed) {
  constexpr Index kVerbs = 4, kNumbers = 6, kAdjectives = 5, kNouns = 18, kMeasures = 6;
  std::vector<TokenPair> all;
  for (const Index i :
       permutation(kVerbs * kNumbers * kAdjectives * kNouns, {seed, 1}).to_vector<Index>()) {
    const Index noun = i % kNouns, adjective = i / kNouns % kAdjectives,
                number = i / (kNouns * kAdjectives) % kNumbers,
                verb = i / (kNouns * kAdjectives * kNumbers);
    Index next = kSpecialTokens;
    auto token = [&](Index word, Index words) { return std::exchange(next, next + words) + word; };
    TokenPair pair;
    pair.source = {token(verb, kVerbs), token(number, kNumbers), token(adjective, kAdjectives),
                   token(noun, kNouns)};
    pair.target = {pair.source[0], pair.source[1], token(noun % kMeasures, kMeasures),
                   pair.source[2], pair.source[3]};
    all.push_back(std::move(pair));
  }
  return all;
}

namespace {

constexpr Index kWords = kSpecialTokens + 4 + 6 + 5 + 18 + 6, kBatch = 16;

struct Recipe {
  std::string name;
  Activation activation = Activation::Gelu;
  double eps = 1e-3, rate = 3e-3;
  Index warm_up = 30;  // updates
  Index epochs = 8;
  double share = 0.1;  // of the examples that a training leaves out
  Index wrong = 0;     // examples whose measure word is another one
};

struct Sizes {
  Index examples = 400, width = 32;
  int trainings = 20;
  std::size_t queries = 4;
};

std::vector<std::string> words_of(const TokenPair& pair) {
  std::vector<std::string> words;
  for (const auto* side : {&pair.source, &pair.target})
    for (std::int64_t id : *side)
      words.push_back((side == &pair.source ? "source " : "target ") + std::to_string(id));
  return words;
}

// Adds what a recipe's training shows. `claimed`: r is the recipe that the claim is about.
void add(Measurement& m, const Recipe& r, const Sizes& sizes, std::uint64_t seed, bool claimed) {
  const std::vector<TokenPair> all = sentences(seed);
  std::vector<TokenPair> train(all.begin(), all.begin() + sizes.examples),
      held(all.begin() + sizes.examples, all.begin() + sizes.examples + 50);
  for (Index k = 0; k < r.wrong; ++k) {
    std::int64_t& measure = train[static_cast<std::size_t>(k)].target[2];
    measure = measure + 1 < kWords ? measure + 1 : measure - 5;
  }
  generator().set_state(seed, 0);
  TransformerConfig c;
  c.src_vocab = c.tgt_vocab = kWords;
  c.encoder_layers = c.decoder_layers = 1;
  c.d_model = sizes.width, c.d_ff = 2 * sizes.width, c.heads = 4;
  c.dropout = 0, c.norm = NormPlacement::Pre, c.activation = r.activation;
  Transformer model(c);
  model.to(DType::Float64);
  model.eval();
  auto losses_of = [&](const std::vector<TokenPair>& pairs, const std::vector<Index>& rows) {
    const Batch batch = make_batch(pairs, rows);
    const Var logits = model.teach(SourceBatch(batch.source), batch.target_in, {}).logits;
    const Var each =
        cross_entropy(logits, batch.target_out, {.ignore_index = 0, .reduction = Reduction::None});
    return sum(each, {1}) / static_cast<double>(6 * kBatch);  // sentences have six tokens
  };
  TraceRecipe recipe{
      .losses = [&](const std::vector<Index>& rows) { return losses_of(train, rows); },
      .examples = sizes.examples};
  for (Index epoch = 0; epoch < r.epochs; ++epoch) {
    const std::vector<Index> order =
        permutation(sizes.examples, {seed, 2 + static_cast<std::uint64_t>(epoch)})
            .to_vector<Index>();
    for (Index k = 0; k < sizes.examples; k += kBatch)
      recipe.batches.emplace_back(order.begin() + k,
                                  order.begin() + std::min(k + kBatch, sizes.examples));
  }
  if (r.warm_up > 0)
    recipe.rate = [&](Index t) {
      return r.rate * std::min(1.0, static_cast<double>(t) / static_cast<double>(r.warm_up));
    };
  Adam adam(model.named_parameters(), {.rate = r.rate, .beta2 = 0.98, .eps = r.eps});
  TrainingTrace trace(adam, std::move(recipe));
  std::vector<Index> positions(sizes.queries);
  std::iota(positions.begin(), positions.end(), 0);
  const TrainingTrace::Query query = [&] { return losses_of(held, positions); };

  const std::vector<Influence> influence = trace.influence(query);
  Scores exact;
  double growth = 0;
  for (const Influence& i : influence) {
    exact.push_back(i.examples);
    growth = std::max(growth, i.norms.front() / i.norms.back());
  }
  const Removals removed = removals(trace, query, r.share, sizes.trainings, seed);
  const double rho = mean_of(removed.correlations(exact));
  m.values["rho_" + r.name] = rho;
  m.values["growth_" + r.name] = growth;
  if (claimed || r.name == "fast") {
    const std::vector<double>& norms = influence[0].norms;
    for (std::size_t t = 0; t < norms.size(); t += std::max<std::size_t>(1, norms.size() / 20))
      m.curve("norms", claimed ? "rate 3e-3" : "rate 1e-2", static_cast<double>(t),
              norms[t] / norms.back());
  }
  if (!claimed) return;
  m.values["accuracy"] = token_accuracy(model, held);
  const double dot = mean_of(removed.correlations(dot_scores(trace, query))),
               tracin = mean_of(removed.correlations(tracin_scores(trace, query)));
  std::vector<std::vector<std::string>> texts, asked_for;
  for (const TokenPair& pair : train) texts.push_back(words_of(pair));
  for (Index k : positions) asked_for.push_back(words_of(held[static_cast<std::size_t>(k)]));
  const double bm25 = mean_of(removed.correlations(bm25_scores(asked_for, texts)));
  m.values["dot"] = dot, m.values["tracin"] = tracin, m.values["bm25"] = bm25;
  m.values["lead"] = rho - std::max({dot, tracin, bm25});
  // The example with the most influence on the first query, against trainings with its weight 1 ± h.
  std::size_t most = 0;
  for (std::size_t i = 0; i < exact[0].size(); ++i)
    if (std::abs(exact[0][i]) > std::abs(exact[0][most])) most = i;
  auto response = [&](double weight) {
    std::vector<double> weights(static_cast<std::size_t>(sizes.examples), 1.0);
    weights[most] = weight;
    return select(trace.retrained(weights, query), 0, 0).item();
  };
  const double h = 1e-3;
  m.values["gap"] = std::abs((response(1 + h) - response(1 - h)) / (2 * h) / exact[0][most] - 1);
  for (std::size_t k = 0; k < removed.left_out.size(); ++k) {
    double predicted = 0;
    for (Index i : removed.left_out[k]) predicted -= exact[0][static_cast<std::size_t>(i)];
    m.curve("changes", "a training", predicted, removed.measured[k][0], CurveStyle::Points);
  }
}

}  // namespace

Measurement measure(std::uint64_t seed, bool small) {
  const Sizes sizes =
      small ? Sizes{.examples = 48, .width = 8, .trainings = 3, .queries = 2} : Sizes{};
  std::vector<Recipe> recipes{
      {.name = "own"},
      {.name = "tiny_eps", .eps = 1e-9},
      {.name = "no_warm_up", .warm_up = 0},
      {.name = "relu", .activation = Activation::Relu},
      {.name = "relu_tiny_eps", .activation = Activation::Relu, .eps = 1e-9},
      {.name = "fast", .rate = 1e-2},
      {.name = "long", .epochs = 24},
      {.name = "half", .share = 0.5},
      {.name = "wrong", .wrong = 40}};
  Measurement m;
  for (Recipe& r : recipes) {
    if (small) r.epochs = 2, r.wrong /= 8;
    add(m, r, sizes, seed, r.name == "own");
  }
  return m;
}

}  // namespace glim::influence_study

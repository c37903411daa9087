// order: what a model without positions knows of the order of words.
//
// Attention is a sum over all tokens, and everything else in a layer reads one token. So an encoder without positions
// gives a permuted sentence the permuted encoding (Vaswani et al. 2017, arXiv 1706.03762, section 3.5), and "我 喜欢 你"
// and "你 喜欢 我" have the same mean. A causal mask tells the order: token t sees t tokens. Three models learn tasks about
// order: reverse a sentence, which of two words is first (classifier), continue x_1 … x_n by its reverse (gpt).
#include <numeric>

#include "models/gpt/gpt.hpp"
#include "nn/loss.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/study/measures.hpp"
#include "tools/study/sequences.hpp"

namespace glim::order {

double moved_by_permutation(Positions positions, const std::vector<Index>& order, bool as_mean) {
  TransformerConfig c = symbol_transformer();
  c.positions = positions;
  Transformer model(c);
  model.to(DType::Float64);
  const Tensor places = from_vector(order, {std::ssize(order)});
  std::vector<Index> ids(order.size());
  std::iota(ids.begin(), ids.end(), Index{kSpecialTokens});
  const Tensor words = from_vector(ids, {1, places.numel()});
  Tensor of_words = index_select(model.encode(words).value(), 1, places);
  Tensor of_permuted = model.encode(index_select(words, 1, places)).value();
  if (as_mean) of_words = mean(of_words, {1}), of_permuted = mean(of_permuted, {1});
  return max(abs(sub(of_words, of_permuted))).item();
}

namespace {

struct Examples {
  Tensor ids, targets;  // (B, T); of each sentence or token, kPad: none
};

// Six words, two of them the ones that are asked about.
Examples first_of_two(Index count, RandomKey key) {
  std::vector<Index> ids, classes;
  const Tensor others = random_integers({count, 6}, kSpecialTokens + 2, kSymbolVocabulary, key);
  for (Index i = 0; i < count; ++i) {
    auto row = select(others, 0, i).to_vector<Index>();
    const auto places =
        permutation(6, {key.seed, key.stream + 1 + std::uint64_t(i)}).to_vector<Index>();
    for (Index word : {0, 1}) row[std::size_t(places[word])] = kSpecialTokens + word;
    ids.insert(ids.end(), row.begin(), row.end());
    classes.push_back(places[0] < places[1]);
  }
  return {from_vector(ids, {count, 6}), from_vector(classes, {count})};
}

// x_1 … x_6 | x_6 … x_2, to be continued by x_6 … x_1 from | on.
Examples reversed_text(Index count, RandomKey key) {
  std::vector<Index> ids, next;
  for (const TokenPair& p : symbol_pairs(SymbolTask::Reverse, 6, 6, count, key)) {
    ids.insert(ids.end(), p.source.begin(), p.source.end());
    ids.push_back(kBos);
    ids.insert(ids.end(), p.target.begin(), p.target.end() - 1);
    next.insert(next.end(), 6, kPad);
    next.insert(next.end(), p.target.begin(), p.target.end());
  }
  return {from_vector(ids, {count, 12}), from_vector(next, {count, 12})};
}

// Trains on fresh examples and measures the share of held-out targets that are right.
template <class Model>
void learn(Model& model, Index steps, Index ignored, Examples (*draw)(Index, RandomKey),
           Index count, RandomKey held_out, const std::string& plot, const std::string& with,
           Measurement& m) {
  const Examples e = draw(count, held_out);
  const double all = sum(not_equal(e.targets, double(ignored)).to(DType::Float64)).item();
  auto accuracy = [&] {
    const Tensor right = equal(argmax(model(e.ids).value(), -1), e.targets).to(DType::Float64);
    return sum(right).item() / all;
  };
  auto loss = [&](Index step) {
    const Examples fresh = draw(32, {held_out.seed, std::uint64_t(step) << 32});
    return cross_entropy(model(fresh.ids), fresh.targets, {.ignore_index = ignored});
  };
  train(model, steps, 3e-3, loss,
        [&](double step) { m.curve(plot, with + " positions", step, accuracy()); });
  m.values[plot + "_" + with] = accuracy();
}

}  // namespace

Measurement measure(std::uint64_t seed, bool small) {
  const Index steps = small ? 5 : 600, count = small ? 4 : 200;
  const RandomKey held_out{seed, kHeldOut};
  Measurement m;
  for (Positions positions : {Positions::Sinusoidal, Positions::None}) {
    const std::string with = positions == Positions::None ? "without" : "with";
    generator().set_state(seed, 0);
    const auto permuted = permutation(10, generator().next()).to_vector<Index>();
    m.values["moved_" + with] = moved_by_permutation(positions, permuted, false);
    m.values["mean_" + with] = moved_by_permutation(positions, {2, 1, 0}, true);
    TransformerConfig c = symbol_transformer();
    c.positions = positions;
    Transformer model(c);
    train_on(model, SymbolTask::Reverse, 8, steps);
    m.values["reverse_" + with] =
        token_accuracy(model, symbol_pairs(SymbolTask::Reverse, 8, 8, count, held_out));
    BertConfig b;
    b.vocab = kSymbolVocabulary, b.d_model = 32, b.d_ff = 64, b.dropout = 0, b.init = 0.18;
    b.positions = positions;
    SequenceClassifier classifier(b, 2, Pooling::Mean);
    learn(classifier, steps, kIgnoreNothing, first_of_two, count, held_out, "first", with, m);
    GptConfig g;
    g.vocab = kSymbolVocabulary, g.d_model = 32, g.d_ff = 64, g.layers = 2, g.init = 0.18;
    g.positions = positions;
    Gpt gpt(g);
    learn(gpt, 2 * steps, kPad, reversed_text, count, held_out, "gpt", with, m);
  }
  return m;
}

}  // namespace glim::order

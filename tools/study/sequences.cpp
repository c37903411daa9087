#include "tools/study/sequences.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "nn/loss.hpp"
#include "optim/adam.hpp"
#include "optim/clip.hpp"
#include "optim/schedule.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/study/study.hpp"

namespace glim {

std::vector<TokenPair> symbol_pairs(SymbolTask task, Index shortest, Index longest, Index count,
                                    RandomKey key) {
  std::uint64_t draws = 0;
  auto below = [&](Index n) {
    return static_cast<Index>(uniform_at(key, draws++) * static_cast<double>(n));
  };
  std::vector<TokenPair> pairs;
  for (Index i = 0; i < count; ++i) {
    std::vector<Index> x(static_cast<std::size_t>(shortest + below(longest - shortest + 1)));
    for (Index& s : x) s = below(kSymbols);
    std::vector<Index> y = x;
    if (task == SymbolTask::Reverse) std::ranges::reverse(y);
    if (task == SymbolTask::Sum)
      std::partial_sum(x.begin(), x.end(), y.begin(),
                       [](Index a, Index b) { return (a + b) % kSymbols; });
    for (auto* side : {&x, &y})
      for (Index& s : *side) s += kSpecialTokens;
    pairs.push_back({x, y});
  }
  return pairs;
}

Batch batch_of(const std::vector<TokenPair>& pairs) {
  std::vector<Index> all(pairs.size());
  std::iota(all.begin(), all.end(), Index{0});
  return make_batch(pairs, all);
}

Successions successions(Index vocab, Index count, Index length, RandomKey key,
                        std::uint64_t grammar, bool uniform) {
  std::vector<double> below;  // the sum of p
  double total = 0;
  for (Index t = 0; t < vocab; ++t)
    below.push_back(total += uniform ? 1 : 1 / static_cast<double>(t + 2));
  auto token = [&](double u) {
    return std::lower_bound(below.begin(), below.end(), u * total) - below.begin();
  };
  std::vector<Index> ids, targets;
  std::uint64_t i = 0;
  for (Index s = 0; s < count; ++s) {
    Index now = token(uniform_at(key, i++));
    for (Index t = 0; t < length; ++t) {
      ids.push_back(now);
      const double u = uniform_at(key, i++);
      const auto choice = static_cast<std::uint64_t>(u < 0.5 ? 0 : 1 + std::floor((u - 0.5) * 6));
      now = token(uniform_at({grammar, 9}, static_cast<std::uint64_t>(now) * 4 + choice));
      targets.push_back(now);
    }
  }
  return {from_vector(ids, {count, length}), from_vector(targets, {count, length})};
}

TransformerConfig symbol_transformer() {
  TransformerConfig c;
  c.src_vocab = c.tgt_vocab = kSymbolVocabulary;
  c.d_model = 32;
  c.heads = 4;
  c.d_ff = 64;
  c.encoder_layers = c.decoder_layers = 2;
  c.dropout = 0;
  c.norm = NormPlacement::Pre;
  c.embedding_init = 1 / std::sqrt(32.0);
  c.max_len = 128;
  return c;
}

void train(Module& model, Index steps, double rate, const std::function<Var(Index step)>& loss,
           const AtFifths& at_fifths, Backward how) {
  model.train();
  const NamedParameters parameters = model.named_parameters();
  Adam adam(parameters, {.rate = rate, .beta2 = 0.98});
  const Schedule schedule = cosine_schedule(rate, steps / 10, steps + 1);
  for (Index step = 1; step <= steps; ++step) {
    show_step(step, steps);
    if (at_fifths && step % (steps / 5) == 0) {
      model.eval();
      at_fifths(static_cast<double>(step));
      model.train();
    }
    {
      Tape tape;
      tape.backward(loss(step), how);
    }
    clip_gradient_norm(parameters, 1);
    adam.set_rate(schedule.rate(step));
    adam.step();
    adam.zero_grad();
  }
  model.eval();
}

double accuracy_of(const Var& logits, const Tensor& classes) {
  return mean(equal(argmax(logits.value(), -1), classes).to(DType::Float64)).item();
}

Var pair_loss(SequenceModel& model, const Batch& b, double sampling) {
  const TeachOptions options{.sampling = sampling};
  return cross_entropy(model.teach(b.source, b.target_in, options).logits, b.target_out,
                       {.ignore_index = kPad});
}

void train_on(SequenceModel& model, SymbolTask task, Index longest, Index steps,
              const AtFifths& at_fifths, double sampling) {
  auto loss = [&](Index step) {
    return pair_loss(model, batch_of(symbol_pairs(task, 1, longest, 32, generator().next())),
                     sampling * static_cast<double>(step) / static_cast<double>(steps));
  };
  train(model, steps, 3e-3, loss, at_fifths);
}

double token_accuracy(SequenceModel& model, const std::vector<TokenPair>& pairs) {
  std::vector<Index> limits;
  for (const TokenPair& p : pairs) limits.push_back(std::ssize(p.target));
  const auto outputs = model.generate_sequences(batch_of(pairs).source, limits, {});
  double right = 0, all = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const std::vector<Index>&target = pairs[i].target, &got = outputs[i].at(0).tokens;
    for (std::size_t t = 0; t < target.size(); ++t) right += t < got.size() && got[t] == target[t];
    all += static_cast<double>(target.size());
  }
  return right / all;
}

double nll_of(SequenceModel& model, const std::vector<TokenPair>& pairs) {
  return pair_loss(model, batch_of(pairs)).item();
}

}  // namespace glim

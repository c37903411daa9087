// norms: layer norm or batch norm for sentences of unequal length.
//
//   layer norm   each token by the mean and variance of its own D numbers
//   batch norm   each of the D channels by its mean and variance over all tokens of the batch, padding included
//
// The tutorials ask why a Transformer has layer norm (Ba et al. 2016, arXiv 1607.06450, section 1: batch norm "is not
// obvious how to apply" to sentences of unequal length). First on one tensor: what becomes of a sentence when it is
// padded, and when its neighbour in the batch changes. Then two encoders of the same form are trained in batches of four
// sentences of unequal length (agreement.cpp).
#include "nn/embedding.hpp"
#include "nn/feed_forward.hpp"
#include "nn/loss.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/study/measures.hpp"
#include "tools/study/sequences.hpp"

namespace glim::norms {

using namespace rollout_study;

Norm::Norm(Index width, bool batch) {
  if (batch)
    batch_ = {*this, "batch", std::make_unique<BatchNorm>(width)};
  else
    layer_ = {*this, "layer", std::make_unique<LayerNorm>(width)};
}

Var Norm::forward(const Var& x) { return layer_ ? layer_(x) : transpose(batch_(transpose(x))); }

Moved moved(bool batch) {
  constexpr Index kWidth = 16;
  auto draw = [](Index sentences, double mean) {
    return normal({sentences, 8, kWidth}, mean, 1, generator().next(), DType::Float64);
  };
  const Tensor x = draw(2, 0), other = draw(1, 3), padding = zeros({2, 8, kWidth}, DType::Float64);
  Norm norm(kWidth, batch);
  norm.to(DType::Float64);
  const Tensor first = narrow(x, 0, 0, 1), normed = narrow(norm(Var(x)).value(), 0, 0, 1);
  auto distance = [&](const Tensor& sentences) {
    const Tensor rows = norm(Var(sentences)).value();
    return max(abs(sub(narrow(narrow(rows, 0, 0, 1), 1, 0, 8), normed))).item();
  };
  return {distance(concatenate(std::vector<Tensor>{first, other}, 0)),
          distance(concatenate(std::vector<Tensor>{x, padding}, 1))};
}

namespace {

constexpr Index kWidth = 32;

struct Block : Module {
  explicit Block(bool batch) : GLIM_NAMED(norm1, kWidth, batch), GLIM_NAMED(norm2, kWidth, batch) {}
  Child<MultiheadAttention> GLIM_NAMED(attention, kWidth, 4);
  Child<PositionwiseFeedForward> GLIM_NAMED(feed_forward, kWidth, 2 * kWidth, 0.0);
  Child<Norm> norm1, norm2;
};

struct Encoder : Module {
  explicit Encoder(bool batch) {
    for (int i = 0; i < 2; ++i) blocks.append(batch);
  }
  Child<Embedding> GLIM_NAMED(embed, AgreementSentence::kVocabulary, kWidth);
  Child<PositionalEncoding> GLIM_NAMED(positions, Positions::Sinusoidal, kWidth, 0.0);
  Child<ModuleList<Block>> GLIM_NAMED(blocks);
  Child<Linear> GLIM_NAMED(head, kWidth, 2);

  Var logits(const Tensor& ids) {
    AttentionRequest words;
    words.key_keep = not_equal(ids, 0.0);
    Var x = positions(embed(ids));
    for (Block& b : blocks) {
      x = b.norm1(x + b.attention(x, x, x, words).y);
      x = b.norm2(x + b.feed_forward(x));
    }
    return head(select(x, 1, 0));  // [CLS]
  }
};

}  // namespace

Tensor fresh_logits(bool batch, const Tensor& ids) {
  Encoder model(batch);
  model.eval();
  return model.logits(ids).value();
}

Measurement measure(std::uint64_t seed, bool small) {
  const Index steps = small ? 20 : 1500, sentences = small ? 40 : 400;
  Measurement m;
  generator().set_state(seed, kHeldOut);
  const AgreementBatch held_out = agreement_batch(sentences);
  auto accuracy = [&](Encoder& model) {
    return accuracy_of(model.logits(held_out.ids), held_out.numbers);
  };
  for (bool batch : {false, true}) {
    const std::string name = batch ? "batch" : "layer";
    const Moved far = moved(batch);
    m.values[name + "_neighbour"] = far.by_neighbour;
    m.values[name + "_padding"] = far.by_padding;
    generator().set_state(seed, 0);
    Encoder model(batch);
    auto loss = [&](Index) {
      const AgreementBatch s = agreement_batch(4);
      return cross_entropy(model.logits(s.ids), s.numbers);
    };
    train(model, steps, 2e-3, loss,
          [&](double step) { m.curve("accuracy", name + " norm", step, accuracy(model)); });
    m.values[name] = accuracy(model);
    model.train();  // with the statistics of this batch
    m.values[name + "_own"] = accuracy(model);
  }
  m.values["difference"] = m.values["layer"] - m.values["batch"];
  return m;
}

}  // namespace glim::norms

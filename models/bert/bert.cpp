#include "models/bert/bert.hpp"

#include <algorithm>
#include <cmath>

#include "models/size_rows.hpp"
#include "nn/attention/mask.hpp"
#include "nn/init.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"

namespace glim {
namespace {

BertConfig checked(BertConfig c) {
  auto fail = [](const std::string& problem) { throw ValueError("bert", problem); };
  if (c.vocab < 2) fail("the vocabulary has no token but [MASK]");
  if (c.d_ff == 0) c.d_ff = 4 * c.d_model;
  if (c.d_model < 1 || c.d_ff < 1 || c.layers < 1 || c.max_len < 1)
    fail("d_model, d_ff, layers and max_len must be positive");
  if (!(c.init > 0)) fail("the deviation of the initial weights must be above 0");
  return c;
}

LayerSizes sizes_of(const BertConfig& c) {
  LayerSizes s{c.d_model, c.heads, c.d_ff, c.dropout, c.norm, c.activation, c.norm_eps};
  s.share_qk = c.share_qk;
  return s;
}

Index two_or_more(Index classes) {
  if (classes < 2) throw ValueError("bert", "a classifier needs at least two classes");
  return classes;
}

void initialise(Module& model, double deviation) {
  for (const Var& p : model.parameters())
    if (p.rank() > 1) normal_(p.value(), 0, deviation);
  zero_biases(model);
}

}  // namespace

Rows BertConfig::rows() {
  return {{"vocab", &vocab},
          {"max_len", &max_len},
          size_rows::layers(layers),
          size_rows::d_model(d_model),
          size_rows::heads(heads),
          size_rows::d_ff(d_ff),
          size_rows::dropout(dropout),
          size_rows::norm(norm),
          size_rows::activation(activation),
          {"norm_eps", &norm_eps},
          {"pad", &pad},
          size_rows::init(init),
          size_rows::positions(positions, size_rows::kAdded),
          size_rows::position_base(position_base),
          size_rows::share_qk(share_qk)};
}

Bert::Bert(const BertConfig& config)
    : config_(checked(config)),
      GLIM_NAMED(embed, config.vocab, config.d_model),
      GLIM_NAMED(positions, config.positions, config.d_model, 0, config.max_len,
                 config.position_base),  // dropout comes after the norm
      GLIM_NAMED(norm, config.d_model, config.norm_eps),
      GLIM_NAMED(dropout, config.dropout),
      GLIM_NAMED(encoder, config.layers, sizes_of(config_)) {
  initialise(*this, config.init);
}

Var Bert::forward(const Tensor& ids) {
  const AttentionRequest request{.keep = padding_keep(ids, config_.pad)};
  return encoder(dropout(norm(positions(embed(ids)))), request);
}

MaskedLanguageModel::MaskedLanguageModel(const BertConfig& config)
    : GLIM_NAMED(bert, config),
      GLIM_NAMED(transform, config.d_model, config.d_model),
      GLIM_NAMED(norm, config.d_model, config.norm_eps),
      GLIM_NAMED(generator, config.d_model, config.vocab) {
  generator.weight.tie(bert.embed.weight);
  initialise(*this, config.init);
}

Var MaskedLanguageModel::forward(const Tensor& ids, const Tensor& chosen) {
  require_indices("bert", chosen, ids.numel(), "chosen position");
  Var hidden = bert(ids);  // (B, S, D) -> (B·S, D) -> (M, D)
  Var picked = index_select(reshape(hidden, {ids.numel(), hidden.size(2)}), 0, chosen);
  return generator(norm(gelu(transform(picked))));
}

TokenClassifier::TokenClassifier(const BertConfig& config, Index classes)
    : GLIM_NAMED(bert, config),
      GLIM_NAMED(dropout, config.dropout),
      GLIM_NAMED(classifier, config.d_model, two_or_more(classes)) {
  initialise(*this, config.init);
}

Var TokenClassifier::forward(const Tensor& ids) { return classifier(dropout(bert(ids))); }

SequenceClassifier::SequenceClassifier(const BertConfig& config, Index classes, Pooling pooling)
    : GLIM_NAMED(bert, config),
      GLIM_NAMED(pooler, pooling == Pooling::First
                             ? std::make_unique<Linear>(config.d_model, config.d_model)
                             : nullptr),
      GLIM_NAMED(dropout, config.dropout),
      GLIM_NAMED(classifier, config.d_model, two_or_more(classes)) {
  initialise(*this, config.init);
}

Var SequenceClassifier::forward(const Tensor& ids) {
  Var hidden = bert(ids);  // (B, S, D)
  Var pooled = pooler ? tanh(pooler(select(hidden, 1, 0)))
                      : masked_mean(hidden, not_equal(ids, static_cast<double>(bert.config().pad)));
  return classifier(dropout(pooled));
}

Index chosen_count(Index n, double share) {
  auto nearest = static_cast<Index>(std::lround(share * static_cast<double>(n)));
  return std::min(n, std::max<Index>(nearest, 1));
}

Masked mask_tokens(const Tensor& ids, Index mask, const MaskingOptions& o, RandomKey key) {
  if (ids.rank() != 2 || ids.dtype() != DType::Int64)
    throw ShapeError("mask_tokens", "ids must be (B, S) int64", {{"ids", ids}});
  if (!(o.share >= 0 && o.share <= 1 && o.masked >= 0 && o.random >= 0 && o.masked + o.random <= 1))
    throw ValueError("mask_tokens", "the shares must be in [0, 1]");
  if (mask <= o.first_token) throw ValueError("mask_tokens", "the vocabulary has no tokens");
  std::uint64_t draws = 0;
  auto next = [&] { return uniform_at(key, draws++); };
  auto below = [&](Index n) {
    return std::min(static_cast<Index>(next() * static_cast<double>(n)), n - 1);
  };
  Tensor out = ids.clone().contiguous();
  Index* id = out.data<Index>();
  Index rows = ids.size(0), columns = ids.size(1);
  std::vector<Index> chosen, targets, candidates;
  for (Index b = 0; b < rows; ++b) {
    candidates.clear();
    for (Index position = b * columns; position < (b + 1) * columns; ++position)
      if (id[position] >= o.first_token && id[position] != mask) candidates.push_back(position);
    auto n = static_cast<Index>(candidates.size()), count = chosen_count(n, o.share);
    for (Index i = 0; i < count; ++i)  // the first steps of a shuffle (Fisher & Yates)
      std::swap(candidates[i], candidates[i + below(n - i)]);
    std::sort(candidates.begin(), candidates.begin() + count);
    for (Index i = 0; i < count; ++i) {
      Index position = candidates[i];
      chosen.push_back(position);
      targets.push_back(id[position]);
      double u = next();
      if (u < o.masked)
        id[position] = mask;
      else if (u < o.masked + o.random)
        id[position] = o.first_token + below(mask - o.first_token);
    }
  }
  auto found = static_cast<Index>(chosen.size());
  return {out, from_vector(chosen, {found}), from_vector(targets, {found})};
}

}  // namespace glim

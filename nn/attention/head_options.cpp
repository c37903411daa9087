#include "nn/attention/head_options.hpp"

#include <cmath>

#include "tensor/print.hpp"

namespace glim {

Index require_options(Index d_model, Index heads, const AttentionOptions& options) {
  const Index d_kv = width_of_heads(d_model, heads, options.kv_heads);
  if (options.share_qk && d_kv != d_model)
    throw ValueError("attention", "share_qk needs as many heads of keys and values as of queries");
  if (!(options.dropout >= 0 && options.dropout <= 1))
    throw ValueError("attention", "dropout " + number_text(options.dropout) + " is outside [0, 1]");
  if (!(options.scale >= 0 && std::isfinite(options.scale)))
    throw ValueError("attention",
                     "the scale must be 0 or above, and finite, not " + number_text(options.scale));
  if (options.form == AttentionForm::Linear && options.positions == Positions::Alibi)
    throw ValueError("attention",
                     "the linear form has no ALiBi positions: a lower score is no smaller weight");
  return d_model;
}

HeadOptions::HeadOptions(Module& owner, Index width, const AttentionOptions& options)
    : positions_(options.positions), scale_(options.scale), form_(options.form) {
  if (positions_ == Positions::Rotary)
    rotary_ = {owner, "rotary", std::make_unique<RotaryPositions>(width, options.rotary_base)};
  if (!options.qk_norm) return;
  auto norm = [&] { return std::make_unique<LayerNorm>(width, options.norm_eps, true, false); };
  q_norm_ = {owner, "q_norm", norm()};
  k_norm_ = {owner, "k_norm", norm()};
}

void HeadOptions::require_distances(const Var& query, const Var& key) const {
  const Tensor &q = query.value(), &k = key.value();
  const bool same = k.storage() == q.storage() && k.offset() == q.offset() &&
                    k.shape() == q.shape() && k.strides() == q.strides();
  if (is_relative(positions_) && key.defined() && !same)
    throw ValueError("attention",
                     "relative positions need self-attention: a query has no distance to a memory");
}

void HeadOptions::add_to(Heads& heads, const AttentionRequest& request) const {
  const Index offset = request.cache ? request.cache->length : 0;
  // Rotary and normed heads are never packed (InProjection::packs_).
  if (request.cache) heads.unpack();
  if (rotary_) {
    heads.query = rotary_(heads.query, offset);
    heads.key = rotary_(heads.key, offset);
  }
  if (q_norm_) {
    heads.query = normed_query(heads.query);
    heads.key = normed_key(heads.key);
  }
  if (request.cache) {
    request.cache->append(heads.key, heads.value);
    heads.key = request.cache->keys();
    heads.value = request.cache->values();
  }
  heads.mask = mask(heads, request, offset);
}

AttentionMask HeadOptions::mask(const Heads& heads, const AttentionRequest& request,
                                Index offset) const {
  const Shape scores = heads.scores();
  Var bias;
  if (positions_ == Positions::Alibi)
    bias = alibi_bias(scores[1], scores[2], scores[3], offset, heads.dtype());
  AttentionMask mask = combined(request, scores, offset, bias);
  mask.scale = scale_;
  mask.form = form_;
  return mask;
}

}  // namespace glim

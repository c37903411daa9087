#include "models/transformer/layers.hpp"

namespace glim {

AttentionOptions LayerSizes::attention(Positions relative) const {
  AttentionOptions o;
  o.dropout = attention_dropout.value_or(dropout);
  o.bias = bias;
  o.positions = relative;
  o.share_qk = share_qk;
  o.kv_heads = kv_heads;
  o.scale = attention_scale;
  o.qk_norm = qk_norm;
  o.norm_eps = norm_eps;
  o.form = form;
  return o;
}

Var EncoderLayer::forward(const Var& x, const AttentionRequest& request, KeyValueCache* cache) {
  Var attended = residual(sizes_.norm, x, norm1.get(), dropout1,
                          [&](const Var& h) { return self_attn(h, request, cache).y; });
  return residual(sizes_.norm, attended, norm2.get(), dropout2, [&](const Var& h) {
    return feed_forward(h, linear1, sizes_.activation, dropout, linear2, linear3.get());
  });
}

AttentionOutput DecoderLayer::forward(const Var& x, const Var& memory,
                                      const AttentionRequest& self_request,
                                      const AttentionRequest& memory_request,
                                      DecoderLayerCache* cache) {
  Var weights;
  Var y = residual(sizes_.norm, x, norm1.get(), dropout1, [&](const Var& h) {
    return self_attn(h, self_request, cache ? &cache->self : nullptr).y;
  });
  y = residual(sizes_.norm, y, norm2.get(), dropout2, [&](const Var& h) {
    AttentionOutput output = cache ? multihead_attn.attend(h, cache->memory, memory_request)
                                   : multihead_attn(h, memory, memory_request);
    weights = output.weights;
    return output.y;
  });
  y = residual(sizes_.norm, y, norm3.get(), dropout3, [&](const Var& h) {
    return feed_forward(h, linear1, sizes_.activation, dropout, linear2, linear3.get());
  });
  return {y, weights};
}

Var Encoder::forward(Var x, const AttentionRequest& request, std::vector<KeyValueCache>* caches) {
  bool again = recompute_ && training();
  for (std::size_t i = 0; i < layers.size(); ++i) {
    KeyValueCache* cache = caches ? &(*caches)[i] : nullptr;
    EncoderLayer& layer = layers[i];
    x = again ? recomputed([=, &layer] { return layer(x, request); }) : layer(x, request, cache);
  }
  return normed(x);
}

DecoderOutput Decoder::forward(Var x, const Var& memory, const AttentionRequest& self_request,
                               AttentionRequest memory_request,
                               std::vector<DecoderLayerCache>* caches) {
  DecoderOutput out;
  const bool probs = memory_request.need_weights, again = recompute_ && training() && !probs;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    DecoderLayerCache* cache = caches ? &(*caches)[i] : nullptr;
    memory_request.need_weights = probs && (!caches || i + 1 == layers.size());
    auto run = [=, &layer = layers[i]] {
      return layer(x, memory, self_request, memory_request, cache);
    };
    AttentionOutput one = again ? AttentionOutput{recomputed([=] { return run().y; }), {}} : run();
    if (memory_request.need_weights) out.attention.push_back(one.weights);
    x = one.y;
  }
  out.hidden = normed(x);
  return out;
}

}  // namespace glim

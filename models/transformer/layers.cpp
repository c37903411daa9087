#include "models/transformer/layers.hpp"

#include "autograd/ops.hpp"

namespace glim {
namespace {

AttentionOptions memory_options(const LayerSizes& s) {
  AttentionOptions o;
  o.dropout = s.attention_dropout < 0 ? s.dropout : s.attention_dropout;
  o.bias = s.bias;
  return o;
}
AttentionOptions self_options(const LayerSizes& s) {
  AttentionOptions o = memory_options(s);
  o.positions = s.positions;
  return o;
}

}  // namespace

EncoderLayer::EncoderLayer(const LayerSizes& s)
    : self_attn(child<MultiheadAttention>("self_attn", s.d_model, s.heads, self_options(s))),
      linear1(child<Linear>("linear1", s.d_model, s.d_ff, s.bias)),
      linear2(child<Linear>("linear2", s.d_ff, s.d_model, s.bias)),
      norm1(child<LayerNorm>("norm1", s.d_model, s.norm_eps, true, s.bias)),
      norm2(child<LayerNorm>("norm2", s.d_model, s.norm_eps, true, s.bias)),
      dropout(
          child<Dropout>("dropout", s.activation_dropout < 0 ? s.dropout : s.activation_dropout)),
      dropout1(child<Dropout>("dropout1", s.dropout)),
      dropout2(child<Dropout>("dropout2", s.dropout)),
      sizes_(s) {}

template <class Attend>
Var EncoderLayer::sublayers(const Var& x, const Attend& attend) {
  Scope scope = enter();
  Var attended = residual(sizes_.norm, x, norm1, dropout1, attend);
  return residual(sizes_.norm, attended, norm2, dropout2, [&](const Var& h) {
    return feed_forward(h, linear1, sizes_.activation, dropout, linear2);
  });
}

Var EncoderLayer::forward(const Var& x, const AttentionRequest& request) {
  return sublayers(x, [&](const Var& h) { return self_attn.forward(h, request).y; });
}

Var EncoderLayer::forward_cached(const Var& x, KeyValueCache& cache) {
  AttentionRequest causal;
  causal.causal = x.size(1) > 1;  // a single new position may attend to all before it
  return sublayers(x, [&](const Var& h) { return self_attn.forward_cached(h, cache, causal).y; });
}

DecoderLayer::DecoderLayer(const LayerSizes& s)
    : self_attn(child<MultiheadAttention>("self_attn", s.d_model, s.heads, self_options(s))),
      multihead_attn(
          child<MultiheadAttention>("multihead_attn", s.d_model, s.heads, memory_options(s))),
      linear1(child<Linear>("linear1", s.d_model, s.d_ff, s.bias)),
      linear2(child<Linear>("linear2", s.d_ff, s.d_model, s.bias)),
      norm1(child<LayerNorm>("norm1", s.d_model, s.norm_eps, true, s.bias)),
      norm2(child<LayerNorm>("norm2", s.d_model, s.norm_eps, true, s.bias)),
      norm3(child<LayerNorm>("norm3", s.d_model, s.norm_eps, true, s.bias)),
      dropout(
          child<Dropout>("dropout", s.activation_dropout < 0 ? s.dropout : s.activation_dropout)),
      dropout1(child<Dropout>("dropout1", s.dropout)),
      dropout2(child<Dropout>("dropout2", s.dropout)),
      dropout3(child<Dropout>("dropout3", s.dropout)),
      sizes_(s) {}

Var DecoderLayer::forward(const Var& x, const Var& memory, const AttentionRequest& self_request,
                          const AttentionRequest& memory_request, Var* attention) {
  Scope scope = enter();
  Var own = residual(sizes_.norm, x, norm1, dropout1,
                     [&](const Var& h) { return self_attn.forward(h, self_request).y; });
  Var read = residual(sizes_.norm, own, norm2, dropout2, [&](const Var& h) {
    AttentionRequest request = memory_request;
    if (attention) {
      request.need_weights = true;
      request.average_weights = false;
    }
    AttentionOutput out = multihead_attn.forward(h, memory, memory, request);
    if (attention) *attention = out.weights;
    return out.y;
  });
  return residual(sizes_.norm, read, norm3, dropout3, [&](const Var& h) {
    return feed_forward(h, linear1, sizes_.activation, dropout, linear2);
  });
}

Var DecoderLayer::forward_cached(const Var& x, DecoderLayerCache& cache,
                                 const AttentionRequest& memory_request, Tensor* weights) {
  Scope scope = enter();
  AttentionRequest causal;
  causal.causal = x.size(1) > 1;  // a single new position may attend to all before it
  Var own = residual(sizes_.norm, x, norm1, dropout1, [&](const Var& h) {
    return self_attn.forward_cached(h, cache.self, causal).y;
  });
  Var read = residual(sizes_.norm, own, norm2, dropout2, [&](const Var& h) {
    AttentionRequest request = memory_request;
    request.need_weights = weights != nullptr;
    AttentionOutput out = multihead_attn.attend(h, cache.memory, request);
    if (weights) *weights = out.weights.value();
    return out.y;
  });
  return residual(sizes_.norm, read, norm3, dropout3, [&](const Var& h) {
    return feed_forward(h, linear1, sizes_.activation, dropout, linear2);
  });
}

Encoder::Encoder(Index count, const LayerSizes& sizes)
    : layers(child<ModuleList<EncoderLayer>>("layers")), recompute_(sizes.recompute) {
  for (Index i = 0; i < count; ++i) layers.append(sizes);
  if (sizes.norm == NormPlacement::Pre)
    norm = &child<LayerNorm>("norm", sizes.d_model, sizes.norm_eps, true, sizes.bias);
}

Var Encoder::forward(Var x, const AttentionRequest& request) {
  Scope scope = enter();
  bool again = recompute_ && training();
  for (EncoderLayer* layer : layers)
    x = again ? recomputed([=] { return layer->forward(x, request); }) : layer->forward(x, request);
  return norm ? norm->forward(x) : x;
}

Var Encoder::forward_cached(Var x, std::vector<KeyValueCache>& caches) {
  Scope scope = enter();
  for (std::size_t i = 0; i < layers.size(); ++i) x = layers[i].forward_cached(x, caches[i]);
  return norm ? norm->forward(x) : x;
}

Decoder::Decoder(Index count, const LayerSizes& sizes)
    : layers(child<ModuleList<DecoderLayer>>("layers")), recompute_(sizes.recompute) {
  for (Index i = 0; i < count; ++i) layers.append(sizes);
  if (sizes.norm == NormPlacement::Pre)
    norm = &child<LayerNorm>("norm", sizes.d_model, sizes.norm_eps, true, sizes.bias);
}

Var Decoder::forward(Var x, const Var& memory, const AttentionRequest& self_request,
                     const AttentionRequest& memory_request, std::vector<Var>* attention) {
  Scope scope = enter();
  bool again = recompute_ && training() && !attention;
  for (DecoderLayer* layer : layers) {
    Var* own = attention ? &attention->emplace_back() : nullptr;
    x = again ? recomputed([=] { return layer->forward(x, memory, self_request, memory_request); })
              : layer->forward(x, memory, self_request, memory_request, own);
  }
  return norm ? norm->forward(x) : x;
}

Var Decoder::forward_cached(Var x, std::vector<DecoderLayerCache>& caches,
                            const AttentionRequest& memory_request, Tensor* weights) {
  Scope scope = enter();
  for (std::size_t i = 0; i < layers.size(); ++i) {
    bool last = i + 1 == layers.size();
    x = layers[i].forward_cached(x, caches[i], memory_request, last ? weights : nullptr);
  }
  return norm ? norm->forward(x) : x;
}

}  // namespace glim

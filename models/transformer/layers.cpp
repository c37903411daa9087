#include "models/transformer/layers.hpp"

#include "tensor/print.hpp"

namespace glim {
namespace {

// A single new position may attend to all before it.
AttentionRequest causal_among(const Var& x) {
  AttentionRequest request;
  request.causal = x.size(1) > 1;
  return request;
}

}  // namespace

AttentionOptions LayerSizes::attention(Positions relative) const {
  AttentionOptions o;
  o.dropout = attention_dropout.value_or(dropout);
  o.bias = bias;
  o.positions = relative;
  return o;
}

void check_layers(std::string_view model, Index d_model, Index heads, double dropout) {
  if (heads < 1 || d_model % heads != 0)
    throw ValueError(
        model, std::to_string(heads) + " heads do not divide d_model " + std::to_string(d_model));
  if (!(dropout >= 0 && dropout < 1))
    throw ValueError(model, "dropout " + number_text(dropout) + " lies outside [0, 1)");
}

template <class Attend>
Var EncoderLayer::sublayers(const Var& x, const Attend& attend) {
  Var attended = residual(sizes_.norm, x, norm1, dropout1, attend);
  return residual(sizes_.norm, attended, norm2, dropout2, [&](const Var& h) {
    return feed_forward(h, linear1, sizes_.activation, dropout, linear2);
  });
}

Var EncoderLayer::forward(const Var& x, const AttentionRequest& request) {
  return sublayers(x, [&](const Var& h) { return self_attn(h, request).y; });
}

Var EncoderLayer::forward(const Var& x, KeyValueCache& cache) {
  return sublayers(x, [&](const Var& h) { return self_attn(h, cache, causal_among(x)).y; });
}

// The layer's output, and the attention to the memory as `read` gives it.
template <class Attend, class Read>
AttentionOutput DecoderLayer::sublayers(const Var& x, const Attend& attend, const Read& read) {
  Var weights;
  Var y = residual(sizes_.norm, x, norm1, dropout1, attend);
  y = residual(sizes_.norm, y, norm2, dropout2, [&](const Var& h) {
    AttentionOutput seen = read(h);
    weights = seen.weights;
    return seen.y;
  });
  y = residual(sizes_.norm, y, norm3, dropout3, [&](const Var& h) {
    return feed_forward(h, linear1, sizes_.activation, dropout, linear2);
  });
  return {y, weights};
}

AttentionOutput DecoderLayer::forward(const Var& x, const Var& memory,
                                      const AttentionRequest& self_request,
                                      const AttentionRequest& memory_request) {
  return sublayers(
      x, [&](const Var& h) { return self_attn(h, self_request).y; },
      [&](const Var& h) { return multihead_attn(h, memory, memory_request); });
}

AttentionOutput DecoderLayer::forward(const Var& x, DecoderLayerCache& cache,
                                      const AttentionRequest& memory_request) {
  return sublayers(
      x, [&](const Var& h) { return self_attn(h, cache.self, causal_among(x)).y; },
      [&](const Var& h) { return multihead_attn.attend(h, cache.memory, memory_request); });
}

Var Encoder::forward(Var x, const AttentionRequest& request) {
  bool again = recompute_ && training();
  for (EncoderLayer& layer : layers)
    x = again ? recomputed([=, &layer] { return layer(x, request); }) : layer(x, request);
  return normed(x);
}

Var Encoder::forward(Var x, std::vector<KeyValueCache>& caches) {
  for (std::size_t i = 0; i < layers.size(); ++i) x = layers[i](x, caches[i]);
  return normed(x);
}

DecoderOutput Decoder::forward(Var x, const Var& memory, const AttentionRequest& self_request,
                               const AttentionRequest& memory_request) {
  DecoderOutput out;
  bool again = recompute_ && training() && !memory_request.need_weights;
  for (DecoderLayer& layer : layers) {
    auto run = [=, &layer] { return layer(x, memory, self_request, memory_request); };
    AttentionOutput one = again ? AttentionOutput{recomputed([=] { return run().y; }), {}} : run();
    if (memory_request.need_weights) out.attention.push_back(one.weights);
    x = one.y;
  }
  out.hidden = normed(x);
  return out;
}

AttentionOutput Decoder::forward(Var x, std::vector<DecoderLayerCache>& caches,
                                 const AttentionRequest& memory_request) {
  AttentionOutput out{x, {}};
  for (std::size_t i = 0; i < layers.size(); ++i) {
    AttentionRequest request = memory_request;
    request.need_weights = memory_request.need_weights && i + 1 == layers.size();
    out = layers[i](out.y, caches[i], request);
  }
  out.y = normed(out.y);
  return out;
}

}  // namespace glim

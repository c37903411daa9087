#include "nn/attention/multihead.hpp"

#include "nn/init.hpp"
#include "tensor/print.hpp"

namespace glim {

// y = join(attention(split(Q W^Q), split(K W^K), split(V W^V))) W^O
AttentionOutput MultiheadAttention::forward(const Var& query, const Var& key, const Var& value,
                                            const AttentionRequest& request) {
  check(query, key, value);
  Var q = split_heads(project(query, Query, Query));  // (B, T, D) -> (B, H, T, Dh)
  Var k = split_heads(project(key, Key, Key));
  Var v = split_heads(project(value, Value, Value));
  return attend_heads(rotated(q), rotated(k), v, mask(request, q, k), request);
}

AttentionOutput MultiheadAttention::attend_heads(const Var& query, const Var& key, const Var& value,
                                                 const AttentionMask& mask,
                                                 const AttentionRequest& request) {
  AttentionResult a = scaled_dot_product_attention(
      named(query, "query"), named(repeated(key, h_), "key"), named(repeated(value, h_), "value"),
      mask, dropout(), dropout_key(), request.need_weights);
  a.context = join_heads(a.context);  // (B, H, T, Dh) -> (B, T, D)
  return project_out(a, request.average_weights);
}

AttentionOutput MultiheadAttention::project_out(const AttentionResult& a, bool average) {
  return {out_proj(a.context), average && a.probs.defined() ? mean(a.probs, {1}) : a.probs};
}

Var MultiheadAttention::project(const Var& x, Part first, Part last) const {
  auto rows = [&](const Var& v) {
    const bool all = !v.defined() || (first == Query && last == Value);
    return all ? v : slice(v, 0, begin(first), end(last));
  };
  Var bias = rows(in_proj_bias);
  return linear(x, rows(in_proj_weight), bias);
}

// The rows of query and key, heads or not, are their last axis but one.
AttentionMask MultiheadAttention::mask(const AttentionRequest& request, const Var& query,
                                       const Var& key, Index offset) const {
  const Index t = query.size(-2), s = key.size(-2);
  const bool alibi = options_.positions == Positions::Alibi;
  Var bias = alibi ? Var(alibi_bias(h_, t, s, offset, out_proj.weight.dtype())) : Var();
  return combined(request, {query.size(0), h_, t, s}, offset, bias);
}

MultiheadAttention::MultiheadAttention(Index d_model, Index heads, AttentionOptions options,
                                       bool packed)
    : options_(options),
      d_(d_model),
      h_(heads),
      d_kv_(width_of_heads(d_, h_, options.kv_heads)),
      GLIM_NAMED(out_proj, d_, d_, options_.bias),
      GLIM_NAMED(in_proj_weight, packed ? empty({end(Value), d_}) : Tensor()),
      GLIM_NAMED(in_proj_bias, options_.bias ? zeros({end(Value)}) : Tensor()) {
  if (options_.share_qk && d_kv_ != d_)
    throw ValueError("attention", "share_qk needs as many heads of keys and values as of queries");
  if (!(options_.dropout >= 0 && options_.dropout <= 1))
    throw ValueError("attention",
                     "dropout " + number_text(options_.dropout) + " is outside [0, 1]");
  if (packed) xavier_uniform_(in_proj_weight.value());
  if (options_.bias) out_proj.bias.value().fill_(0);
  if (options_.positions == Positions::Rotary)
    rotary_ = {*this, "rotary", std::make_unique<RotaryPositions>(d_ / h_, options_.rotary_base)};
}

void MultiheadAttention::check(const Var& query, const Var& key, const Var& value) const {
  const bool fits = query.rank() == 3 && key.rank() == 3 && key.size(2) == d_ &&
                    query.shape() == Shape{key.size(0), query.size(1), d_} &&
                    value.shape() == key.shape();
  if (!fits)
    throw ShapeError("attention",
                     "query must be (B, T, D), key and value (B, S, D), D = " + std::to_string(d_),
                     {{"query", query}, {"key", key}, {"value", value}});
}

}  // namespace glim

#include "nn/attention/in_projection.hpp"

#include "nn/init.hpp"

namespace glim {

InProjection::InProjection(Module& owner, Index d_model, Index heads,
                           const AttentionOptions& options, bool stored)
    : d_(d_model),
      h_(heads),
      d_kv_(width_of_heads(d_model, heads, options.kv_heads)),
      share_qk_(options.share_qk),
      packs_(!share_qk_ && d_kv_ == d_ && options.positions != Positions::Rotary &&
             !options.qk_norm),
      weight(owner, "in_proj_weight", stored ? empty({end(Value), d_}) : Tensor()),
      bias(owner, "in_proj_bias", options.bias ? zeros({end(Value)}) : Tensor()) {
  if (stored) xavier_uniform_(weight.value());
}

Var InProjection::project(const Var& x, Part first, Part last) const {
  auto rows = [&](const Var& v) {
    const bool all = !v.defined() || (first == Query && last == Value);
    return all ? v : slice(v, 0, begin(first), end(last));
  };
  Var b = rows(bias);
  return linear(x, rows(weight), b);
}

Heads InProjection::operator()(const Operand& query, const Var& key, const Var& value) const {
  CallSite site(query.where());
  const Var& keys = key.defined() ? key : *query;
  const Var& values = value.defined() ? value : keys;
  const bool fits = query->rank() == 3 && keys.rank() == 3 && keys.size(2) == d_ &&
                    query->shape() == Shape{keys.size(0), query->size(1), d_} &&
                    values.shape() == keys.shape();
  if (!fits)
    throw ShapeError("attention",
                     "query must be (B, T, D), key and value (B, S, D), D = " + std::to_string(d_),
                     {{"query", *query}, {"key", keys}, {"value", values}});
  // One input, or one for key and value, is projected by one product in place of three.
  if (!key.defined() && !value.defined()) {
    Var packed = project(*query, Query, Value);  // [Q K V] (B, T, 3D), with share_qk (B, T, 2D)
    if (packs_) return Heads(h_, packed, {});
    auto part = [&](Part i) { return split(slice(packed, 2, begin(i), end(i))); };
    Var q = part(Query), k = part(Key), v = part(Value);
    return Heads(h_, q, k, v);
  }
  if (!value.defined() && packs_) {
    Var packed = project(keys, Key, Value);  // [K V] (B, S, 2D)
    return Heads(h_, project(*query, Query, Query), packed);
  }
  Var q = heads(*query, Query), k = heads(keys, Key), v = heads(values, Value);
  return Heads(h_, q, k, v);
}

}  // namespace glim

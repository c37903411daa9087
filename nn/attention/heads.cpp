#include "nn/attention/heads.hpp"

namespace glim {

void Heads::unpack() {
  if (!packed_.defined()) return;
  const Var& kv = memory_.defined() ? memory_ : packed_;  // its last 2D columns are [K V]
  const Index d = packed_.size(2) / (memory_.defined() ? 1 : 3);
  auto columns = [&](const Var& x, Index start) {
    return split_heads(slice(x, 2, start, start + d), count_);
  };
  query = columns(packed_, 0);
  key = columns(kv, kv.size(2) - 2 * d);
  value = columns(kv, kv.size(2) - d);
  packed_ = memory_ = {};
}

Shape Heads::scores() const {
  const Var& q = packed_.defined() ? packed_ : query;
  const Var& k = memory_.defined() ? memory_ : packed_.defined() ? packed_ : key;
  return {q.size(0), count_, q.size(-2), k.size(-2)};
}

AttentionResult Heads::attend(double dropout, RandomKey dropout_key, bool need_weights,
                              Where where) const {
  CallSite site(where);
  if (packed_.defined())
    return packed_attention(packed_, memory_, count_, mask, dropout, dropout_key, need_weights);
  Var v = named(repeated(value, count_), "value"), k = named(repeated(key, count_), "key");
  AttentionResult a = scaled_dot_product_attention(named(query, "query"), k, v, mask, dropout,
                                                   dropout_key, need_weights);
  a.context = join_heads(a.context);  // (B, H, T, Dh) -> (B, T, D)
  return a;
}

}  // namespace glim

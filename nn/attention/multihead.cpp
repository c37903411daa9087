#include "nn/attention/multihead.hpp"

#include "nn/attention/mask.hpp"
#include "nn/init.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"

namespace glim {

MultiheadAttention::MultiheadAttention(Index d_model, Index heads, AttentionOptions options)
    : d_(d_model), h_(heads), options_(options), out_proj_([&]() -> Linear& {
        if (heads < 1 || d_model < 1 || d_model % heads != 0)
          throw ValueError("attention", std::to_string(heads) + " heads do not divide d_model " +
                                            std::to_string(d_model));
        if (!(options.dropout >= 0 && options.dropout <= 1))
          throw ValueError("attention", "dropout lies outside [0, 1]");
        return child<Linear>("out_proj", d_model, d_model, options.bias);
      }()) {
  if (options_.positions == RelativePositions::Rotary)
    rotary_ = &child<RotaryPositions>("rotary", d_ / h_, options_.rotary_base);
  if (options_.kdim == 0) options_.kdim = d_;
  if (options_.vdim == 0) options_.vdim = d_;
  auto matrix = [](Index rows, Index columns) {
    Tensor w = empty({rows, columns});
    xavier_uniform_(w);
    return w;
  };
  if (options_.kdim == d_ && options_.vdim == d_) {
    in_proj_weight_ = parameter("in_proj_weight", matrix(3 * d_, d_));
  } else {
    q_proj_weight_ = parameter("q_proj_weight", matrix(d_, d_));
    k_proj_weight_ = parameter("k_proj_weight", matrix(d_, options_.kdim));
    v_proj_weight_ = parameter("v_proj_weight", matrix(d_, options_.vdim));
  }
  if (options_.bias) {
    in_proj_bias_ = parameter("in_proj_bias", zeros({3 * d_}));
    out_proj_.bias.value().fill_(0);
  }
  if (options_.add_bias_kv) {
    bias_k_ = parameter("bias_k", matrix(1, d_).reshape({1, 1, d_}));
    bias_v_ = parameter("bias_v", matrix(1, d_).reshape({1, 1, d_}));
  }
}

// x W_partᵀ + b_part for `parts` neighbouring parts at once: (B, T, parts·D).
Var MultiheadAttention::project_part(const Var& x, int part, int parts) {
  Index first = part * d_, last = (part + parts) * d_;
  auto rows = [&](const Var& v) { return parts == 3 ? v : slice(v, 0, first, last); };
  Var bias = options_.bias ? rows(in_proj_bias_) : Var();
  if (in_proj_weight_.defined()) return linear(x, rows(in_proj_weight_), bias);
  return linear(x, part == 0 ? q_proj_weight_ : part == 1 ? k_proj_weight_ : v_proj_weight_, bias);
}

Var MultiheadAttention::split_heads(const Var& x) const {
  // (B, T, D) -> (B, T, H, Dh) -> (B, H, T, Dh)
  return permute(reshape(x, {x.size(0), x.size(1), h_, d_ / h_}), {0, 2, 1, 3});
}

// Heads (..., T, Dh) at the positions from `offset` on.
Var MultiheadAttention::placed(const Var& heads, Index offset) const {
  return rotary_ ? rotary_->forward(heads, offset) : heads;
}

void MultiheadAttention::check(const Var& query, const Var& key, const Var& value) const {
  auto fail = [&](const char* problem) {
    ShapeError e("attention", problem);
    e.set_place(Scope::path(), "");
    throw with_operands(std::move(e), Operand("query", query.value()), Operand("key", key.value()),
                        Operand("value", value.value()));
  };
  if (query.rank() != 3 || key.rank() != 3 || value.rank() != 3)
    fail("query (B, T, D), key (B, S, kdim) and value (B, S, vdim) are wanted");
  if (query.size(0) != key.size(0) || key.size(0) != value.size(0)) fail("batch extents B differ");
  if (key.size(1) != value.size(1)) fail("key and value differ in length S");
  if (query.size(2) != d_) fail("query has not d_model columns");
  if (key.size(2) != options_.kdim) fail("key has not kdim columns");
  if (value.size(2) != options_.vdim) fail("value has not vdim columns");
}

// All conditions as one mask that broadcasts to (B, H, T, S + extra); the extra keys that the
// module itself appends are always kept.
AttentionMask MultiheadAttention::combine(const AttentionRequest& r, Index b, Index t, Index s,
                                          Index extra, Index offset) const {
  auto fit = [&](const Tensor& m, const char* name) -> Shape {
    bool fits = false;
    Shape to = m.shape();
    if (m.rank() == 2) {
      fits = to == Shape{t, s};
      to = {1, 1, t, s};
    } else if (m.rank() == 3) {
      fits = to == Shape{b * h_, t, s};
      to = {b, h_, t, s};
    } else if (m.rank() == 4) {
      Shape full{b, h_, t, s};
      fits = true;
      for (int i = 0; i < 4; ++i) fits = fits && (to[i] == 1 || to[i] == full[i]);
    }
    if (!fits) {
      ShapeError e("attention", std::string(name) +
                                    " fits neither (T, S), (B·H, T, S) nor (B, H, T, S) = " +
                                    to_string(Shape{b, h_, t, s}));
      e.set_place(Scope::path(), "");
      throw with_operands(std::move(e), Operand(name, m));
    }
    return to;
  };
  auto fit_keys = [&](const Tensor& m, const char* name) {
    if (m.shape() != Shape{b, s}) {
      ShapeError e("attention", std::string(name) + " must be (B, S) = " + to_string(Shape{b, s}));
      e.set_place(Scope::path(), "");
      throw with_operands(std::move(e), Operand(name, m));
    }
    return Shape{b, 1, 1, s};
  };
  AttentionMask mask;
  auto keep = [&](const Tensor& more) {
    if (more.dtype() != DType::Bool)
      throw with_operands(DTypeError("attention", "a keep-mask must be bool"),
                          Operand("keep", more));
    mask.keep = mask.keep.defined() ? logical_and(mask.keep, more) : more;
  };
  auto bias = [&](const Var& more) {
    mask.bias = mask.bias.defined() ? add(mask.bias, more) : more;
  };
  if (r.keep.defined()) keep(r.keep.reshape(fit(r.keep, "keep")));
  if (r.key_keep.defined()) keep(r.key_keep.reshape(fit_keys(r.key_keep, "key_keep")));
  if (r.causal) keep(causal_keep(t, s, offset));
  if (options_.positions == RelativePositions::Alibi)
    bias(Var(alibi_bias(h_, t, s, offset, out_proj_.weight.dtype())));
  if (r.bias.defined()) bias(reshape(r.bias, fit(r.bias.value(), "bias")));
  if (r.key_bias.defined()) bias(reshape(r.key_bias, fit_keys(r.key_bias.value(), "key_bias")));
  if (extra > 0 && mask.keep.defined()) {
    Shape shape = mask.keep.shape();
    shape[3] = s;
    Shape more = shape;
    more[3] = extra;
    mask.keep =
        concatenate(std::vector<Tensor>{mask.keep.expand(shape), ones(more, DType::Bool)}, 3);
  }
  if (extra > 0 && mask.bias.defined()) {
    Shape shape = mask.bias.shape();
    shape[3] = s;
    Shape more = shape;
    more[3] = extra;
    Var wide = mask.bias.shape() == shape ? mask.bias : broadcast_to(mask.bias, shape);
    mask.bias = concatenate(std::vector<Var>{wide, Var(zeros(more, mask.bias.dtype()))}, 3);
  }
  return mask;
}

AttentionOutput MultiheadAttention::attend_heads(const Projected& p,
                                                 const AttentionRequest& request, Index offset) {
  Index b = p.query.size(0), t = p.query.size(2), s = p.key.size(2), dh = d_ / h_;
  Var key = p.key, value = p.value;
  if (options_.add_bias_kv) {
    auto one = [&](const Var& v) {  // (1, 1, D) -> (B, H, 1, Dh)
      return broadcast_to(permute(reshape(v, {1, 1, h_, dh}), {0, 2, 1, 3}), {b, h_, 1, dh});
    };
    key = concatenate(std::vector<Var>{key, one(bias_k_)}, 2);
    value = concatenate(std::vector<Var>{value, one(bias_v_)}, 2);
  }
  if (options_.add_zero_attn) {
    Var none(zeros({b, h_, 1, dh}, key.dtype()));
    key = concatenate(std::vector<Var>{key, none}, 2);
    value = concatenate(std::vector<Var>{value, none}, 2);
  }
  AttentionMask mask = combine(request, b, t, s, key.size(2) - s, offset);
  double p_drop = training() ? options_.dropout : 0;
  Attended a = scaled_dot_product_attention(
      named(p.query, "query"), named(key, "key"), named(value, "value"), mask, p_drop,
      p_drop > 0 ? generator().next() : Key{}, request.need_weights);
  // (B, H, T, Dh) -> (B, T, H, Dh) -> (B, T, D)
  a.context = reshape(permute(a.context, {0, 2, 1, 3}), {b, t, d_});
  return project_out(a, request);
}

// Nothing stands between the projections and the heads: no rotation, no added keys.
bool MultiheadAttention::packs() const {
  return in_proj_weight_.defined() && !rotary_ && !options_.add_bias_kv && !options_.add_zero_attn;
}

AttentionOutput MultiheadAttention::attend_packed(const Var& x, const Var& memory,
                                                  const AttentionRequest& request) {
  Index t = x.size(1), s = memory.defined() ? memory.size(1) : t;
  AttentionMask mask = combine(request, x.size(0), t, s, 0, 0);
  double p_drop = training() ? options_.dropout : 0;
  return project_out(
      packed_attention(x, memory, h_, mask, p_drop, p_drop > 0 ? generator().next() : Key{},
                       request.need_weights),
      request);
}

AttentionOutput MultiheadAttention::project_out(const Attended& a,
                                                const AttentionRequest& request) {
  AttentionOutput out{out_proj_.forward(a.context), {}};
  if (request.need_weights) out.weights = request.average_weights ? mean(a.probs, {1}) : a.probs;
  return out;
}

AttentionOutput MultiheadAttention::forward(const Var& query, const Var& key, const Var& value,
                                            const AttentionRequest& request) {
  Scope scope = enter();
  if (!options_.batch_first) {
    auto swap = [](const Var& v) { return v.rank() == 3 ? transpose(v, 0, 1) : v; };
    Var q = swap(query), k = swap(key), v = swap(value);
    check(q, k, v);
    AttentionOutput out = attend_heads(
        {placed(split_heads(project_part(q, 0, 1)), 0),
         placed(split_heads(project_part(k, 1, 1)), 0), split_heads(project_part(v, 2, 1))},
        request, 0);
    out.y = transpose(out.y, 0, 1);
    return out;
  }
  check(query, key, value);
  if (&key == &value && packs()) {  // attention to a memory: one product for both
    Var memory = project_part(key, 1, 2);
    return attend_packed(project_part(query, 0, 1), memory, request);
  }
  Var projected_key = project_part(key, 1, 1), projected_value = project_part(value, 2, 1);
  return attend_heads({placed(split_heads(project_part(query, 0, 1)), 0),
                       placed(split_heads(projected_key), 0), split_heads(projected_value)},
                      request, 0);
}

AttentionOutput MultiheadAttention::forward(const Var& x, const AttentionRequest& request) {
  if (!options_.batch_first || !in_proj_weight_.defined()) return forward(x, x, x, request);
  Scope scope = enter();
  check(x, x, x);
  Var packed = project_part(x, 0, 3);  // (B, T, 3D)
  if (packs()) return attend_packed(packed, {}, request);
  auto part = [&](Index i) { return split_heads(slice(packed, 2, i * d_, (i + 1) * d_)); };
  return attend_heads({placed(part(0), 0), placed(part(1), 0), part(2)}, request, 0);
}

Var MultiheadAttention::forward_head_by_head(const Var& query, const Var& key, const Var& value,
                                             const AttentionRequest& request) {
  Scope scope = enter();
  check(query, key, value);
  if (options_.add_bias_kv || options_.add_zero_attn || (training() && options_.dropout > 0))
    throw ValueError("attention", "head by head, without added keys and without dropout only");
  Index dh = d_ / h_;
  AttentionMask mask = combine(request, query.size(0), query.size(1), key.size(1), 0, 0);
  auto part = [&](const Var& x, int which, Index head) {
    Var weight = in_proj_weight_.defined() ? slice(in_proj_weight_, 0, which * d_, (which + 1) * d_)
                 : which == 0              ? q_proj_weight_
                 : which == 1              ? k_proj_weight_
                                           : v_proj_weight_;
    Var bias = options_.bias
                   ? slice(in_proj_bias_, 0, which * d_ + head * dh, which * d_ + (head + 1) * dh)
                   : Var();
    return linear(x, slice(weight, 0, head * dh, (head + 1) * dh), bias);  // (B, T, Dh)
  };
  std::vector<Var> contexts;
  for (Index head = 0; head < h_; ++head) {
    AttentionMask own;  // (B or 1, H or 1, T, S) -> (B or 1, T, S)
    if (mask.keep.defined()) own.keep = mask.keep.select(1, mask.keep.size(1) == 1 ? 0 : head);
    if (mask.bias.defined()) own.bias = select(mask.bias, 1, mask.bias.size(1) == 1 ? 0 : head);
    contexts.push_back(scaled_dot_product_attention(placed(part(query, 0, head), 0),
                                                    placed(part(key, 1, head), 0),
                                                    part(value, 2, head), own)
                           .context);
  }
  return out_proj_.forward(concatenate(contexts, -1));
}

AttentionOutput MultiheadAttention::forward_cached(const Var& x, KeyValueCache& cache,
                                                   const AttentionRequest& request) {
  Scope scope = enter();
  check(x, x, x);
  Var query, key, value;
  if (in_proj_weight_.defined()) {
    Var packed = project_part(x, 0, 3);
    auto part = [&](Index i) { return split_heads(slice(packed, 2, i * d_, (i + 1) * d_)); };
    query = part(0);
    key = part(1);
    value = part(2);
  } else {
    query = split_heads(project_part(x, 0, 1));
    key = split_heads(project_part(x, 1, 1));
    value = split_heads(project_part(x, 2, 1));
  }
  Index offset = cache.length;
  query = placed(query, offset);
  key = placed(key, offset);
  cache.append(key.value(), value.value());
  return attend_heads({query, Var(cache.key.narrow(2, 0, cache.length)),
                       Var(cache.value.narrow(2, 0, cache.length))},
                      request, offset);
}

KeyValueCache MultiheadAttention::project(const Var& memory) {
  Scope scope = enter();
  if (options_.positions != RelativePositions::None)
    throw ValueError("attention",
                     "relative positions are self-attention's: a query has no distance "
                     "to a memory");
  KeyValueCache cache;
  cache.append(split_heads(project_part(memory, 1, 1)).value(),
               split_heads(project_part(memory, 2, 1)).value());
  return cache;
}

AttentionOutput MultiheadAttention::attend(const Var& x, const KeyValueCache& cache,
                                           const AttentionRequest& request) {
  Scope scope = enter();
  Index rows = x.size(0), t = x.size(1), memories = cache.key.size(0);
  if (memories < 1 || rows % memories != 0)
    throw ShapeError("attention", std::to_string(rows) + " rows do not share " +
                                      std::to_string(memories) + " memories evenly");
  // (B·K, T, D) -> (B, K·T, D): the K rows of a memory are its queries.
  Var queries = rows == memories ? x : reshape(x, {memories, rows / memories * t, d_});
  AttentionOutput out = attend_heads(
      {split_heads(project_part(queries, 0, 1)), Var(cache.key.narrow(2, 0, cache.length)),
       Var(cache.value.narrow(2, 0, cache.length))},
      request, 0);
  if (rows == memories) return out;
  out.y = reshape(out.y, {rows, t, d_});
  if (!out.weights.defined()) return out;
  if (out.weights.rank() == 3) {  // (B, K·T, S) -> (B·K, T, S)
    out.weights = reshape(out.weights, {rows, t, cache.length});
  } else {  // (B, H, K·T, S) -> (B, H, K, T, S) -> (B, K, H, T, S) -> (B·K, H, T, S)
    Var apart = reshape(out.weights, {memories, h_, rows / memories, t, cache.length});
    out.weights = reshape(permute(apart, {0, 2, 1, 3, 4}), {rows, h_, t, cache.length});
  }
  return out;
}

}  // namespace glim

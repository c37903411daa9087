#include "nn/attention/multihead.hpp"

#include "nn/init.hpp"
#include "tensor/ops/index.hpp"

namespace glim {
namespace {

AttentionOptions checked(Index d_model, Index heads, AttentionOptions options) {
  if (heads < 1 || d_model < 1 || d_model % heads != 0)
    throw ValueError("attention", std::to_string(heads) + " heads do not divide d_model " +
                                      std::to_string(d_model));
  if (!(options.dropout >= 0 && options.dropout <= 1))
    throw ValueError("attention",
                     "dropout " + std::to_string(options.dropout) + " lies outside [0, 1]");
  if (!options.kdim) options.kdim = d_model;
  if (!options.vdim) options.vdim = d_model;
  return options;
}

bool one_width(const AttentionOptions& o, Index d) { return o.kdim == d && o.vdim == d; }

Tensor xavier_matrix(bool wanted, Index rows, Index columns) {
  if (!wanted) return {};
  Tensor w = empty({rows, columns});
  xavier_uniform_(w);
  return w;
}
Tensor xavier_row(bool wanted, Index d) {
  return wanted ? reshape(xavier_matrix(true, 1, d), {1, 1, d}) : Tensor();
}

}  // namespace

MultiheadAttention::MultiheadAttention(Index d_model, Index heads, AttentionOptions options)
    : options_(checked(d_model, heads, options)),
      d_(d_model),
      h_(heads),
      out_proj_(*this, "out_proj", d_, d_, options_.bias),
      rotary_(*this, "rotary",
              options_.positions == RelativePositions::Rotary
                  ? std::make_unique<RotaryPositions>(d_ / h_, options_.rotary_base)
                  : nullptr),
      in_proj_weight_(*this, "in_proj_weight", xavier_matrix(one_width(options_, d_), 3 * d_, d_)),
      q_proj_weight_(*this, "q_proj_weight", xavier_matrix(!in_proj_weight_.defined(), d_, d_)),
      k_proj_weight_(*this, "k_proj_weight",
                     xavier_matrix(!in_proj_weight_.defined(), d_, *options_.kdim)),
      v_proj_weight_(*this, "v_proj_weight",
                     xavier_matrix(!in_proj_weight_.defined(), d_, *options_.vdim)),
      in_proj_bias_(*this, "in_proj_bias", options_.bias ? zeros({3 * d_}) : Tensor()),
      bias_k_(*this, "bias_k", xavier_row(options_.add_bias_kv, d_)),
      bias_v_(*this, "bias_v", xavier_row(options_.add_bias_kv, d_)) {
  if (options_.bias) out_proj_.bias.value().fill_(0);
}

// ---- the paper: project, split into heads, attend, join, project out ----

AttentionOutput MultiheadAttention::attention(const Var& query, const Var& key, const Var& value,
                                              const AttentionRequest& request) {
  check(query, key, value);
  if (&key == &value && packs())  // a memory: keys and values by one product
    return attend_packed(project(query, Query), project(key, Key, 2), request);
  Var q = split_heads(project(query, Query));  // (B, T, D) -> (B, H, T, Dh)
  Var k = split_heads(project(key, Key));
  Var v = split_heads(project(value, Value));
  return attend_heads(rotated(q), rotated(k), v, request);
}

AttentionOutput MultiheadAttention::attend_heads(const Var& query, const Var& key, const Var& value,
                                                 const AttentionRequest& request, Index offset) {
  Index b = query.size(0), t = query.size(2), s = key.size(2);
  KeysAndMask all = with_appended({key, value, mask(request, b, t, s, offset)});
  AttentionResult a = scaled_dot_product_attention(
      named(query, "query"), named(all.key, "key"), named(all.value, "value"), all.mask, dropout(),
      dropout() > 0 ? generator().next() : RandomKey{}, request.need_weights);
  // (B, H, T, Dh) -> (B, T, H, Dh) -> (B, T, D)
  a.context = reshape(permute(a.context, {0, 2, 1, 3}), {b, t, d_});
  return project_out(a, request);
}

// The same where nothing stands between projections and heads: x = [Q K V], or x = Q, memory = [K V].
AttentionOutput MultiheadAttention::attend_packed(const Var& x, const Var& memory,
                                                  const AttentionRequest& request) {
  Index t = x.size(1), s = memory.defined() ? memory.size(1) : t;
  return project_out(
      packed_attention(x, memory, h_, mask(request, x.size(0), t, s), dropout(),
                       dropout() > 0 ? generator().next() : RandomKey{}, request.need_weights),
      request);
}

AttentionOutput MultiheadAttention::project_out(const AttentionResult& a,
                                                const AttentionRequest& request) {
  AttentionOutput out{out_proj_(a.context), {}};
  if (request.need_weights) out.weights = request.average_weights ? mean(a.probs, {1}) : a.probs;
  return out;
}

// ---- its parts ----

// x W_partᵀ + b_part, of `parts` neighbouring parts by one product: (B, T, parts·D).
Var MultiheadAttention::project(const Var& x, Part first, int parts) const {
  auto rows = [&](const Var& v) {
    return parts == 3 ? v : slice(v, 0, first * d_, (first + parts) * d_);
  };
  Var bias = options_.bias ? rows(in_proj_bias_) : Var();
  return linear(x, in_proj_weight_.defined() ? rows(in_proj_weight_) : weight(first), bias);
}

Var MultiheadAttention::weight(Part part) const {
  if (in_proj_weight_.defined()) return slice(in_proj_weight_, 0, part * d_, (part + 1) * d_);
  return part == Query ? q_proj_weight_ : part == Key ? k_proj_weight_ : v_proj_weight_;
}

Var MultiheadAttention::split_heads(const Var& x) const {
  // (B, T, D) -> (B, T, H, Dh) -> (B, H, T, Dh)
  return permute(reshape(x, {x.size(0), x.size(1), h_, d_ / h_}), {0, 2, 1, 3});
}

// Heads (..., T, Dh) at the positions from `offset` on.
Var MultiheadAttention::rotated(const Var& heads, Index offset) {
  return rotary_ ? rotary_(heads, offset) : heads;
}

KeysAndMask MultiheadAttention::with_appended(KeysAndMask all) const {
  if (bias_k_.defined()) all = appended(all, split_heads(bias_k_), split_heads(bias_v_));
  if (!options_.add_zero_attn) return all;
  Var none(zeros({1, 1, 1, 1}, all.key.dtype()));
  return appended(all, none, none);
}

AttentionMask MultiheadAttention::mask(const AttentionRequest& request, Index b, Index t, Index s,
                                       Index offset) const {
  bool alibi = options_.positions == RelativePositions::Alibi;
  Var bias = alibi ? Var(alibi_bias(h_, t, s, offset, out_proj_.weight.dtype())) : Var();
  return combined(request, {b, h_, t, s}, offset, bias);
}

bool MultiheadAttention::packs() const {
  return in_proj_weight_.defined() && !rotary_ && !bias_k_.defined() && !options_.add_zero_attn;
}

void MultiheadAttention::check(const Var& query, const Var& key, const Var& value) const {
  auto fail = [&](const std::string& problem) {
    throw ShapeError("attention", problem, {{"query", query}, {"key", key}, {"value", value}});
  };
  auto columns = [&](const Var& x, const std::string& name, const char* width, Index wanted) {
    if (x.size(2) != wanted)
      fail(name + " must have " + width + " = " + std::to_string(wanted) + " columns, got " +
           std::to_string(x.size(2)));
  };
  if (query.rank() != 3 || key.rank() != 3 || value.rank() != 3)
    fail("query must be (B, T, D), key (B, S, kdim) and value (B, S, vdim)");
  if (query.size(0) != key.size(0) || key.size(0) != value.size(0)) fail("batch extents B differ");
  if (key.size(1) != value.size(1)) fail("key and value differ in length S");
  columns(query, "query", "d_model", d_);
  columns(key, "key", "kdim", *options_.kdim);
  columns(value, "value", "vdim", *options_.vdim);
}

// ---- entries ----

AttentionOutput MultiheadAttention::forward(const Var& query, const Var& key, const Var& value,
                                            const AttentionRequest& request) {
  if (options_.batch_first) return attention(query, key, value, request);
  auto swap = [](const Var& v) { return v.rank() == 3 ? transpose(v, 0, 1) : v; };
  AttentionOutput out = attention(swap(query), swap(key), swap(value), request);
  out.y = transpose(out.y, 0, 1);
  return out;
}

AttentionOutput MultiheadAttention::forward(const Var& x, const AttentionRequest& request) {
  if (!options_.batch_first || !in_proj_weight_.defined()) return forward(x, x, x, request);
  check(x, x, x);
  Var packed = project(x, Query, 3);  // (B, T, 3D)
  if (packs()) return attend_packed(packed, {}, request);
  auto part = [&](Part i) { return split_heads(slice(packed, 2, i * d_, (i + 1) * d_)); };
  return attend_heads(rotated(part(Query)), rotated(part(Key)), part(Value), request);
}

}  // namespace glim

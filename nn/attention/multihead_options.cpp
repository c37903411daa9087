// The constructor and the options of multi-head attention: checks, masks, positions, appended keys.
#include "nn/attention/multihead.hpp"
#include "nn/init.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/print.hpp"

namespace glim {
namespace {

bool one_width(const AttentionOptions& o, Index d) { return o.kdim == d && o.vdim == d; }

AttentionOptions checked(Index d_model, Index heads, AttentionOptions options) {
  if (heads < 1 || d_model < 1 || d_model % heads != 0)
    throw ValueError("attention", std::to_string(heads) + " heads do not divide d_model " +
                                      std::to_string(d_model));
  if (!(options.dropout >= 0 && options.dropout <= 1))
    throw ValueError("attention", "dropout " + number_text(options.dropout) + " is outside [0, 1]");
  if (!options.kdim) options.kdim = d_model;
  if (!options.vdim) options.vdim = d_model;
  if (options.share_qk && !one_width(options, d_model))
    throw ValueError("attention", "share_qk needs keys and values of the width d_model");
  return options;
}

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
      GLIM_NAMED(out_proj, d_, d_, options_.bias),
      GLIM_NAMED(in_proj_weight, xavier_matrix(one_width(options_, d_), begin(Value) + d_, d_)),
      rotary_(*this, "rotary",
              options_.positions == Positions::Rotary
                  ? std::make_unique<RotaryPositions>(d_ / h_, options_.rotary_base)
                  : nullptr),
      q_proj_weight_(*this, "q_proj_weight", xavier_matrix(!in_proj_weight.defined(), d_, d_)),
      k_proj_weight_(*this, "k_proj_weight",
                     xavier_matrix(!in_proj_weight.defined(), d_, *options_.kdim)),
      v_proj_weight_(*this, "v_proj_weight",
                     xavier_matrix(!in_proj_weight.defined(), d_, *options_.vdim)),
      in_proj_bias_(*this, "in_proj_bias", options_.bias ? zeros({begin(Value) + d_}) : Tensor()),
      bias_k_(*this, "bias_k", xavier_row(options_.add_bias_kv, d_)),
      bias_v_(*this, "bias_v", xavier_row(options_.add_bias_kv, d_)) {
  if (options_.bias) out_proj.bias.value().fill_(0);
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

AttentionOutput MultiheadAttention::forward(const Var& query, const Var& key, const Var& value,
                                            const AttentionRequest& request) {
  if (options_.batch_first) return attention(query, key, value, request);
  auto swap = [](const Var& v) { return v.rank() == 3 ? transpose(v, 0, 1) : v; };
  AttentionOutput out = attention(swap(query), swap(key), swap(value), request);
  out.y = transpose(out.y, 0, 1);
  return out;
}

// Heads (..., T, Dh) at the positions from `offset` on.
Var MultiheadAttention::rotated(const Var& heads, Index offset) {
  return rotary_ ? rotary_(heads, offset) : heads;
}

// torch's add_bias_kv and add_zero_attn: a key and a value each, to which every query may attend.
void MultiheadAttention::append_keys(Var& key, Var& value, AttentionMask& mask) const {
  if (!bias_k_.defined() && !options_.add_zero_attn) return;
  const Shape row{key.size(0), h_, 1, d_ / h_};
  std::vector<Var> keys{key}, values{value};
  if (bias_k_.defined()) {
    keys.push_back(broadcast_to(split_heads(bias_k_), row));
    values.push_back(broadcast_to(split_heads(bias_v_), row));
  }
  if (options_.add_zero_attn)
    for (auto* list : {&keys, &values}) list->emplace_back(zeros(row, key.dtype()));
  const Index before = key.size(2), more = std::ssize(keys) - 1;
  key = concatenate(keys, 2);
  value = concatenate(values, 2);
  auto longer = [&](const Var& m, const Tensor& last) {  // (..., S) -> (..., S + more)
    Shape wide = m.shape(), columns = wide;
    wide[3] = before;
    columns[3] = more;
    return concatenate({broadcast_to(m, wide), Var(broadcast_to(last, columns))}, 3);
  };
  if (mask.keep.defined())
    mask.keep = longer(Var(mask.keep), ones({1, 1, 1, 1}, DType::Bool)).value();
  if (mask.bias.defined()) mask.bias = longer(mask.bias, zeros({1, 1, 1, 1}, mask.bias.dtype()));
}

AttentionMask MultiheadAttention::mask(const AttentionRequest& request, Index b, Index t, Index s,
                                       Index offset) const {
  bool alibi = options_.positions == Positions::Alibi;
  Var bias = alibi ? Var(alibi_bias(h_, t, s, offset, out_proj.weight.dtype())) : Var();
  return combined(request, {b, h_, t, s}, offset, bias);
}

}  // namespace glim

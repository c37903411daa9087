#include "nn/attention/torch_multihead.hpp"

#include "nn/init.hpp"
#include "tensor/ops/index.hpp"

namespace glim {
namespace {

bool one_width(const TorchAttentionOptions& o, Index d, bool share_qk) {
  const bool one = o.kdim.value_or(d) == d && o.vdim.value_or(d) == d;
  if (share_qk && !one)
    throw ValueError("attention", "share_qk needs keys and values of the width d_model");
  return one;
}

Tensor xavier_matrix(bool enabled, Index rows, Index columns) {
  if (!enabled) return {};
  Tensor w = empty({rows, columns});
  xavier_uniform_(w);
  return w;
}
Tensor xavier_row(bool enabled, Index d) {
  return enabled ? reshape(xavier_matrix(true, 1, d), {1, 1, d}) : Tensor();
}

}  // namespace

TorchMultiheadAttention::TorchMultiheadAttention(Index d_model, Index heads,
                                                 AttentionOptions options,
                                                 TorchAttentionOptions torch)
    : MultiheadAttention(d_model, heads, options, one_width(torch, d_model, options.share_qk)),
      torch_(torch),
      q_proj_weight_(*this, "q_proj_weight",
                     xavier_matrix(!in_proj.weight.defined(), d_model, d_model)),
      k_proj_weight_(
          *this, "k_proj_weight",
          xavier_matrix(!in_proj.weight.defined(), d_model, torch.kdim.value_or(d_model))),
      v_proj_weight_(
          *this, "v_proj_weight",
          xavier_matrix(!in_proj.weight.defined(), d_model, torch.vdim.value_or(d_model))),
      bias_k_(*this, "bias_k", xavier_row(torch.add_bias_kv, d_model)),
      bias_v_(*this, "bias_v", xavier_row(torch.add_bias_kv, d_model)) {
  if (options.kv_heads != 0 && !plain())
    throw ValueError("attention", "kv_heads needs keys and values of the sequence alone");
}

AttentionOutput TorchMultiheadAttention::forward(const Var& query, const Var& key, const Var& value,
                                                 const AttentionRequest& request) {
  if (plain()) return MultiheadAttention::forward(query, key, value, request);
  if (request.cache) throw ValueError("attention", "a layer with torch's options has no cache");
  auto batch_first = [&](const Var& x) {
    return torch_.batch_first || x.rank() != 3 ? x : transpose(x, 0, 1);
  };
  const Var& keys = key.defined() ? key : query;
  const Var q = batch_first(query), k = batch_first(keys),
            v = batch_first(value.defined() ? value : keys);
  Heads heads = in_proj.weight.defined() ? in_proj(q, k, v) : project_apart(q, k, v);
  head_options_.add_to(heads, request);
  append_keys(heads.key, heads.value, heads.mask);
  AttentionOutput out = attend_and_join(heads, request);
  out.y = batch_first(out.y);  // turns it back
  return out;
}

Heads TorchMultiheadAttention::project_apart(const Var& query, const Var& key,
                                             const Var& value) const {
  const Index kdim = k_proj_weight_.size(1), vdim = v_proj_weight_.size(1);
  const bool fits = query.rank() == 3 && key.rank() == 3 && key.size(2) == kdim &&
                    query.shape() == Shape{key.size(0), query.size(1), d_model()} &&
                    value.shape() == Shape{key.size(0), key.size(1), vdim};
  if (!fits)
    throw ShapeError("attention",
                     "query must be (B, T, embed_dim = " + std::to_string(d_model()) +
                         "), key (B, S, kdim = " + std::to_string(kdim) +
                         ") and value (B, S, vdim = " + std::to_string(vdim) + ")",
                     {{"query", query}, {"key", key}, {"value", value}});
  auto heads = [&](const Var& x, const Param& weight, InProjection::Part part) {
    const Index first = in_proj.begin(part);
    Var bias = in_proj.bias.defined() ? slice(in_proj.bias, 0, first, first + d_model()) : Var();
    return in_proj.split(linear(x, weight, bias));
  };
  Var q = heads(query, q_proj_weight_, InProjection::Query);
  Var k = heads(key, k_proj_weight_, InProjection::Key);
  Var v = heads(value, v_proj_weight_, InProjection::Value);
  return Heads(in_proj.heads(), q, k, v);
}

// True if the layer computes what MultiheadAttention does.
bool TorchMultiheadAttention::plain() const {
  return torch_.batch_first && in_proj.weight.defined() && !bias_k_.defined() &&
         !torch_.add_zero_attn;
}

// A learned key and value, and one of zeros, to which every query may attend.
void TorchMultiheadAttention::append_keys(Var& key, Var& value, AttentionMask& mask) const {
  if (!bias_k_.defined() && !torch_.add_zero_attn) return;
  const Shape row{key.size(0), key.size(1), 1, key.size(3)};
  std::vector<Var> keys{key}, values{value};
  if (bias_k_.defined()) {
    keys.push_back(broadcast_to(in_proj.split(bias_k_), row));
    values.push_back(broadcast_to(in_proj.split(bias_v_), row));
  }
  if (torch_.add_zero_attn)
    for (auto* list : {&keys, &values}) list->emplace_back(zeros(row, key.dtype()));
  const Index before = key.size(2), extra = std::ssize(keys) - 1;
  key = concatenate(keys, 2);
  value = concatenate(values, 2);
  auto longer = [&](const Var& m, const Tensor& last) {  // (..., S) -> (..., S + extra)
    Shape wide = m.shape(), columns = wide;
    wide[3] = before;
    columns[3] = extra;
    return concatenate({broadcast_to(m, wide), Var(broadcast_to(last, columns))}, 3);
  };
  if (mask.keep.defined())
    mask.keep = longer(Var(mask.keep), ones({1, 1, 1, 1}, DType::Bool)).value();
  if (mask.bias.defined()) mask.bias = longer(mask.bias, zeros({1, 1, 1, 1}, mask.bias.dtype()));
}

}  // namespace glim

// transformer, fresh (seed 1): forward, loss and backward on Glim's tensors, without autograd.
// Written by `glim derive --format cpp --sentence '1 2 3 4 5 6' --label-smoothing 0 --task copy --d-model 40 --heads 2 --d-ff 48 --norm post`.
// clang-format off
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>

#include "tensor/io/safetensors.hpp"
#include "tensor/matmul/matmul.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tensor/ops/windows.hpp"
using namespace glim;

[[maybe_unused]] constexpr double inf = std::numeric_limits<double>::infinity();

[[maybe_unused]] static Tensor number(double c) { return scalar(c, DType::Float64); }

// Over the last axis; a row of which nothing is kept is 0.
[[maybe_unused]] static Tensor masked_softmax(const Tensor& x, const Tensor& keep) {
  return softmax(where(keep, x, number(-inf)), -1);
}

// Zeros, with x at start, start + step, ... of the axis.
[[maybe_unused]] static Tensor unslice(const Tensor& x, const Shape& shape, Index axis, Index start, Index stop, Index step) {
  Tensor y = zeros(shape, x.dtype());
  slice(y, axis, start, stop, step).copy_(x);
  return y;
}

// Neighbouring columns as points of the plane, turned.
[[maybe_unused]] static Tensor rotate_pairs(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  const Tensor a = slice(x, -1, 0, x.size(-1), 2), b = slice(x, -1, 1, x.size(-1), 2);
  Tensor y = empty(x.shape(), x.dtype());
  slice(y, -1, 0, x.size(-1), 2).copy_(a * cos - b * sin);
  slice(y, -1, 1, x.size(-1), 2).copy_(a * sin + b * cos);
  return y;
}

// The loss, and its gradient with regard to each of the weights w.
Tensor forward_and_backward(const StateDict& w, const StateDict& batch, StateDict& d) {

  // ---- forward ----
  const Tensor src_embed_index_select = index_select(w.at("src_embed.weight"), 0, batch.at("src_embed.index"));  // (B, S, D)
  const Tensor scale_ = 6.324555320336759 * src_embed_index_select;                       // (B, S, D)
  const Tensor src_positions_add = scale_ + batch.at("src_positions.table");              // (B, S, D)

  struct { Tensor x, self_attn_query, self_attn_key, self_attn_value, self_attn_probs, self_attn_reshape, norm1_centered, norm1_sqrt, norm1_normalized, norm1_add, relu_, norm2_centered, norm2_sqrt, norm2_normalized; } encoder_layers[2];
  Tensor encoder_layers_x = src_positions_add;
  for (int i = 0; i < 2; ++i) {
    auto& s = encoder_layers[i];
    const std::string p = "encoder.layers." + std::to_string(i) + ".";
    s.x = encoder_layers_x;
    const Tensor self_attn_add = matmul(encoder_layers_x, transpose(w.at(p + "self_attn.in_proj_weight"))) + w.at(p + "self_attn.in_proj_bias");  // (B, S, 3D)
    s.self_attn_query = permute(reshape(slice(self_attn_add, 2, 0, 40, 1), {1, 7, 2, 20}), {0, 2, 1, 3});  // (B, H, S, Dh)
    s.self_attn_key = permute(reshape(slice(self_attn_add, 2, 40, 80, 1), {1, 7, 2, 20}), {0, 2, 1, 3});  // (B, H, S, Dh)
    s.self_attn_value = permute(reshape(slice(self_attn_add, 2, 80, 120, 1), {1, 7, 2, 20}), {0, 2, 1, 3});  // (B, H, S, Dh)
    const Tensor self_attn_scores = (1 / std::sqrt(20.)) * matmul(s.self_attn_query, transpose(s.self_attn_key));  // (B, H, S, S)
    s.self_attn_probs = masked_softmax(self_attn_scores, batch.at("encoder.layers.0.self_attn.keep"));  // (B, H, S, S)
    const Tensor self_attn_context = matmul(s.self_attn_probs, s.self_attn_value);        // (B, H, S, Dh)
    s.self_attn_reshape = reshape(permute(self_attn_context, {0, 2, 1, 3}), {1, 7, 40});  // (B, S, D)
    const Tensor self_attn_out_proj_add = matmul(s.self_attn_reshape, transpose(w.at(p + "self_attn.out_proj.weight"))) + w.at(p + "self_attn.out_proj.bias");  // (B, S, D)
    const Tensor add_ = encoder_layers_x + self_attn_out_proj_add;                        // (B, S, D)
    s.norm1_centered = add_ - div(sum(add_, {-1}, true), 40);                             // (B, S, D)
    s.norm1_sqrt = sqrt(div(sum(s.norm1_centered * s.norm1_centered, {-1}, true), 40) + 1e-05);  // (B, S, 1)
    s.norm1_normalized = s.norm1_centered / s.norm1_sqrt;                                 // (B, S, D)
    s.norm1_add = s.norm1_normalized * w.at(p + "norm1.weight") + w.at(p + "norm1.bias");  // (B, S, D)
    const Tensor linear1_add = matmul(s.norm1_add, transpose(w.at(p + "linear1.weight"))) + w.at(p + "linear1.bias");  // (B, S, F)
    s.relu_ = relu(linear1_add);                                                          // (B, S, F)
    const Tensor linear2_add = matmul(s.relu_, transpose(w.at(p + "linear2.weight"))) + w.at(p + "linear2.bias");  // (B, S, D)
    const Tensor add_2 = s.norm1_add + linear2_add;                                       // (B, S, D)
    s.norm2_centered = add_2 - div(sum(add_2, {-1}, true), 40);                           // (B, S, D)
    s.norm2_sqrt = sqrt(div(sum(s.norm2_centered * s.norm2_centered, {-1}, true), 40) + 1e-05);  // (B, S, 1)
    s.norm2_normalized = s.norm2_centered / s.norm2_sqrt;                                 // (B, S, D)
    const Tensor norm2_add = s.norm2_normalized * w.at(p + "norm2.weight") + w.at(p + "norm2.bias");  // (B, S, D)
    encoder_layers_x = norm2_add;
  }

  const Tensor tgt_embed_index_select = index_select(w.at("tgt_embed.weight"), 0, batch.at("tgt_embed.index"));  // (B, T, D)
  const Tensor scale_2 = 6.324555320336759 * tgt_embed_index_select;                      // (B, T, D)
  const Tensor tgt_positions_add = scale_2 + batch.at("src_positions.table");             // (B, T, D)

  struct { Tensor x, self_attn_query, self_attn_key, self_attn_value, self_attn_probs, self_attn_reshape, norm1_centered, norm1_sqrt, norm1_normalized, norm1_add, multihead_attn_query, multihead_attn_key, multihead_attn_value, multihead_attn_probs, multihead_attn_reshape, norm2_centered, norm2_sqrt, norm2_normalized, norm2_add, relu_, norm3_centered, norm3_sqrt, norm3_normalized; } decoder_layers[2];
  Tensor decoder_layers_x = tgt_positions_add;
  for (int i = 0; i < 2; ++i) {
    auto& s = decoder_layers[i];
    const std::string p = "decoder.layers." + std::to_string(i) + ".";
    s.x = decoder_layers_x;
    const Tensor self_attn_add = matmul(decoder_layers_x, transpose(w.at(p + "self_attn.in_proj_weight"))) + w.at(p + "self_attn.in_proj_bias");  // (B, T, 3D)
    s.self_attn_query = permute(reshape(slice(self_attn_add, 2, 0, 40, 1), {1, 7, 2, 20}), {0, 2, 1, 3});  // (B, H, T, Dh)
    s.self_attn_key = permute(reshape(slice(self_attn_add, 2, 40, 80, 1), {1, 7, 2, 20}), {0, 2, 1, 3});  // (B, H, T, Dh)
    s.self_attn_value = permute(reshape(slice(self_attn_add, 2, 80, 120, 1), {1, 7, 2, 20}), {0, 2, 1, 3});  // (B, H, T, Dh)
    const Tensor self_attn_scores = (1 / std::sqrt(20.)) * matmul(s.self_attn_query, transpose(s.self_attn_key));  // (B, H, T, T)
    s.self_attn_probs = masked_softmax(self_attn_scores, batch.at("decoder.layers.0.self_attn.keep"));  // (B, H, T, T)
    const Tensor self_attn_context = matmul(s.self_attn_probs, s.self_attn_value);        // (B, H, T, Dh)
    s.self_attn_reshape = reshape(permute(self_attn_context, {0, 2, 1, 3}), {1, 7, 40});  // (B, T, D)
    const Tensor self_attn_out_proj_add = matmul(s.self_attn_reshape, transpose(w.at(p + "self_attn.out_proj.weight"))) + w.at(p + "self_attn.out_proj.bias");  // (B, T, D)
    const Tensor add_ = decoder_layers_x + self_attn_out_proj_add;                        // (B, T, D)
    s.norm1_centered = add_ - div(sum(add_, {-1}, true), 40);                             // (B, T, D)
    s.norm1_sqrt = sqrt(div(sum(s.norm1_centered * s.norm1_centered, {-1}, true), 40) + 1e-05);  // (B, T, 1)
    s.norm1_normalized = s.norm1_centered / s.norm1_sqrt;                                 // (B, T, D)
    s.norm1_add = s.norm1_normalized * w.at(p + "norm1.weight") + w.at(p + "norm1.bias");  // (B, T, D)
    const Tensor multihead_attn_add = matmul(encoder_layers_x, transpose(slice(w.at(p + "multihead_attn.in_proj_weight"), 0, 40, 120, 1))) + slice(w.at(p + "multihead_attn.in_proj_bias"), 0, 40, 120, 1);  // (B, S, 2D)
    s.multihead_attn_query = permute(reshape(matmul(s.norm1_add, transpose(slice(w.at(p + "multihead_attn.in_proj_weight"), 0, 0, 40, 1))) + slice(w.at(p + "multihead_attn.in_proj_bias"), 0, 0, 40, 1), {1, 7, 2, 20}), {0, 2, 1, 3});  // (B, H, T, Dh)
    s.multihead_attn_key = permute(reshape(slice(multihead_attn_add, 2, 0, 40, 1), {1, 7, 2, 20}), {0, 2, 1, 3});  // (B, H, S, Dh)
    s.multihead_attn_value = permute(reshape(slice(multihead_attn_add, 2, 40, 80, 1), {1, 7, 2, 20}), {0, 2, 1, 3});  // (B, H, S, Dh)
    const Tensor multihead_attn_scores = (1 / std::sqrt(20.)) * matmul(s.multihead_attn_query, transpose(s.multihead_attn_key));  // (B, H, T, S)
    s.multihead_attn_probs = masked_softmax(multihead_attn_scores, batch.at("encoder.layers.0.self_attn.keep"));  // (B, H, T, S)
    const Tensor multihead_attn_context = matmul(s.multihead_attn_probs, s.multihead_attn_value);  // (B, H, T, Dh)
    s.multihead_attn_reshape = reshape(permute(multihead_attn_context, {0, 2, 1, 3}), {1, 7, 40});  // (B, T, D)
    const Tensor multihead_attn_out_proj_add = matmul(s.multihead_attn_reshape, transpose(w.at(p + "multihead_attn.out_proj.weight"))) + w.at(p + "multihead_attn.out_proj.bias");  // (B, T, D)
    const Tensor add_2 = s.norm1_add + multihead_attn_out_proj_add;                       // (B, T, D)
    s.norm2_centered = add_2 - div(sum(add_2, {-1}, true), 40);                           // (B, T, D)
    s.norm2_sqrt = sqrt(div(sum(s.norm2_centered * s.norm2_centered, {-1}, true), 40) + 1e-05);  // (B, T, 1)
    s.norm2_normalized = s.norm2_centered / s.norm2_sqrt;                                 // (B, T, D)
    s.norm2_add = s.norm2_normalized * w.at(p + "norm2.weight") + w.at(p + "norm2.bias");  // (B, T, D)
    const Tensor linear1_add = matmul(s.norm2_add, transpose(w.at(p + "linear1.weight"))) + w.at(p + "linear1.bias");  // (B, T, F)
    s.relu_ = relu(linear1_add);                                                          // (B, T, F)
    const Tensor linear2_add = matmul(s.relu_, transpose(w.at(p + "linear2.weight"))) + w.at(p + "linear2.bias");  // (B, T, D)
    const Tensor add_3 = s.norm2_add + linear2_add;                                       // (B, T, D)
    s.norm3_centered = add_3 - div(sum(add_3, {-1}, true), 40);                           // (B, T, D)
    s.norm3_sqrt = sqrt(div(sum(s.norm3_centered * s.norm3_centered, {-1}, true), 40) + 1e-05);  // (B, T, 1)
    s.norm3_normalized = s.norm3_centered / s.norm3_sqrt;                                 // (B, T, D)
    const Tensor norm3_add = s.norm3_normalized * w.at(p + "norm3.weight") + w.at(p + "norm3.bias");  // (B, T, D)
    decoder_layers_x = norm3_add;
  }

  const Tensor reshape_ = reshape(decoder_layers_x, {7, 40});                             // (T, D)
  const Tensor log_probs = log_softmax(matmul(reshape_, transpose(w.at("generator.weight"))) + w.at("generator.bias"), 1);  // (T, V)
  const Tensor loss = div(neg(sum(where(greater(batch.at("q"), 0), log_probs * batch.at("q"), number(0)))) - batch.at("entropy"), 7);  // ()

  // ---- backward ----
  const Tensor dlog_probs = where(greater(batch.at("q"), 0), neg(div(full({}, 1, DType::Float64), 7)), number(0)) * batch.at("q");  // (T, V)
  const Tensor dadd_4 = dlog_probs - exp(log_probs) * sum(dlog_probs, {1}, true);         // (T, V)
  d["generator.bias"] = sum_to(dadd_4, {14});                                             // (V,)
  d["generator.weight"] = transpose(matmul(transpose(reshape_), dadd_4));                 // (V, D)
  const Tensor ddecoder_layers_1_norm3_add = reshape(matmul(dadd_4, w.at("generator.weight")), {1, 7, 40});  // (B, T, D)
  Tensor decoder_layers_dx = ddecoder_layers_1_norm3_add;
  Tensor decoder_layers_dx2 = zeros({1, 7, 40}, DType::Float64);
  for (int i = 2; i-- > 0;) {
    auto& s = decoder_layers[i];
    const std::string p = "decoder.layers." + std::to_string(i) + ".";
    d[p + "norm3.bias"] = sum_to(decoder_layers_dx, {40});                                // (D,)
    const Tensor dnorm3_normalized = decoder_layers_dx * w.at(p + "norm3.weight");        // (B, T, D)
    d[p + "norm3.weight"] = sum_to(decoder_layers_dx * s.norm3_normalized, {40});         // (D,)
    const Tensor dnorm3_sqrt_scale = 0.5 * sum_to(neg(dnorm3_normalized * s.norm3_normalized / s.norm3_sqrt), {1, 7, 1});  // (B, T, 1)
    const Tensor dnorm3_centered_sum = dnorm3_normalized / s.norm3_sqrt + div(dnorm3_sqrt_scale / s.norm3_sqrt, 40) * s.norm3_centered;  // (B, T, D)
    const Tensor dnorm3_centered = dnorm3_centered_sum + div(dnorm3_sqrt_scale / s.norm3_sqrt, 40) * s.norm3_centered;  // (B, T, D)
    const Tensor dadd_3 = dnorm3_centered + div(sum_to(neg(dnorm3_centered), {1, 7, 1}), 40);  // (B, T, D)
    d[p + "linear2.bias"] = sum_to(dadd_3, {40});                                         // (D,)
    d[p + "linear2.weight"] = transpose(matmul(transpose(reshape(s.relu_, {7, 48})), reshape(dadd_3, {7, 40})));  // (D, F)
    const Tensor dlinear1_add = where(equal(s.relu_, 0), number(0), matmul(dadd_3, w.at(p + "linear2.weight")));  // (B, T, F)
    d[p + "linear1.bias"] = sum_to(dlinear1_add, {48});                                   // (F,)
    const Tensor dnorm2_add = dadd_3 + matmul(dlinear1_add, w.at(p + "linear1.weight"));  // (B, T, D)
    d[p + "linear1.weight"] = transpose(matmul(transpose(reshape(s.norm2_add, {7, 40})), reshape(dlinear1_add, {7, 48})));  // (F, D)
    d[p + "norm2.bias"] = sum_to(dnorm2_add, {40});                                       // (D,)
    const Tensor dnorm2_normalized = dnorm2_add * w.at(p + "norm2.weight");               // (B, T, D)
    d[p + "norm2.weight"] = sum_to(dnorm2_add * s.norm2_normalized, {40});                // (D,)
    const Tensor dnorm2_sqrt_scale = 0.5 * sum_to(neg(dnorm2_normalized * s.norm2_normalized / s.norm2_sqrt), {1, 7, 1});  // (B, T, 1)
    const Tensor dnorm2_centered_sum = dnorm2_normalized / s.norm2_sqrt + div(dnorm2_sqrt_scale / s.norm2_sqrt, 40) * s.norm2_centered;  // (B, T, D)
    const Tensor dnorm2_centered = dnorm2_centered_sum + div(dnorm2_sqrt_scale / s.norm2_sqrt, 40) * s.norm2_centered;  // (B, T, D)
    const Tensor dadd_2 = dnorm2_centered + div(sum_to(neg(dnorm2_centered), {1, 7, 1}), 40);  // (B, T, D)
    d[p + "multihead_attn.out_proj.bias"] = sum_to(dadd_2, {40});                         // (D,)
    d[p + "multihead_attn.out_proj.weight"] = transpose(matmul(transpose(reshape(s.multihead_attn_reshape, {7, 40})), reshape(dadd_2, {7, 40})));  // (D, D)
    const Tensor dmultihead_attn_context = permute(reshape(matmul(dadd_2, w.at(p + "multihead_attn.out_proj.weight")), {1, 7, 2, 20}), {0, 2, 1, 3});  // (B, H, T, Dh)
    const Tensor dmultihead_attn_probs = matmul(dmultihead_attn_context, transpose(s.multihead_attn_value));  // (B, H, T, S)
    const Tensor dmultihead_attn_value = matmul(transpose(s.multihead_attn_probs), dmultihead_attn_context);  // (B, H, S, Dh)
    const Tensor dmultihead_attn_scores = s.multihead_attn_probs * (dmultihead_attn_probs - sum(dmultihead_attn_probs * s.multihead_attn_probs, {3}, true));  // (B, H, T, S)
    const Tensor dmultihead_attn_matmul_3 = (1 / std::sqrt(20.)) * dmultihead_attn_scores;  // (B, H, T, S)
    const Tensor dmultihead_attn_query = matmul(dmultihead_attn_matmul_3, s.multihead_attn_key);  // (B, H, T, Dh)
    const Tensor dmultihead_attn_key = transpose(matmul(transpose(s.multihead_attn_query), dmultihead_attn_matmul_3));  // (B, H, S, Dh)
    const Tensor dmultihead_attn_add = unslice(reshape(permute(dmultihead_attn_value, {0, 2, 1, 3}), {1, 7, 40}), {1, 7, 80}, 2, 40, 80, 1) + unslice(reshape(permute(dmultihead_attn_key, {0, 2, 1, 3}), {1, 7, 40}), {1, 7, 80}, 2, 0, 40, 1);  // (B, S, 2D)
    const Tensor dmultihead_attn_add_2 = reshape(permute(dmultihead_attn_query, {0, 2, 1, 3}), {1, 7, 40});  // (B, T, D)
    const Tensor dnorm1_add = dadd_2 + matmul(dmultihead_attn_add_2, slice(w.at(p + "multihead_attn.in_proj_weight"), 0, 0, 40, 1));  // (B, T, D)
    const Tensor dx_sum = decoder_layers_dx2 + matmul(dmultihead_attn_add, slice(w.at(p + "multihead_attn.in_proj_weight"), 0, 40, 120, 1));  // (B, S, D)
    d[p + "multihead_attn.in_proj_weight"] = unslice(transpose(matmul(transpose(reshape(s.norm1_add, {7, 40})), reshape(dmultihead_attn_add_2, {7, 40}))), {120, 40}, 0, 0, 40, 1) + unslice(transpose(matmul(transpose(reshape(encoder_layers_x, {7, 40})), reshape(dmultihead_attn_add, {7, 80}))), {120, 40}, 0, 40, 120, 1);  // (3D, D)
    d[p + "multihead_attn.in_proj_bias"] = unslice(sum_to(dmultihead_attn_add_2, {40}), {120}, 0, 0, 40, 1) + unslice(sum_to(dmultihead_attn_add, {80}), {120}, 0, 40, 120, 1);  // (3D,)
    d[p + "norm1.bias"] = sum_to(dnorm1_add, {40});                                       // (D,)
    const Tensor dnorm1_normalized = dnorm1_add * w.at(p + "norm1.weight");               // (B, T, D)
    d[p + "norm1.weight"] = sum_to(dnorm1_add * s.norm1_normalized, {40});                // (D,)
    const Tensor dnorm1_sqrt_scale = 0.5 * sum_to(neg(dnorm1_normalized * s.norm1_normalized / s.norm1_sqrt), {1, 7, 1});  // (B, T, 1)
    const Tensor dnorm1_centered_sum = dnorm1_normalized / s.norm1_sqrt + div(dnorm1_sqrt_scale / s.norm1_sqrt, 40) * s.norm1_centered;  // (B, T, D)
    const Tensor dnorm1_centered = dnorm1_centered_sum + div(dnorm1_sqrt_scale / s.norm1_sqrt, 40) * s.norm1_centered;  // (B, T, D)
    const Tensor dadd = dnorm1_centered + div(sum_to(neg(dnorm1_centered), {1, 7, 1}), 40);  // (B, T, D)
    d[p + "self_attn.out_proj.bias"] = sum_to(dadd, {40});                                // (D,)
    d[p + "self_attn.out_proj.weight"] = transpose(matmul(transpose(reshape(s.self_attn_reshape, {7, 40})), reshape(dadd, {7, 40})));  // (D, D)
    const Tensor dself_attn_context = permute(reshape(matmul(dadd, w.at(p + "self_attn.out_proj.weight")), {1, 7, 2, 20}), {0, 2, 1, 3});  // (B, H, T, Dh)
    const Tensor dself_attn_probs = matmul(dself_attn_context, transpose(s.self_attn_value));  // (B, H, T, T)
    const Tensor dself_attn_value = matmul(transpose(s.self_attn_probs), dself_attn_context);  // (B, H, T, Dh)
    const Tensor dself_attn_scores = s.self_attn_probs * (dself_attn_probs - sum(dself_attn_probs * s.self_attn_probs, {3}, true));  // (B, H, T, T)
    const Tensor dself_attn_matmul_2 = (1 / std::sqrt(20.)) * dself_attn_scores;          // (B, H, T, T)
    const Tensor dself_attn_query = matmul(dself_attn_matmul_2, s.self_attn_key);         // (B, H, T, Dh)
    const Tensor dself_attn_key = transpose(matmul(transpose(s.self_attn_query), dself_attn_matmul_2));  // (B, H, T, Dh)
    const Tensor dself_attn_add = unslice(reshape(permute(dself_attn_value, {0, 2, 1, 3}), {1, 7, 40}), {1, 7, 120}, 2, 80, 120, 1) + unslice(reshape(permute(dself_attn_key, {0, 2, 1, 3}), {1, 7, 40}), {1, 7, 120}, 2, 40, 80, 1) + unslice(reshape(permute(dself_attn_query, {0, 2, 1, 3}), {1, 7, 40}), {1, 7, 120}, 2, 0, 40, 1);  // (B, T, 3D)
    d[p + "self_attn.in_proj_bias"] = sum_to(dself_attn_add, {120});                      // (3D,)
    const Tensor dx = dadd + matmul(dself_attn_add, w.at(p + "self_attn.in_proj_weight"));  // (B, T, D)
    d[p + "self_attn.in_proj_weight"] = transpose(matmul(transpose(reshape(s.x, {7, 40})), reshape(dself_attn_add, {7, 120})));  // (3D, D)
    decoder_layers_dx = dx;
    decoder_layers_dx2 = dx_sum;
  }

  d["tgt_embed.weight"] = index_add({14, 40}, 0, batch.at("tgt_embed.index"), 6.324555320336759 * decoder_layers_dx);  // (V, D)
  Tensor encoder_layers_dx = decoder_layers_dx2;
  for (int i = 2; i-- > 0;) {
    auto& s = encoder_layers[i];
    const std::string p = "encoder.layers." + std::to_string(i) + ".";
    d[p + "norm2.bias"] = sum_to(encoder_layers_dx, {40});                                // (D,)
    const Tensor dnorm2_normalized = encoder_layers_dx * w.at(p + "norm2.weight");        // (B, S, D)
    d[p + "norm2.weight"] = sum_to(encoder_layers_dx * s.norm2_normalized, {40});         // (D,)
    const Tensor dnorm2_sqrt_scale = 0.5 * sum_to(neg(dnorm2_normalized * s.norm2_normalized / s.norm2_sqrt), {1, 7, 1});  // (B, S, 1)
    const Tensor dnorm2_centered_sum = dnorm2_normalized / s.norm2_sqrt + div(dnorm2_sqrt_scale / s.norm2_sqrt, 40) * s.norm2_centered;  // (B, S, D)
    const Tensor dnorm2_centered = dnorm2_centered_sum + div(dnorm2_sqrt_scale / s.norm2_sqrt, 40) * s.norm2_centered;  // (B, S, D)
    const Tensor dadd_2 = dnorm2_centered + div(sum_to(neg(dnorm2_centered), {1, 7, 1}), 40);  // (B, S, D)
    d[p + "linear2.bias"] = sum_to(dadd_2, {40});                                         // (D,)
    d[p + "linear2.weight"] = transpose(matmul(transpose(reshape(s.relu_, {7, 48})), reshape(dadd_2, {7, 40})));  // (D, F)
    const Tensor dlinear1_add = where(equal(s.relu_, 0), number(0), matmul(dadd_2, w.at(p + "linear2.weight")));  // (B, S, F)
    d[p + "linear1.bias"] = sum_to(dlinear1_add, {48});                                   // (F,)
    const Tensor dnorm1_add = dadd_2 + matmul(dlinear1_add, w.at(p + "linear1.weight"));  // (B, S, D)
    d[p + "linear1.weight"] = transpose(matmul(transpose(reshape(s.norm1_add, {7, 40})), reshape(dlinear1_add, {7, 48})));  // (F, D)
    d[p + "norm1.bias"] = sum_to(dnorm1_add, {40});                                       // (D,)
    const Tensor dnorm1_normalized = dnorm1_add * w.at(p + "norm1.weight");               // (B, S, D)
    d[p + "norm1.weight"] = sum_to(dnorm1_add * s.norm1_normalized, {40});                // (D,)
    const Tensor dnorm1_sqrt_scale = 0.5 * sum_to(neg(dnorm1_normalized * s.norm1_normalized / s.norm1_sqrt), {1, 7, 1});  // (B, S, 1)
    const Tensor dnorm1_centered_sum = dnorm1_normalized / s.norm1_sqrt + div(dnorm1_sqrt_scale / s.norm1_sqrt, 40) * s.norm1_centered;  // (B, S, D)
    const Tensor dnorm1_centered = dnorm1_centered_sum + div(dnorm1_sqrt_scale / s.norm1_sqrt, 40) * s.norm1_centered;  // (B, S, D)
    const Tensor dadd = dnorm1_centered + div(sum_to(neg(dnorm1_centered), {1, 7, 1}), 40);  // (B, S, D)
    d[p + "self_attn.out_proj.bias"] = sum_to(dadd, {40});                                // (D,)
    d[p + "self_attn.out_proj.weight"] = transpose(matmul(transpose(reshape(s.self_attn_reshape, {7, 40})), reshape(dadd, {7, 40})));  // (D, D)
    const Tensor dself_attn_context = permute(reshape(matmul(dadd, w.at(p + "self_attn.out_proj.weight")), {1, 7, 2, 20}), {0, 2, 1, 3});  // (B, H, S, Dh)
    const Tensor dself_attn_probs = matmul(dself_attn_context, transpose(s.self_attn_value));  // (B, H, S, S)
    const Tensor dself_attn_value = matmul(transpose(s.self_attn_probs), dself_attn_context);  // (B, H, S, Dh)
    const Tensor dself_attn_scores = s.self_attn_probs * (dself_attn_probs - sum(dself_attn_probs * s.self_attn_probs, {3}, true));  // (B, H, S, S)
    const Tensor dself_attn_matmul_2 = (1 / std::sqrt(20.)) * dself_attn_scores;          // (B, H, S, S)
    const Tensor dself_attn_query = matmul(dself_attn_matmul_2, s.self_attn_key);         // (B, H, S, Dh)
    const Tensor dself_attn_key = transpose(matmul(transpose(s.self_attn_query), dself_attn_matmul_2));  // (B, H, S, Dh)
    const Tensor dself_attn_add = unslice(reshape(permute(dself_attn_value, {0, 2, 1, 3}), {1, 7, 40}), {1, 7, 120}, 2, 80, 120, 1) + unslice(reshape(permute(dself_attn_key, {0, 2, 1, 3}), {1, 7, 40}), {1, 7, 120}, 2, 40, 80, 1) + unslice(reshape(permute(dself_attn_query, {0, 2, 1, 3}), {1, 7, 40}), {1, 7, 120}, 2, 0, 40, 1);  // (B, S, 3D)
    d[p + "self_attn.in_proj_bias"] = sum_to(dself_attn_add, {120});                      // (3D,)
    const Tensor dx = dadd + matmul(dself_attn_add, w.at(p + "self_attn.in_proj_weight"));  // (B, S, D)
    d[p + "self_attn.in_proj_weight"] = transpose(matmul(transpose(reshape(s.x, {7, 40})), reshape(dself_attn_add, {7, 120})));  // (3D, D)
    encoder_layers_dx = dx;
  }

  d["src_embed.weight"] = index_add({14, 40}, 0, batch.at("src_embed.index"), 6.324555320336759 * encoder_layers_dx);  // (V, D)
  return loss;
}

#ifndef WITHOUT_MAIN
// PROGRAM DATA.safetensors: the loss, and the norm of each gradient.
int main(int argc, char** argv) try {
  if (argc != 2) return std::fputs("give the data: PROGRAM DATA.safetensors\n", stderr), 2;
  StateDict w, batch, known, d;
  for (auto& [name, x] : read_safetensors(argv[1]).tensors) {
    if (name.starts_with("batch."))
      batch[name.substr(6)] = x;
    else if (name.starts_with("gradient."))
      known[name.substr(9)] = x;
    else
      w[name] = x;
  }
  std::printf("loss %.15g\n", forward_and_backward(w, batch, d).item());
  for (const auto& [name, g] : d)
    std::printf("%-12.6g  %s  %s\n", norm(g), known.contains(name) && same_bits(g.contiguous(), known.at(name)) ? "same bits" : "differs  ",
                name.c_str());
} catch (const std::exception& e) {
  return std::fprintf(stderr, "%s\n", e.what()), 1;
}
#endif

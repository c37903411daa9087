// Scaled dot-product attention: query Q (..., T, Dk)   key K (..., S, Dk)   value V (..., S, Dv)
//
//   S = Q Kᵀ/√Dk (+ bias)      A = softmax(S) over kept keys      y = dropout(A) V
//
// In formulas S is the scores, in shapes the number of keys. A is 0 for a key that a query may not attend to. Other forms:
//
//   Relu      A = relu(S)/n    n: the number of keys that the query may attend to, 1 at least
//   Linear    A = S
//
// relu(S)/n is that of Wortsman et al. 2023 (arXiv 2309.08586, section 3), whose n is the length of the sequence. With the
// keys of each query cached decoding equals the whole context. The kernel has softmax alone: other forms run op by op.
#include "autograd/ops/attention.hpp"

#include <cmath>

#include "tensor/ops/reduce.hpp"

namespace glim {
namespace ops {

double scale_for(const Var& query, const AttentionMask& mask) {
  return mask.scale != 0 ? mask.scale : 1 / std::sqrt(static_cast<double>(query.size(-1)));
}

Var probs_of(const Var& scores, const Tensor& keep, AttentionForm form = AttentionForm::Softmax) {
  if (form == AttentionForm::Softmax)
    return keep.defined() ? masked_softmax(scores, keep) : softmax(scores);
  const DType dtype = scores.dtype();
  Var weights = form == AttentionForm::Relu ? relu(scores) : scores;
  if (keep.defined()) weights = where(keep, weights, Var(scalar(0, dtype)));
  if (form == AttentionForm::Linear) return weights;
  if (!keep.defined()) return weights / static_cast<double>(std::max<Index>(1, scores.size(-1)));
  return weights / Var(maximum(sum(keep.to(dtype), {-1}, true), scalar(1, dtype)));
}

AttentionResult attention_of_heads(const Var& query, const Var& key, const Var& value,
                                   const AttentionMask& mask, const AttentionDropout& drop) {
  const double scale = scale_for(query, mask);
  if (mask.scale != 0) named(Var(scalar(scale, DType::Float64)), "scale");  // observers see it
  Var scores = named(matmul(query, transpose(key)) * scale, "scores");      // (..., T, S)
  if (mask.bias.defined()) scores = named(scores + mask.bias, "biased_scores");
  Var keep = named(mask.keep, "keep");
  Var probs = named(probs_of(scores, keep.value(), mask.form), "probs");
  Var context = named(matmul(dropout(probs, drop.p, drop.key), value), "context");  // (..., T, Dv)
  return {context, probs};
}

AttentionGradients attention_gradients(const Var& query, const Var& key, const Var& value,
                                       const AttentionMask& mask, const AttentionDropout& drop,
                                       const Var& dcontext) {
  const double scale = scale_for(query, mask);
  auto dropped = [&](const Var& x) { return dropout(x, drop.p, drop.key); };
  Var scores = matmul(query, transpose(key)) * scale;
  if (mask.bias.defined()) scores = scores + mask.bias;
  Var probs = probs_of(scores, mask.keep);

  Var dvalue = matmul(transpose(dropped(probs)), dcontext);
  Var dprobs = dropped(matmul(dcontext, transpose(value)));
  Var dscores = probs * (dprobs - sum(dprobs * probs, {-1}, true));
  Var dbias = mask.bias.defined() ? sum_to(dscores, mask.bias.shape()) : Var();
  return {scale * matmul(dscores, key), scale * matmul(transpose(dscores), query), dvalue, dbias};
}

struct Attention final : AttentionOp {
  static constexpr Formula formula{
      "scaled_dot_product_attention",
      "y = dropout(A) V, A = softmax(S) over kept keys, S = Q Kᵀ/√Dk (+ bias)",
      {"dQ = dS K/√Dk, dS = A ⊙ (dA - Σ(dA ⊙ A)), dA = dropout(dy Vᵀ)", "dK = dSᵀ Q/√Dk",
       "dV = dropout(A)ᵀ dy", "dbias = dS, summed where bias was broadcast"},
      "Vaswani et al. 2017, section 3.2.1"};
  static constexpr std::string_view label = "context";
  enum Input { Query, KeyInput, Value, Bias };
  using AttentionOp::AttentionOp;

  Var explicit_form(const Var& query, const Var& key, const Var& value, const Var& bias) const {
    return attention_of_heads(query, key, value, mask_with(bias), drop).context;
  }

  Grads gradient(const Var& dy) const override {
    auto d = attention_gradients(saved(Query), saved(KeyInput), saved(Value),
                                 mask_with(saved(Bias)), drop, dy);
    return {{Query, d.query}, {KeyInput, d.key}, {Value, d.value}, {Bias, d.bias}};
  }

  // ---- the kernel ----
  Tensor forward(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& bias) {
    save(Query, KeyInput, Value, Bias);
    Tensor y = heads_apart(leading(query.shape()), query.size(-2), value.size(-1), query.dtype());
    attend({query, key, value}, bias, y);
    return y;
  }
  Grads fast_gradient(const Var& dy) const override {
    auto gradient = [&](Input i) {
      return needs_grad(i) ? heads_apart(leading(saved(i).shape()), saved(i).size(-2),
                                         saved(i).size(-1), dy.dtype())
                           : Tensor();
    };
    const Heads d{gradient(Query), gradient(KeyInput), gradient(Value)};
    Tensor dbias =
        attend_grad({saved(Query).value(), saved(KeyInput).value(), saved(Value).value()},
                    saved(Bias).value(), dy.value(), d, needs_grad(Bias));
    return {{Query, d.query}, {KeyInput, d.key}, {Value, d.value}, {Bias, dbias}};
  }

  // (B, H, R, C) laid out as (B, R, H, C): joining the heads is then a view. Other ranks row-major.
  static Tensor heads_apart(const Shape& batch_dims, Index rows, Index columns, DType dtype) {
    if (batch_dims.rank() == 2)
      return transpose(empty({batch_dims[0], rows, batch_dims[1], columns}, dtype), 1, 2);
    return empty(with_matrix(batch_dims, rows, columns), dtype);
  }
};

void require_attention(std::string_view op, std::initializer_list<NamedOperand> operands,
                       const AttentionMask& mask, const Shape& scores, double dropout_p) {
  const Tensor &keep = mask.keep, &bias = mask.bias.value();
  const DType dtype = operands.begin()->tensor.dtype();
  auto refuse = [&](auto error) {
    throw with_operands(std::move(error), NamedOperand("keep", keep), NamedOperand("bias", bias));
  };
  auto of_dtype = [&](const NamedOperand& x) {
    return !x.tensor.defined() || x.tensor.dtype() == dtype;
  };
  auto fits = [&](const Tensor& m) {
    if (!m.defined()) return true;
    if (m.rank() > scores.rank()) return false;
    for (int i = 1; i <= m.rank(); ++i)
      if (m.size(-i) != 1 && m.size(-i) != scores[scores.rank() - i]) return false;
    return true;
  };
  if (!(dropout_p >= 0)) throw ValueError("dropout", "the probability is outside [0, 1]");
  if (!std::all_of(operands.begin(), operands.end(), of_dtype) || !is_floating(dtype) ||
      (bias.defined() && bias.dtype() != dtype) || (keep.defined() && keep.dtype() != DType::Bool))
    refuse(DTypeError(op, "needs operands of one floating dtype and a bool keep", operands));
  if (!fits(keep) || !fits(bias))
    refuse(
        ShapeError(op, "a mask does not broadcast to the scores " + to_string(scores), operands));
}

}  // namespace ops

AttentionResult scaled_dot_product_attention(const Operand& query, const Var& key, const Var& value,
                                             const AttentionMask& mask, double dropout_p,
                                             RandomKey dropout_key, bool need_probs) {
  const std::initializer_list<NamedOperand> operands{
      {"query", query->value()}, {"key", key}, {"value", value}};
  auto fail = [&](const char* problem) { throw ShapeError("attention", problem, operands); };
  if (query->rank() < 2 || key.rank() < 2 || value.rank() < 2)
    fail("needs query (..., T, Dk), key (..., S, Dk) and value (..., S, Dv)");
  if (query->size(-1) != key.size(-1)) fail("query and key differ in their last axis");
  if (key.size(-2) != value.size(-2)) fail("key and value differ in length S");
  CallSite site(query.where());
  const ops::AttentionDropout drop{dropout_p, dropout_key};
  Shape batch_dims = leading(query->shape()), key_batch_dims = leading(key.shape()),
        value_batch_dims = leading(value.shape());
  if (batch_dims != key_batch_dims || batch_dims != value_batch_dims)
    batch_dims = broadcast_shapes(broadcast_shapes(batch_dims, key_batch_dims, "attention"),
                                  value_batch_dims, "attention");
  ops::require_attention("attention", operands, mask,
                         with_matrix(batch_dims, query->size(-2), key.size(-2)), dropout_p);
  // The kernel has softmax alone, returns no probabilities, and divides by 1 - p.
  if (need_probs || dropout_p >= 1 || mask.form != AttentionForm::Softmax) {
    AttentionResult a = ops::attention_of_heads(query, key, value, mask, drop);
    if (!need_probs) a.probs = {};
    return a;
  }
  auto spread = [&](const Var& v) {
    return leading(v.shape()) == batch_dims
               ? v
               : broadcast_to(v, with_matrix(batch_dims, v.size(-2), v.size(-1)));
  };
  Var v = spread(value), k = spread(key);
  return {apply(ops::Attention(mask, drop), spread(query), k, v, mask.bias), {}};
}

}  // namespace glim

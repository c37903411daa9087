//   scores = Q Kᵀ/√Dk (+ bias)      probs = softmax over kept keys      context = dropout(probs) V
//
// Vaswani et al. 2017, section 3.2.1. The scale stands before the softmax: q·k of independent
// entries of variance 1 has variance Dk, and a softmax of large scores has almost no gradient.
//
//   dV = dropout(P)ᵀ dC      dP = dropout(dC Vᵀ)      dS = P (dP - Σ_s dP P)
//   dQ = dS K/√Dk            dK = dSᵀ Q/√Dk           dbias = dS, summed where bias was broadcast
//
// Backward reads q, k, v, bias and P, or computes P again (autograd/ops/attention_heads.hpp).
#include "autograd/magnification.hpp"
#include "autograd/ops/attention_heads.hpp"
#include "tensor/ops/reduce.hpp"

namespace glim {
namespace {

Attended composed(const Var& query, const Var& key, const Var& value, const AttentionMask& mask,
                  double dropout_p, Key dropout_key, Where where) {
  Var scores = named(mul(matmul(query, transpose(key, -2, -1, where), where),
                         AttentionHeads::scale_for(query.value()), where),
                     "scores");  // (..., T, S)
  if (mask.bias.defined()) scores = named(add(scores, mask.bias, where), "biased_scores");
  Var probs = named(
      mask.keep.defined() ? masked_softmax(scores, mask.keep, where) : softmax(scores, -1, where),
      "probs");
  Var context = named(matmul(dropout(probs, dropout_p, dropout_key, where), value, where),
                      "context");  // (..., T, Dv)
  return {context, probs};
}

// (B, H, R, C) laid out as (B, R, H, C): joining the heads is then a view. Other ranks row-major.
Tensor heads_apart(const Shape& lead, Index rows, Index columns, DType dtype) {
  if (lead.rank() == 2) return empty({lead[0], rows, lead[1], columns}, dtype).transpose(1, 2);
  Shape shape = lead;
  shape.push_back(rows);
  shape.push_back(columns);
  return empty(shape, dtype);
}

struct Attention final : FusedOp {
  enum Input { Query, KeyInput, Value, Bias };
  Attention() = default;
  Attention(Tensor keep, double p, Key key) : heads_(std::move(keep), p, key) {}
  std::string_view name() const override { return "scaled_dot_product_attention"; }

  Var composition(const std::vector<Var>& in) const override {
    return composed(in[Query], in[KeyInput], in[Value], {heads_.keep(), in[Bias]},
                    heads_.dropout_p(), heads_.dropout_key(), Where::current())
        .context;
  }

  Tensor forward(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& bias) {
    for (std::size_t i : {Query, KeyInput, Value, Bias}) save(i);
    Tensor y = heads_apart(leading(query), query.size(-2), value.size(-1), query.dtype());
    heads_.forward(
        query, key, value, y, bias,
        needs_grad(Query) || needs_grad(KeyInput) || needs_grad(Value) || needs_grad(Bias));
    return y;
  }

  Index held_bytes() const override { return heads_.held_bytes(); }
  bool recomputes() const override { return heads_.recomputes() && keeps_inputs(); }
  Tensor recompute() const override {
    const Tensor &query = saved(Query).value(), &value = saved(Value).value();
    Tensor y = heads_apart(leading(query), query.size(-2), value.size(-1), query.dtype());
    heads_.recompute(query, saved(KeyInput).value(), value, y, saved(Bias).value());
    return y;
  }

  Grads backward(const Var& dy) const override {
    if (recording())
      return through_composition({saved(Query), saved(KeyInput), saved(Value), saved(Bias)}, dy);
    const Tensor &query = saved(Query).value(), &key = saved(KeyInput).value(),
                 &value = saved(Value).value(), &bias = saved(Bias).value();
    auto gradient = [&](Input i, const Tensor& of) {
      return needs_grad(i) ? heads_apart(leading(of), of.size(-2), of.size(-1), of.dtype())
                           : Tensor();
    };
    AttentionHeads::Gradients d{
        gradient(Query, query), gradient(KeyInput, key), gradient(Value, value), {}};
    if (needs_grad(Bias)) {
      Shape scores = leading(query);
      scores.push_back(query.size(-2));
      scores.push_back(key.size(-2));
      d.scores = empty(scores, query.dtype());
    }
    heads_.backward(query, key, value, bias, dy.value(), d);
    Grads g;
    if (d.query.defined()) g[Query] = Var(d.query);
    if (d.key.defined()) g[KeyInput] = Var(d.key);
    if (d.value.defined()) g[Value] = Var(d.value);
    if (d.scores.defined()) g[Bias] = Var(sum_to(d.scores, bias.shape()));
    return g;
  }

 private:
  static Shape leading(const Tensor& x) {
    Shape lead;
    for (int i = 0; i + 2 < x.rank(); ++i) lead.push_back(x.shape()[i]);
    return lead;
  }

  AttentionHeads heads_;
};

}  // namespace

Attended scaled_dot_product_attention(const Var& query, const Var& key, const Var& value,
                                      const AttentionMask& mask, double dropout_p, Key dropout_key,
                                      bool need_probs, Where where) {
  auto fail = [&](const std::string& problem) {
    throw with_operands(ShapeError("attention", problem), Operand("query", query.value()),
                        Operand("key", key.value()), Operand("value", value.value()));
  };
  if (query.rank() < 2 || key.rank() < 2 || value.rank() < 2)
    fail("query (..., T, Dk), key (..., S, Dk) and value (..., S, Dv) are wanted");
  if (query.size(-1) != key.size(-1)) fail("query and key differ in their last axis");
  if (key.size(-2) != value.size(-2)) fail("key and value differ in length S");
  // Explicit, asked for probabilities, or everything dropped: the primitives say it all.
  if (magnification() == Magnification::Explicit || need_probs || dropout_p >= 1) {
    Attended a = composed(query, key, value, mask, dropout_p, dropout_key, where);
    if (!need_probs) a.probs = {};
    return a;
  }
  if (!(dropout_p >= 0)) throw ValueError("dropout", "the probability lies outside [0, 1]");
  if (query.dtype() != key.dtype() || query.dtype() != value.dtype() ||
      !is_floating(query.dtype()) || (mask.bias.defined() && mask.bias.dtype() != query.dtype()) ||
      (mask.keep.defined() && mask.keep.dtype() != DType::Bool))
    throw with_operands(
        DTypeError("attention", "needs operands of one floating dtype and a bool keep"),
        Operand("query", query.value()), Operand("key", key.value()),
        Operand("value", value.value()), Operand("keep", mask.keep),
        Operand("bias", mask.bias.value()));
  auto leading = [](const Var& v) {
    Shape s;
    for (int i = 0; i + 2 < v.rank(); ++i) s.push_back(v.shape()[i]);
    return s;
  };
  Shape lead = leading(query);
  if (lead != leading(key) || lead != leading(value))
    lead = broadcast_shapes(broadcast_shapes(lead, leading(key), "attention"), leading(value),
                            "attention");
  auto spread = [&](const Var& v) {
    if (leading(v) == lead) return v;
    Shape s = lead;
    s.push_back(v.size(-2));
    s.push_back(v.size(-1));
    return broadcast_to(v, s, where);
  };
  Shape scores = lead;
  scores.push_back(query.size(-2));
  scores.push_back(key.size(-2));
  if (!fits_scores(mask, scores))
    throw with_operands(
        ShapeError("attention", "a mask does not broadcast to the scores " + to_string(scores)),
        Operand("query", query.value()), Operand("key", key.value()), Operand("keep", mask.keep),
        Operand("bias", mask.bias.value()));
  Var context = apply(where, Attention(mask.keep, dropout_p, dropout_key), spread(query),
                      spread(key), spread(value), mask.bias);
  return {named(context, "context"), {}};
}

}  // namespace glim

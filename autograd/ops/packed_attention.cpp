// Attention of H heads whose projections are side by side, as one product makes them: head h of a
// block of D columns is its columns h·Dh ... (h + 1)·Dh, Dh = D/H.
//
//   [Q K V] = x      (B, T, 3D)                           to itself
//   Q = x, [K V] = memory      (B, T, D), (B, S, 2D)      to a memory
//
// It is between the projections W^Q, W^K, W^V and W^O. Head by head the gradients are those of
// attention.cpp. Splitting and joining the heads is a matter of strides: nothing is copied, and the kernel
// writes each gradient once, where the projection's backward reads it.
#include "autograd/heads.hpp"
#include "autograd/ops/attention.hpp"
#include "tensor/ops/reduce.hpp"

namespace glim {
namespace ops {

struct HeadVars {
  Var query, key, value;  // (B, H, T or S, Dh)
};
HeadVars heads_of(const Var& x, const Var& memory, Index heads) {
  const bool self = !memory.defined();
  const Index d = self ? x.size(2) / 3 : x.size(2);
  auto block = [&](const Var& operand, Index i) {
    return split_heads(slice(operand, 2, i * d, (i + 1) * d), heads);
  };
  if (self) return {block(x, 0), block(x, 1), block(x, 2)};
  return {split_heads(x, heads), block(memory, 0), block(memory, 1)};
}

AttentionResult composed(const Var& x, const Var& memory, Index heads, const AttentionMask& mask,
                         const AttentionDropout& drop, bool need_probs) {
  HeadVars h = heads_of(x, memory, heads);
  AttentionResult a =
      scaled_dot_product_attention(named(h.query, "query"), named(h.key, "key"),
                                   named(h.value, "value"), mask, drop.p, drop.key, need_probs);
  a.context = join_heads(a.context);
  return a;
}

struct PackedAttention final : AttentionOp {
  static constexpr Formula formula{
      "packed_attention",
      "y = [C_1 … C_H], C_h = dropout(A_h) V_h, A_h = softmax(Q_h K_hᵀ/√Dh (+ bias)), "
      "[Q K V] = x, or Q = x and [K V] = memory",
      {"dx = [dQ dK dV] or dQ, head by head as scaled_dot_product_attention", "dmemory = [dK dV]",
       "dbias = dS, summed where bias was broadcast"},
      "Vaswani et al. 2017, section 3.2.2"};
  static constexpr std::string_view label = "context";
  enum Input { X, Memory, Bias };
  PackedAttention(Index h, const AttentionMask& m, AttentionDropout d)
      : AttentionOp(m, d), count(h) {}

  Var explicit_form(const Var& x, const Var& memory, const Var& bias) const {
    return composed(x, memory, count, mask_with(bias), drop, false).context;
  }

  Grads gradient(const Var& dy) const override {
    const Var& memory = saved(Memory);
    auto h = heads_of(saved(X), memory, count);
    auto d = attention_gradients(h.query, h.key, h.value, mask_with(saved(Bias)), drop,
                                 split_heads(dy, count));
    Var dq = join_heads(d.query), dk = join_heads(d.key), dv = join_heads(d.value);
    if (!memory.defined()) return {{X, concatenate({dq, dk, dv}, 2)}, {Bias, d.bias}};
    return {{X, dq}, {Memory, concatenate({dk, dv}, 2)}, {Bias, d.bias}};
  }

  // ---- the kernel ----
  Tensor forward(const Tensor& x, const Tensor& memory, const Tensor& bias) {
    save(X, Memory, Bias);
    const Index d = memory.defined() ? x.size(2) : x.size(2) / 3;
    Tensor y = empty({x.size(0), x.size(1), d}, x.dtype());
    attend(blocks(x, memory, memory.defined()), bias, block(y, 0, 1));
    return y;
  }
  Grads fast_gradient(const Var& dy) const override {
    const Tensor &x = saved(X).value(), &memory = saved(Memory).value();
    auto like = [&](Input i, const Tensor& operand) {
      return needs_grad(i) ? empty(operand.shape(), operand.dtype()) : Tensor();
    };
    Tensor dx = like(X, x), dmemory = like(Memory, memory);
    const bool to_memory = memory.defined();
    Tensor dbias =
        attend_grad(blocks(x, memory, to_memory), saved(Bias).value(), block(dy.value(), 0, 1),
                    blocks(dx, dmemory, to_memory), needs_grad(Bias));
    return {{X, dx}, {Memory, dmemory}, {Bias, dbias}};
  }

 private:
  // The blocks of x and memory, or of their gradients.
  Heads blocks(const Tensor& x, const Tensor& memory, bool to_memory) const {
    if (to_memory) return {block(x, 0, 1), block(memory, 0, 2), block(memory, 1, 2)};
    return {block(x, 0, 3), block(x, 1, 3), block(x, 2, 3)};
  }
  // Block i of (B, T, parts·D) as (B, H, T, Dh); undefined for undefined.
  Tensor block(const Tensor& x, Index i, Index parts) const {
    if (!x.defined()) return {};
    const Strides& s = x.strides();
    const Index d = x.size(2) / parts, dh = d / count;
    return Tensor::from_storage(x.storage(), x.offset() + i * d * s[2],
                                {x.size(0), count, x.size(1), dh}, {s[0], dh * s[2], s[1], s[2]},
                                x.dtype());
  }

  Index count;
};

}  // namespace ops

AttentionResult packed_attention(const Operand& x, const Var& memory, Index heads,
                                 const AttentionMask& mask, double dropout_p, RandomKey dropout_key,
                                 bool need_probs) {
  const std::initializer_list<NamedOperand> operands{{"x", x->value()}, {"memory", memory}};
  auto fail = [&](const std::string& problem) {
    throw ShapeError("packed_attention", problem, operands);
  };
  if (heads < 1)
    throw ValueError("packed_attention", "needs at least one head, got " + std::to_string(heads));
  const bool self = !memory.defined();
  if (x->rank() != 3 || (!self && memory.rank() != 3))
    fail("needs x (B, T, 3D), or x (B, T, D) and memory (B, S, 2D)");
  if (self && x->size(2) % 3 != 0)
    fail("x must have 3D columns, got " + std::to_string(x->size(2)));
  const Index d = self ? x->size(2) / 3 : x->size(2);
  if (!self && (memory.size(0) != x->size(0) || memory.size(2) != 2 * d))
    fail("memory must be (B, S, 2D) with B and D of x");
  if (d % heads != 0)
    fail(std::to_string(heads) + " heads do not divide " + std::to_string(d) + " columns");
  CallSite site(x.where());
  ops::AttentionDropout drop{dropout_p, dropout_key};
  if (need_probs || dropout_p >= 1 ||
      mask.form != AttentionForm::Softmax)  // as in scaled_dot_product_attention
    return ops::composed(x, memory, heads, mask, drop, need_probs);
  ops::require_attention("packed_attention", operands, mask,
                         {x->size(0), heads, x->size(1), self ? x->size(1) : memory.size(1)},
                         dropout_p);
  return {apply(ops::PackedAttention(heads, mask, drop), x, memory, mask.bias), {}};
}

}  // namespace glim

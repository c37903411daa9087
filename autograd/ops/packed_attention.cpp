// Attention of H heads whose projections are side by side, as one product makes them: head h of a
// block of D columns is its columns h·Dh ... (h + 1)·Dh, Dh = D/H.
//
//   [Q K V] = x      (B, T, 3D)                           to itself
//   Q = x, [K V] = memory      (B, T, D), (B, S, 2D)      to a memory
//
// It is between the projections W^Q, W^K, W^V and W^O. Head by head the gradients are those of
// attention.hpp. Splitting and joining the heads is a matter of strides: nothing is copied, and the kernel
// writes each gradient once, where the projection's backward reads it.
#include "autograd/ops/attention.hpp"
#include "tensor/ops/reduce.hpp"

namespace glim {
namespace ops {

// (B, T, D) -> (B, T, H, Dh) -> (B, H, T, Dh)
template <class V>
V split_heads(const V& x, Index heads) {
  return permute(reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads}), {0, 2, 1, 3});
}
// (B, H, T, Dh) -> (B, T, H, Dh) -> (B, T, D)
Var join_heads(const Var& x) {
  return reshape(permute(x, {0, 2, 1, 3}), {x.size(0), x.size(2), x.size(1) * x.size(3)});
}

// The heads of x and memory, or of their gradients, which may be undefined.
template <class V>
HeadsOf<V> heads_of(const V& x, const V& memory, Index heads, bool to_memory) {
  auto block = [&](const V& of, Index i, Index parts) {
    if (!of.defined()) return of;
    const Index d = of.size(2) / parts;
    return split_heads(parts == 1 ? of : slice(of, 2, i * d, (i + 1) * d), heads);
  };
  if (to_memory) return {block(x, 0, 1), block(memory, 0, 2), block(memory, 1, 2)};
  return {block(x, 0, 3), block(x, 1, 3), block(x, 2, 3)};
}

AttentionResult composed(const Var& x, const Var& memory, Index heads, const AttentionMask& mask,
                         const AttentionDropout& drop, bool need_probs) {
  HeadsOf<Var> h = heads_of(x, memory, heads, memory.defined());
  AttentionResult a =
      scaled_dot_product_attention(named(h.query, "query"), named(h.key, "key"),
                                   named(h.value, "value"), mask, drop.p, drop.key, need_probs);
  a.context = join_heads(a.context);
  return a;
}

struct PackedAttention final : AttentionOp {
  static constexpr Formula formula{
      "packed_attention",
      "y = [C_1 … C_H], C_h = dropout(P_h) V_h, P_h = softmax(Q_h K_hᵀ/√Dh (+ bias)), "
      "[Q K V] = x, or Q = x and [K V] = memory",
      {"dx = [dQ dK dV] or dQ, head by head as scaled_dot_product_attention", "dmemory = [dK dV]",
       "dbias = dS, summed where bias was broadcast"},
      "Vaswani et al. 2017, section 3.2.2"};
  static constexpr std::string_view label = "context";
  enum Input { X, Memory, Bias };
  PackedAttention(Index h, Tensor k, AttentionDropout d) : AttentionOp(std::move(k), d), count(h) {}

  Var explicit_form(const Var& x, const Var& memory, const Var& bias) const {
    return composed(x, memory, count, {keep_mask, bias}, drop, false).context;
  }

  Grads gradient(const Var& dy) const override {
    const Var& memory = saved(Memory);
    auto h = heads_of(saved(X), memory, count, memory.defined());
    auto d = attention_gradients(h.query, h.key, h.value, {keep_mask, saved(Bias)}, drop,
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
    attend(heads_of(x, memory, count, memory.defined()), bias, split_heads(y, count));
    return y;
  }
  Grads fast_gradient(const Var& dy) const override {
    const Tensor &x = saved(X).value(), &memory = saved(Memory).value();
    auto like = [&](Input i, const Tensor& of) {
      return needs_grad(i) ? empty(of.shape(), of.dtype()) : Tensor();
    };
    Tensor dx = like(X, x), dmemory = like(Memory, memory);
    const bool to_memory = memory.defined();
    Tensor dbias = attend_grad(heads_of(x, memory, count, to_memory), saved(Bias).value(),
                               split_heads(dy.value(), count),
                               heads_of(dx, dmemory, count, to_memory), needs_grad(Bias));
    return {{X, dx}, {Memory, dmemory}, {Bias, dbias}};
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
  if (need_probs || dropout_p >= 1)  // as in scaled_dot_product_attention
    return ops::composed(x, memory, heads, mask, drop, need_probs);
  ops::require_attention("packed_attention", operands, mask,
                         {x->size(0), heads, x->size(1), self ? x->size(1) : memory.size(1)},
                         dropout_p);
  return {apply(ops::PackedAttention(heads, mask.keep, drop), x, memory, mask.bias), {}};
}

}  // namespace glim

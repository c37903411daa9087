// Attention of H heads whose projections lie side by side, as one product makes them: head h of a
// block of D columns is its columns h·Dh ... (h + 1)·Dh, Dh = D/H.
//
//   [Q K V] = x      (B, T, 3D)                           to itself
//   Q = x, [K V] = memory      (B, T, D), (B, S, 2D)      to a memory
//   y = [C_1 ... C_H]      (B, T, D)      C_h = dropout(softmax(Q_h K_hᵀ/√Dh (+ bias))) V_h
//
//   dx = [dQ dK dV]      dmemory = [dK dV]      dbias = dS, summed where bias was broadcast
//
// Vaswani et al. 2017, section 3.2.2, between the projections W^Q, W^K, W^V and W^O. Head by head the
// gradients are those of attention.cpp. Splitting and joining the heads is a matter of strides:
// nothing is copied, and each gradient is written once, where the projection's backward reads it.
#include "autograd/magnification.hpp"
#include "autograd/ops/attention_heads.hpp"
#include "tensor/ops/reduce.hpp"

namespace glim {
namespace {

// The blocks of x and memory.
struct Blocks {
  bool self;
  Index d;  // D
  Blocks(const Tensor& x, const Tensor& memory)
      : self(!memory.defined()), d(self ? x.size(2) / 3 : x.size(2)) {}
};

Attended composed(const Var& x, const Var& memory, Index heads, const AttentionMask& mask,
                  double dropout_p, Key dropout_key, bool need_probs, Where where) {
  Blocks blocks(x.value(), memory.value());
  Index d = blocks.d;
  auto split = [&](const Var& part) {  // (B, T, D) -> (B, T, H, Dh) -> (B, H, T, Dh)
    return permute(reshape(part, {part.size(0), part.size(1), heads, d / heads}, where),
                   {0, 2, 1, 3}, where);
  };
  auto block = [&](const Var& of, Index i) {
    return split(slice(of, 2, i * d, (i + 1) * d, 1, where));
  };
  Var query = blocks.self ? block(x, 0) : split(x);
  Var key = blocks.self ? block(x, 1) : block(memory, 0);
  Var value = blocks.self ? block(x, 2) : block(memory, 1);
  Attended a =
      scaled_dot_product_attention(named(query, "query"), named(key, "key"), named(value, "value"),
                                   mask, dropout_p, dropout_key, need_probs, where);
  // (B, H, T, Dh) -> (B, T, H, Dh) -> (B, T, D)
  a.context = reshape(permute(a.context, {0, 2, 1, 3}, where), {x.size(0), x.size(1), d}, where);
  return a;
}

struct PackedAttention final : FusedOp {
  enum Input { X, Memory, Bias };
  PackedAttention() = default;
  PackedAttention(Index count, Tensor keep, double p, Key key)
      : count_(count), heads_(std::move(keep), p, key) {}
  std::string_view name() const override { return "packed_attention"; }

  Var composition(const std::vector<Var>& in) const override {
    return composed(in[X], in[Memory], count_, {heads_.keep(), in[Bias]}, heads_.dropout_p(),
                    heads_.dropout_key(), false, Where::current())
        .context;
  }

  Tensor forward(const Tensor& x, const Tensor& memory, const Tensor& bias) {
    for (std::size_t i : {X, Memory, Bias}) save(i);
    return context(x, memory, [&](const auto&... heads) {
      heads_.forward(heads..., bias, needs_grad(X) || needs_grad(Memory) || needs_grad(Bias));
    });
  }

  Index held_bytes() const override { return heads_.held_bytes(); }
  bool recomputes() const override { return heads_.recomputes() && keeps_inputs(); }
  Tensor recompute() const override {
    return context(saved(X).value(), saved(Memory).value(),
                   [&](const auto&... heads) { heads_.recompute(heads..., saved(Bias).value()); });
  }

  Grads backward(const Var& dy) const override {
    if (recording()) return through_composition({saved(X), saved(Memory), saved(Bias)}, dy);
    const Tensor &x = saved(X).value(), &memory = saved(Memory).value(),
                 &bias = saved(Bias).value();
    Blocks blocks(x, memory);
    Index d = blocks.d, first = blocks.self ? 1 : 0;
    auto gradient = [&](Input i, const Tensor& of) {
      return of.defined() && needs_grad(i) ? empty(of.shape(), of.dtype()) : Tensor();
    };
    auto part = [&](const Tensor& of, Index i) {
      return of.defined() ? block(of, i, d) : Tensor();
    };
    Tensor dx = gradient(X, x), dmemory = gradient(Memory, memory);
    const Tensor &pairs = blocks.self ? x : memory, &dpairs = blocks.self ? dx : dmemory;
    AttentionHeads::Gradients parts{part(dx, 0), part(dpairs, first), part(dpairs, first + 1), {}};
    if (needs_grad(Bias))
      parts.scores = empty({x.size(0), count_, x.size(1), pairs.size(1)}, x.dtype());
    heads_.backward(block(x, 0, d), block(pairs, first, d), block(pairs, first + 1, d), bias,
                    block(dy.value(), 0, d), parts);
    Grads g;
    if (dx.defined()) g[X] = Var(dx);
    if (dmemory.defined()) g[Memory] = Var(dmemory);
    if (parts.scores.defined()) g[Bias] = Var(sum_to(parts.scores, bias.shape()));
    return g;
  }

 private:
  // y, which run(query, key, value, y's heads) writes.
  template <class Run>
  Tensor context(const Tensor& x, const Tensor& memory, const Run& run) const {
    Blocks blocks(x, memory);
    Tensor y = empty({x.size(0), x.size(1), blocks.d}, x.dtype());
    const Tensor& pairs = blocks.self ? x : memory;
    Index first = blocks.self ? 1 : 0;
    run(block(x, 0, blocks.d), block(pairs, first, blocks.d), block(pairs, first + 1, blocks.d),
        block(y, 0, blocks.d));
    return y;
  }

  // Block i of (B, T, parts·D) as (B, H, T, Dh).
  Tensor block(const Tensor& x, Index i, Index d) const {
    const Strides& s = x.strides();
    Index width = d / count_;
    return Tensor::from_storage(x.storage(), x.offset() + i * d * s[2],
                                {x.size(0), count_, x.size(1), width},
                                {s[0], width * s[2], s[1], s[2]}, x.dtype());
  }

  Index count_ = 1;
  AttentionHeads heads_;
};

}  // namespace

Attended packed_attention(const Var& x, const Var& memory, Index heads, const AttentionMask& mask,
                          double dropout_p, Key dropout_key, bool need_probs, Where where) {
  auto fail = [&](const std::string& problem) {
    throw with_operands(ShapeError("packed_attention", problem), Operand("x", x.value()),
                        Operand("memory", memory.value()));
  };
  if (heads < 1) throw ValueError("packed_attention", "there must be one head at least");
  if (x.rank() != 3 || (memory.defined() && memory.rank() != 3))
    fail("x (B, T, 3D), or x (B, T, D) and memory (B, S, 2D), are wanted");
  if (!memory.defined() && x.size(2) % 3 != 0) fail("x is not three blocks of columns");
  Blocks blocks(x.value(), memory.value());
  if (memory.defined() && (memory.size(0) != x.size(0) || memory.size(2) != 2 * blocks.d))
    fail("memory has not the batch extent B and 2D columns of x");
  if (blocks.d % heads != 0)
    fail(std::to_string(heads) + " heads do not divide " + std::to_string(blocks.d) + " columns");
  if (magnification() == Magnification::Explicit || need_probs || dropout_p >= 1)
    return composed(x, memory, heads, mask, dropout_p, dropout_key, need_probs, where);
  if (!(dropout_p >= 0)) throw ValueError("dropout", "the probability lies outside [0, 1]");
  auto with_all = [&](auto e) {
    return with_operands(std::move(e), Operand("x", x.value()), Operand("memory", memory.value()),
                         Operand("keep", mask.keep), Operand("bias", mask.bias.value()));
  };
  if (!is_floating(x.dtype()) || (memory.defined() && memory.dtype() != x.dtype()) ||
      (mask.bias.defined() && mask.bias.dtype() != x.dtype()) ||
      (mask.keep.defined() && mask.keep.dtype() != DType::Bool))
    throw with_all(
        DTypeError("packed_attention", "needs operands of one floating dtype and a bool keep"));
  Shape scores{x.size(0), heads, x.size(1), blocks.self ? x.size(1) : memory.size(1)};
  if (!fits_scores(mask, scores))
    throw with_all(ShapeError("packed_attention",
                              "a mask does not broadcast to the scores " + to_string(scores)));
  Var y =
      apply(where, PackedAttention(heads, mask.keep, dropout_p, dropout_key), x, memory, mask.bias);
  return {named(y, "context"), {}};
}

}  // namespace glim

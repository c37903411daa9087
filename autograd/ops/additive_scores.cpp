// The scores of additive attention, from projected queries and keys.
//
//   query (B, T, A)   keys (B, S, A)   v (A,)   e (B, T, S)
#include "autograd/kernels/rows.hpp"
#include "autograd/ops.hpp"
#include "tensor/error.hpp"

namespace glim {
namespace ops {

// (B, T, 1, A) + (B, 1, S, A) -> (B, T, S, A)
Var energy(const Var& query, const Var& keys) {
  Var k = unsqueeze(keys, 1);
  return named(tanh(unsqueeze(query, 2) + k), "energy");
}

// In the kernel neither the sums nor their tanh, (B, T, S, A), exist as tensors. A score whose gradient is 0,
// as a masked one's is, costs nothing in backward. Sentences are independent; dv is added up in pieces of
// sentences that depend on the shapes alone.
struct Sentences {
  Sentences(const Tensor& q, const Tensor& k, const Tensor& v_)
      : query(q.contiguous()),
        keys(k.contiguous()),
        v(v_.contiguous()),
        b(q.size(0)),
        t(q.size(1)),
        s(k.size(1)),
        a(v_.size(0)) {}
  // Rows in one piece of work: about 32,768 values of tanh.
  Index per_piece() const { return std::max<Index>(1, 32768 / std::max<Index>(1, t * s * a)); }
  template <class T>
  AdditiveTile<T> tile(Index i) const {
    return {t, s, a, query.data<T>() + i * t * a, keys.data<T>() + i * s * a, v.data<T>()};
  }
  Tensor query, keys, v;
  Index b, t, s, a;
};

struct AdditiveScores final : Fused {
  static constexpr Formula formula{"additive_scores",
                                   "e_ts = Σ_a v_a tanh(q_ta + k_sa)",
                                   {"dq_ta = Σ_s w_tsa, w_tsa = de_ts v_a (1 - tanh²(q_ta + k_sa))",
                                    "dk_sa = Σ_t w_tsa", "dv_a = Σ_bts de_ts tanh(q_ta + k_sa)"},
                                   "Bahdanau et al. 2015, appendix A.1.2"};
  enum Input { Query, Keys, V };

  Var explicit_form(const Var& query, const Var& keys, const Var& v) const {
    return matmul(energy(query, keys), v);
  }

  Grads gradient(const Var& de) const override {
    const Var& v = saved(V);
    Var u = energy(saved(Query), saved(Keys));  // (B, T, S, A)
    Var d = unsqueeze(de, 3), slope = 1 - u * u, w = d * v * slope;
    return {{Query, sum(w, {2})}, {Keys, sum(w, {1})}, {V, sum_to(d * u, v.shape())}};
  }

  // ---- the kernel ----
  Tensor forward(const Tensor& query, const Tensor& keys, const Tensor& v) {
    save(Query, Keys, V);
    Sentences o(query, keys, v);
    Tensor y = empty({o.b, o.t, o.s}, query.dtype());
    each_piece(query.dtype(), o.b, o.per_piece(), [&]<class T>(Index begin, Index end) {
      for (Index i = begin; i < end; ++i)
        dispatch<simd::additive_scores<T>>(o.tile<T>(i), y.data<T>() + i * o.t * o.s);
    });
    return y;
  }
  Grads fast_gradient(const Var& dy) const override {
    Sentences o(saved(Query).value(), saved(Keys).value(), saved(V).value());
    Tensor de = dy.value().contiguous();
    const Index piece = o.per_piece();
    auto gradient = [&](Input i, const Shape& shape) {
      return needs_grad(i) ? zeros(shape, dy.dtype()) : Tensor();
    };
    Tensor dquery = gradient(Query, {o.b, o.t, o.a}), dkeys = gradient(Keys, {o.b, o.s, o.a});
    RowSums dv(o.b, piece, o.a, dy.dtype(), needs_grad(V));
    each_piece(de.dtype(), o.b, piece, [&]<class T>(Index begin, Index end) {
      for (Index i = begin; i < end; ++i)
        dispatch<simd::additive_scores_grad<T>>(
            o.tile<T>(i), de.data<T>() + i * o.t * o.s, data_or_null<T>(dquery, i * o.t * o.a),
            data_or_null<T>(dkeys, i * o.s * o.a), dv.at<T>(begin));
    });
    return {{Query, dquery}, {Keys, dkeys}, {V, dv.total()}};
  }
};

}  // namespace ops

Var additive_scores(const Operand& query, const Var& keys, const Var& v) {
  std::initializer_list<NamedOperand> all{{"query", query->value()}, {"keys", keys}, {"v", v}};
  if (query->rank() != 3 || keys.rank() != 3 || v.rank() != 1 || query->size(0) != keys.size(0) ||
      query->size(2) != v.size(0) || keys.size(2) != v.size(0))
    throw ShapeError("additive_scores", "needs query (B, T, A), keys (B, S, A) and v (A)", all);
  if (!is_floating(query->dtype()) || keys.dtype() != query->dtype() || v.dtype() != query->dtype())
    throw DTypeError("additive_scores", "needs operands of one floating dtype", all);
  return apply(ops::AdditiveScores{}, query, keys, v);
}

}  // namespace glim

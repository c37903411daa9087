// The scores of additive attention (Bahdanau et al. 2015, arXiv 1409.0473, appendix A.1.2), from
// projected queries and keys:
//
//   e_ts = Σ_a v_a tanh(q_ta + k_sa)      query (B, T, A)   keys (B, S, A)   v (A,)   e (B, T, S)
//
//   w_tsa = de_ts v_a (1 - tanh²(q_ta + k_sa))
//   dq_ta = Σ_s w_tsa      dk_sa = Σ_t w_tsa      dv_a = Σ_bts de_ts tanh(q_ta + k_sa)
//
// Neither the sums nor their tanh, (B, T, S, A), exist as tensors: backward reads query, keys and v
// and computes them again. A score whose gradient is 0, as a masked one's is, costs nothing there.
// Sentences are independent; dv is added up in pieces of sentences that depend on the shapes alone.
#include "autograd/kernels/recurrent.hpp"
#include "autograd/magnification.hpp"
#include "autograd/ops/fused.hpp"

namespace glim {
namespace {

Var composed(const Var& query, const Var& keys, const Var& v, Where where) {
  Var u = named(tanh(add(unsqueeze(query, 2, where), unsqueeze(keys, 1, where), where), where),
                "energy");     // (B, T, 1, A) + (B, 1, S, A) -> (B, T, S, A)
  return matmul(u, v, where);  // (B, T, S)
}

struct AdditiveScores final : FusedOp {
  enum Input { Query, Keys, V };
  std::string_view name() const override { return "additive_scores"; }

  Var composition(const std::vector<Var>& in) const override {
    return composed(in[Query], in[Keys], in[V], Where::current());
  }

  Tensor forward(const Tensor& query, const Tensor& keys, const Tensor& v) {
    for (std::size_t i : {Query, Keys, V}) save(i);
    Operands o(query, keys, v);
    Tensor y = empty({o.b, o.t, o.s}, query.dtype());
    visit_floating(query, name(), [&]<class T>() {
      parallel_for(o.b, o.per_piece(), [&](Index begin, Index end) {
        for (Index i = begin; i < end; ++i)
          recurrent_kernels<T>().additive_scores(o.tile<T>(i), y.data<T>() + i * o.t * o.s);
      });
    });
    return y;
  }

  Grads backward(const Var& dy) const override {
    if (recording()) return through_composition({saved(Query), saved(Keys), saved(V)}, dy);
    Operands o(saved(Query).value(), saved(Keys).value(), saved(V).value());
    Tensor up = dy.value().contiguous();
    Index piece = o.per_piece(), pieces = std::max<Index>(1, (o.b + piece - 1) / piece);
    auto gradient = [&](Input i, const Shape& shape) {
      return needs_grad(i) ? zeros(shape, dy.dtype()) : Tensor();
    };
    Tensor dquery = gradient(Query, {o.b, o.t, o.a}), dkeys = gradient(Keys, {o.b, o.s, o.a}),
           dv = gradient(V, {pieces, o.a});
    visit_floating(up, name(), [&]<class T>() {
      auto from = [](const Tensor& x, Index offset) {
        return x.defined() ? x.data<T>() + offset : nullptr;
      };
      parallel_for(o.b, piece, [&](Index begin, Index end) {
        for (Index i = begin; i < end; ++i)
          recurrent_kernels<T>().additive_scores_grad(
              o.tile<T>(i), up.data<T>() + i * o.t * o.s, from(dquery, i * o.t * o.a),
              from(dkeys, i * o.s * o.a), from(dv, begin / piece * o.a));
      });
    });
    Grads d;
    if (dquery.defined()) d[Query] = Var(dquery);
    if (dkeys.defined()) d[Keys] = Var(dkeys);
    if (dv.defined()) d[V] = Var(sum_of_pieces(dv));
    return d;
  }

 private:
  struct Operands {
    Operands(const Tensor& q, const Tensor& k, const Tensor& v_)
        : query(q.contiguous()),
          keys(k.contiguous()),
          v(v_.contiguous()),
          b(q.size(0)),
          t(q.size(1)),
          s(k.size(1)),
          a(v_.size(0)) {}
    // Sentences of one piece of work: about 32,768 values of tanh.
    Index per_piece() const { return std::max<Index>(1, 32768 / std::max<Index>(1, t * s * a)); }
    template <class T>
    AdditiveTile<T> tile(Index i) const {
      return {t, s, a, query.data<T>() + i * t * a, keys.data<T>() + i * s * a, v.data<T>()};
    }
    Tensor query, keys, v;
    Index b, t, s, a;
  };
};

}  // namespace

Var additive_scores(const Var& query, const Var& keys, const Var& v, Where where) {
  auto operands = [&](auto error) {
    return with_operands(std::move(error), Operand("query", query.value()),
                         Operand("keys", keys.value()), Operand("v", v.value()));
  };
  if (query.rank() != 3 || keys.rank() != 3 || v.rank() != 1 || query.size(0) != keys.size(0) ||
      query.size(2) != v.size(0) || keys.size(2) != v.size(0))
    throw operands(
        ShapeError("additive_scores", "query (B, T, A), keys (B, S, A) and v (A) are wanted"));
  if (!is_floating(query.dtype()) || keys.dtype() != query.dtype() || v.dtype() != query.dtype())
    throw operands(DTypeError("additive_scores", "needs operands of one floating dtype"));
  if (magnification() == Magnification::Explicit) return composed(query, keys, v, where);
  return apply(where, AdditiveScores{}, query, keys, v);
}

}  // namespace glim

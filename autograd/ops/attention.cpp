//   scores = Q Kᵀ/√Dk (+ bias)      probs = softmax over kept keys      context = dropout(probs) V
//
// Vaswani et al. 2017, section 3.2.1. The scale stands before the softmax: q·k of independent
// entries of variance 1 has variance Dk, and a softmax of large scores has almost no gradient.
//
//   dV = dropout(P)ᵀ dC      dP = dropout(dC Vᵀ)      dS = P (dP - Σ_s dP P)
//   dQ = dS K/√Dk            dK = dSᵀ Q/√Dk           dbias = dS, summed where bias was broadcast
//
// Backward reads q, k, v, bias and P. The heads are independent: each (batch, head) is one piece of
// work, in tiles of query rows whose scores stay in the cache; the mask is read through strides,
// never expanded; the dropout mask is drawn again. P is kept when it is no larger than the
// projections around it (S <= 2 (Dk + Dv)): reading it is cheaper than a product and a softmax. For
// longer sequences P would dominate the memory of the model, so backward computes it again, tile by
// tile (Dao et al. 2022, arXiv 2205.14135, section 3.1, do so for the same reason).
#include <array>
#include <cmath>

#include "autograd/magnification.hpp"
#include "autograd/ops/fused.hpp"
#include "tensor/matmul.hpp"
#include "tensor/reduce.hpp"

namespace glim {
namespace {

double scale_for(const Shape& query) { return 1 / std::sqrt(static_cast<double>(query.back())); }

Attended composed(const Var& query, const Var& key, const Var& value, const AttentionMask& mask,
                  double dropout_p, Key dropout_key, Where where) {
  Var scores = named(
      mul(matmul(query, transpose(key, -2, -1, where), where), scale_for(query.shape()), where),
      "scores");  // (..., T, S)
  if (mask.bias.defined()) scores = named(add(scores, mask.bias, where), "biased_scores");
  Var probs = named(
      mask.keep.defined() ? masked_softmax(scores, mask.keep, where) : softmax(scores, -1, where),
      "probs");
  Var context = named(matmul(dropout(probs, dropout_p, dropout_key, where), value, where),
                      "context");  // (..., T, Dv)
  return {context, probs};
}

// (..., R, C) as matrices of adjacent columns: one for each index of the leading axes, which are
// `lead` or broadcast to it. The rows of one matrix lie `row` apart, its columns `column` (0 or 1).
struct Matrices {
  Tensor x;
  Index row = 0, column = 0;
  Shape lead;

  Matrices() = default;
  Matrices(const Tensor& from, const Shape& leading, Index rows, Index columns) : lead(leading) {
    if (!from.defined()) return;
    x = from;
    if (from.size(-1) > 1 && from.strides().back() != 1) x = from.contiguous();
    Shape full = leading;
    full.push_back(rows);
    full.push_back(columns);
    if (x.shape() != full) x = x.expand(full);
    row = x.strides()[x.rank() - 2];
    column = columns == 1 ? 1 : x.strides().back();
  }
  // An operand of a product: BLAS wants rows that do not overlap.
  static Matrices operand(const Tensor& from, const Shape& leading, Index rows, Index columns) {
    Matrices m(from, leading, rows, columns);
    if (rows > 1 && m.row < columns) m = Matrices(from.contiguous(), leading, rows, columns);
    return m;
  }
  bool defined() const { return x.defined(); }
  template <class T>
  T* at(Index matrix, Index r) const {
    if (!x.defined()) return nullptr;
    Index offset = r * row;
    for (int i = lead.rank() - 1; i >= 0; --i) {
      offset += matrix % lead[i] * x.strides()[i];
      matrix /= lead[i];
    }
    return x.data<T>() + offset;
  }
};

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
  Attention(Tensor keep, double p, Key key) : keep_(std::move(keep)), p_(p), key_(key) {}
  std::string_view name() const override { return "scaled_dot_product_attention"; }

  Var composition(const std::vector<Var>& in) const override {
    return composed(in[Query], in[KeyInput], in[Value], {keep_, in[Bias]}, p_, key_,
                    Where::current())
        .context;
  }

  Tensor forward(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& bias) {
    for (std::size_t i : {Query, KeyInput, Value, Bias}) save(i);
    Sizes n(query, key, value);
    Matrices q = Matrices::operand(query, n.lead, n.t, n.dk),
             k = Matrices::operand(key, n.lead, n.s, n.dk),
             v = Matrices::operand(value, n.lead, n.s, n.dv);
    Tensor y = heads_apart(n.lead, n.t, n.dv, query.dtype());
    Matrices c(y, n.lead, n.t, n.dv);
    bool wanted =
        needs_grad(Query) || needs_grad(KeyInput) || needs_grad(Value) || needs_grad(Bias);
    if (wanted && n.s <= 2 * (n.dk + n.dv)) probs_ = empty({n.heads, n.t, n.s}, query.dtype());
    visit_floating(query, name(), [&]<class T>() {
      Probs<T> probs(*this, n, q, k, Matrices(bias, n.lead, n.t, n.s));
      parallel_for(n.heads, n.heads_per_piece(), [&](Index begin, Index end) {
        Tensor p_scratch = probs_.defined() ? Tensor() : n.tile_scratch(query.dtype());
        Tensor d_scratch = p_ > 0 && probs_.defined() ? n.tile_scratch(query.dtype()) : Tensor();
        for (Index h = begin; h < end; ++h)
          for (Index t = 0; t < n.t; t += n.tile) {
            Index rows = std::min(n.tile, n.t - t);
            T* p = probs_.defined() ? probs_.data<T>() + (h * n.t + t) * n.s : p_scratch.data<T>();
            probs.compute(h, t, rows, p);
            T* dropped = p;
            if (p_ > 0) {
              if (d_scratch.defined()) dropped = d_scratch.data<T>();
              probs.drop(h, t, rows, p, dropped);
            }
            gemm<T>(false, false, rows, n.dv, n.s, T(1), dropped, n.s, v.at<T>(h, 0), ld(v, n.dv),
                    T(0), c.at<T>(h, t), ld(c, n.dv));
          }
      });
    });
    return y;
  }

  Grads backward(const Var& dy) const override {
    if (recording())
      return through_composition({saved(Query), saved(KeyInput), saved(Value), saved(Bias)}, dy);
    const Tensor &query = saved(Query).value(), &key = saved(KeyInput).value(),
                 &value = saved(Value).value(), &bias = saved(Bias).value();
    Sizes n(query, key, value);
    DType dtype = query.dtype();
    Matrices q = Matrices::operand(query, n.lead, n.t, n.dk),
             k = Matrices::operand(key, n.lead, n.s, n.dk),
             v = Matrices::operand(value, n.lead, n.s, n.dv);
    Matrices dc = Matrices::operand(dy.value(), n.lead, n.t, n.dv);
    auto gradient = [&](Input i, Index rows, Index columns) {
      Tensor d = needs_grad(i) ? heads_apart(n.lead, rows, columns, dtype) : Tensor();
      if (n.t == 0 && d.defined()) d.fill_(0);  // no query writes it
      return d;
    };
    Tensor dquery = gradient(Query, n.t, n.dk), dkey = gradient(KeyInput, n.s, n.dk),
           dvalue = gradient(Value, n.s, n.dv);
    Matrices dq(dquery, n.lead, n.t, n.dk), dk(dkey, n.lead, n.s, n.dk),
        dv(dvalue, n.lead, n.s, n.dv);
    Shape full = n.lead;
    full.push_back(n.t);
    full.push_back(n.s);
    Tensor dscores = needs_grad(Bias) ? empty(full, dtype) : Tensor();
    visit_floating(query, name(), [&]<class T>() {
      Probs<T> probs(*this, n, q, k, Matrices(bias, n.lead, n.t, n.s));
      auto scale = static_cast<T>(scale_for(query.shape()));
      parallel_for(n.heads, n.heads_per_piece(), [&](Index begin, Index end) {
        Tensor p_scratch = probs_.defined() ? Tensor() : n.tile_scratch(dtype);
        Tensor d_scratch = n.tile_scratch(dtype);
        for (Index h = begin; h < end; ++h)
          for (Index t = 0; t < n.t; t += n.tile) {
            Index rows = std::min(n.tile, n.t - t);
            T* p = probs_.defined() ? probs_.data<T>() + (h * n.t + t) * n.s : p_scratch.data<T>();
            if (!probs_.defined()) probs.compute(h, t, rows, p);
            T* d = d_scratch.data<T>();
            T add = t > 0 ? T(1) : T(0);
            if (dv.defined()) {
              if (p_ > 0) probs.drop(h, t, rows, p, d);
              gemm<T>(true, false, n.s, n.dv, rows, T(1), p_ > 0 ? d : p, n.s, dc.at<T>(h, t),
                      ld(dc, n.dv), add, dv.at<T>(h, 0), ld(dv, n.dv));
            }
            if (!dq.defined() && !dk.defined() && !dscores.defined()) continue;
            if (dscores.defined()) d = dscores.data<T>() + (h * n.t + t) * n.s;
            gemm<T>(false, true, rows, n.s, n.dv, T(1), dc.at<T>(h, t), ld(dc, n.dv), v.at<T>(h, 0),
                    ld(v, n.dv), T(0), d, n.s);
            if (p_ > 0) probs.drop(h, t, rows, d, d);
            row_kernels<T>().softmax_grad(rows, n.s, p, n.s, d, n.s);
            if (dq.defined())
              gemm<T>(false, false, rows, n.dk, n.s, scale, d, n.s, k.at<T>(h, 0), ld(k, n.dk),
                      T(0), dq.at<T>(h, t), ld(dq, n.dk));
            if (dk.defined())
              gemm<T>(true, false, n.s, n.dk, rows, scale, d, n.s, q.at<T>(h, t), ld(q, n.dk), add,
                      dk.at<T>(h, 0), ld(dk, n.dk));
          }
      });
    });
    Grads g;
    if (dquery.defined()) g[Query] = Var(dquery);
    if (dkey.defined()) g[KeyInput] = Var(dkey);
    if (dvalue.defined()) g[Value] = Var(dvalue);
    if (dscores.defined()) g[Bias] = Var(sum_to(dscores, bias.shape()));
    return g;
  }

 private:
  struct Sizes {
    Sizes(const Tensor& query, const Tensor& key, const Tensor& value)
        : t(query.size(-2)), s(key.size(-2)), dk(query.size(-1)), dv(value.size(-1)) {
      for (int i = 0; i + 2 < query.rank(); ++i) lead.push_back(query.shape()[i]);
      heads = numel_of(lead);
      tile = std::clamp<Index>(32768 / std::max<Index>(1, s), 16, std::max<Index>(16, t));
    }
    // About 2^20 multiplications, so that a thread's start is worth its while. For a few queries it
    // is reading keys and values that takes the time, that of 16 multiplications an element.
    Index heads_per_piece() const {
      Index each = std::max<Index>(16, t) * s * (dk + dv);
      return std::max<Index>(1, (Index{1} << 20) / std::max<Index>(1, each));
    }
    Tensor tile_scratch(DType dtype) const { return empty({std::min(tile, t), s}, dtype); }
    Shape lead;
    Index heads = 1, t, s, dk, dv, tile = 1;
  };
  static Index ld(const Matrices& m, Index columns) {
    return std::max<Index>({1, columns, m.row});  // a single row may have any stride
  }

  // Rows t ... t + rows of the probabilities of head h.
  template <class T>
  struct Probs {
    Probs(const Attention& op, const Sizes& sizes, const Matrices& q, const Matrices& k,
          const Matrices& b)
        : n(sizes),
          query(q),
          key(k),
          bias(b),
          keep(op.keep_, sizes.lead, sizes.t, sizes.s),
          dropped(drop_spec(op.p_, op.key_)) {}
    void compute(Index h, Index t, Index rows, T* p) const {
      gemm<T>(false, true, rows, n.s, n.dk, T(1), query.at<T>(h, t), ld(query, n.dk),
              key.at<T>(h, 0), ld(key, n.dk), T(0), p, n.s);
      auto scale = static_cast<T>(1 / std::sqrt(static_cast<double>(n.dk)));
      row_kernels<T>().softmax({rows, n.s, p, n.s, scale, bias.at<T>(h, t), bias.row, bias.column,
                                keep.at<bool>(h, t), keep.row, keep.column});
    }
    void drop(Index h, Index t, Index rows, const T* from, T* to) const {
      row_kernels<T>().dropout(dropped, (h * n.t + t) * n.s, rows * n.s, from, nullptr, to);
    }
    const Sizes& n;
    const Matrices &query, &key;
    Matrices bias, keep;
    DropSpec dropped;
  };

  Tensor keep_;
  double p_ = 0;
  Key key_;
  Tensor probs_;  // (heads, T, S), before dropout
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
  auto fits = [&](const Tensor& m) {
    if (m.rank() > scores.rank()) return false;
    for (int i = 1; i <= m.rank(); ++i)
      if (m.size(-i) != 1 && m.size(-i) != scores[scores.rank() - i]) return false;
    return true;
  };
  if ((mask.keep.defined() && !fits(mask.keep)) ||
      (mask.bias.defined() && !fits(mask.bias.value())))
    throw with_operands(
        ShapeError("attention", "a mask does not broadcast to the scores " + to_string(scores)),
        Operand("query", query.value()), Operand("key", key.value()), Operand("keep", mask.keep),
        Operand("bias", mask.bias.value()));
  Var context = apply(where, Attention(mask.keep, dropout_p, dropout_key), spread(query),
                      spread(key), spread(value), mask.bias);
  return {named(context, "context"), {}};
}

}  // namespace glim

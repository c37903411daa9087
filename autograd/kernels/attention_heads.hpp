// The kernel of both attentions (autograd/ops/attention.hpp has the equations): heads as strided matrices.
//
// Q (..., T, Dk), K (..., S, Dk), V and C (..., T or S, Dv) are views of any strides, so that heads may
// lie side by side in what one projection made. The heads are independent: each (batch, head) is one
// piece of work, in tiles of query rows whose scores stay in the cache; the mask is read through
// strides, never expanded. What dropout drops of P is kept in its signs.
//
// P is kept where a head's is small (T·S <= 8192, which the first cache holds) and no larger than the
// projections around it (S <= 2 (Dk + Dv)): reading it is cheaper than a product and a softmax. For longer
// sequences P would dominate the memory of the model, so backward computes it again, tile by tile (Dao et
// al. 2022, arXiv 2205.14135, section 3.1, do so for the same reason), and the dropped elements are drawn
// again. With 100 positions of 8 heads of 64 that is 7 % of a step's memory, for 1 to 2 % of its time.
// Where P is small but the context is large, neither is kept: both come again, at once, for the product
// that reads the context, and P stays for backward, which is next.
#pragma once

#include <algorithm>
#include <cmath>

#include "autograd/kernels/rows.hpp"
#include "tensor/matmul/matmul.hpp"

namespace glim {

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
    if (x.shape() != full) x = broadcast_to(x, full);
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
    for (int i = lead.rank() - 1; i > 0; --i) {
      offset += matrix % lead[i] * x.strides()[i];
      matrix /= lead[i];
    }
    if (lead.rank() > 0) offset += matrix * x.strides()[0];
    return x.data<T>() + offset;
  }
};

class AttentionHeads {
  static constexpr Index kKeptProbs = 8192;
  static constexpr Index kLargeContext = Index{1} << 20;  // bytes
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
    bool small_probs() const { return s <= 2 * (dk + dv) && t * s <= kKeptProbs; }
    Tensor probs(DType dtype) const { return empty({heads, t, s}, dtype); }
    Tensor tile_scratch(DType dtype) const { return empty({std::min(tile, t), s}, dtype); }
    Shape lead;
    Index heads = 1, t, s, dk, dv, tile = 1;
  };

 public:
  AttentionHeads() = default;
  AttentionHeads(Tensor keep, double p, RandomKey key) : keep_(std::move(keep)), p_(p), key_(key) {}

  const Tensor& keep() const { return keep_; }
  double dropout_p() const { return p_; }
  RandomKey dropout_key() const { return key_; }

  static double scale_for(const Tensor& query) {
    return 1 / std::sqrt(static_cast<double>(query.size(-1)));
  }

  // Writes context. With `backward_follows` P may be kept.
  void forward(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& context,
               const Tensor& bias, bool backward_follows) {
    Sizes n(query, key, value);
    recomputes_ = backward_follows && n.small_probs();
    if (recomputes_ && context.bytes() <= kLargeContext) probs_ = n.probs(query.dtype());
    attend(n, query, key, value, context, bias, false);
  }

  // Writes context again, and keeps P: the op's backward comes next.
  bool recomputes() const { return recomputes_; }
  Index held_bytes() const { return probs_.defined() ? probs_.bytes() : 0; }
  void recompute(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& context,
                 const Tensor& bias) const {
    Sizes n(query, key, value);
    bool kept = probs_.defined();
    if (!kept) probs_ = n.probs(query.dtype());
    attend(n, query, key, value, context, bias, kept);
  }

  // Where gradients are written, all of them or, undefined, not at all. scores: (..., T, S).
  struct Gradients {
    Tensor query, key, value, scores;
  };
  void backward(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& bias,
                const Tensor& dcontext, const Gradients& d_) const {
    Sizes n(query, key, value);
    DType dtype = query.dtype();
    Matrices q = Matrices::operand(query, n.lead, n.t, n.dk),
             k = Matrices::operand(key, n.lead, n.s, n.dk),
             v = Matrices::operand(value, n.lead, n.s, n.dv);
    Matrices dc = Matrices::operand(dcontext, n.lead, n.t, n.dv);
    const Tensor& dscores = d_.scores;
    if (n.t == 0)  // no query writes them
      for (const Tensor* d : {&d_.key, &d_.value})
        if (d->defined()) d->fill_(0);
    Matrices dq(d_.query, n.lead, n.t, n.dk), dk(d_.key, n.lead, n.s, n.dk),
        dv(d_.value, n.lead, n.s, n.dv);
    visit_floating(query.dtype(), [&]<class T>() {
      Probs<T> probs(*this, n, q, k, Matrices(bias, n.lead, n.t, n.s));
      auto scale = static_cast<T>(scale_for(query));
      T dropped_scale = p_ > 0 ? static_cast<T>(drop_spec(p_, key_).scale) : T(0);
      parallel_for(n.heads, n.heads_per_piece(), [&](Index begin, Index end) {
        Tensor p_scratch = probs_.defined() ? Tensor() : n.tile_scratch(dtype);
        Tensor d_scratch = n.tile_scratch(dtype);
        for (Index h = begin; h < end; ++h)
          for (Index t = 0; t < n.t; t += n.tile) {
            Index rows = std::min(n.tile, n.t - t);
            T* p = probs_.defined() ? probs_.data<T>() + (h * n.t + t) * n.s : p_scratch.data<T>();
            T* d = d_scratch.data<T>();
            if (!probs_.defined()) {
              probs.compute(h, t, rows, p);
              if (p_ > 0) probs.mark(h, t, rows, p, d);
            } else if (p_ > 0 && dv.defined()) {
              op_kernels<T>().drop_marked(rows * n.s, dropped_scale, p, d);
            }
            T add = t > 0 ? T(1) : T(0);
            if (dv.defined()) {
              gemm<T>(true, false, n.s, n.dv, rows, T(1), p_ > 0 ? d : p, n.s, dc.at<T>(h, t),
                      ld(dc, n.dv), add, dv.at<T>(h, 0), ld(dv, n.dv));
            }
            if (!dq.defined() && !dk.defined() && !dscores.defined()) continue;
            if (dscores.defined()) d = dscores.data<T>() + (h * n.t + t) * n.s;
            gemm<T>(false, true, rows, n.s, n.dv, T(1), dc.at<T>(h, t), ld(dc, n.dv), v.at<T>(h, 0),
                    ld(v, n.dv), T(0), d, n.s);
            op_kernels<T>().softmax_grad(rows, n.s, p, n.s, d, n.s, dropped_scale);
            if (dq.defined())
              gemm<T>(false, false, rows, n.dk, n.s, scale, d, n.s, k.at<T>(h, 0), ld(k, n.dk),
                      T(0), dq.at<T>(h, t), ld(dq, n.dk));
            if (dk.defined())
              gemm<T>(true, false, n.s, n.dk, rows, scale, d, n.s, q.at<T>(h, t), ld(q, n.dk), add,
                      dk.at<T>(h, 0), ld(dk, n.dk));
          }
      });
    });
  }

 private:
  // With `kept`, P is there, marked.
  void attend(const Sizes& n, const Tensor& query, const Tensor& key, const Tensor& value,
              const Tensor& context, const Tensor& bias, bool kept) const {
    Matrices q = Matrices::operand(query, n.lead, n.t, n.dk),
             k = Matrices::operand(key, n.lead, n.s, n.dk),
             v = Matrices::operand(value, n.lead, n.s, n.dv);
    Matrices c(context, n.lead, n.t, n.dv);
    visit_floating(query.dtype(), [&]<class T>() {
      Probs<T> probs(*this, n, q, k, Matrices(bias, n.lead, n.t, n.s));
      T dropped_scale = p_ > 0 ? static_cast<T>(drop_spec(p_, key_).scale) : T(0);
      parallel_for(n.heads, n.heads_per_piece(), [&](Index begin, Index end) {
        Tensor p_scratch = probs_.defined() ? Tensor() : n.tile_scratch(query.dtype());
        Tensor d_scratch = p_ > 0 && probs_.defined() ? n.tile_scratch(query.dtype()) : Tensor();
        for (Index h = begin; h < end; ++h)
          for (Index t = 0; t < n.t; t += n.tile) {
            Index rows = std::min(n.tile, n.t - t);
            T* p = probs_.defined() ? probs_.data<T>() + (h * n.t + t) * n.s : p_scratch.data<T>();
            if (!kept) probs.compute(h, t, rows, p);
            T* dropped = p;
            if (d_scratch.defined()) {
              dropped = d_scratch.data<T>();
              if (kept)
                op_kernels<T>().drop_marked(rows * n.s, dropped_scale, p, dropped);
              else
                probs.mark(h, t, rows, p, dropped);
            } else if (p_ > 0) {
              probs.drop(h, t, rows, p);
            }
            gemm<T>(false, false, rows, n.dv, n.s, T(1), dropped, n.s, v.at<T>(h, 0), ld(v, n.dv),
                    T(0), c.at<T>(h, t), ld(c, n.dv));
          }
      });
    });
  }

  static Index ld(const Matrices& m, Index columns) {
    return std::max<Index>({1, columns, m.row});  // a single row may have any stride
  }

  // Rows t ... t + rows of the probabilities of head h.
  template <class T>
  struct Probs {
    Probs(const AttentionHeads& op, const Sizes& sizes, const Matrices& q, const Matrices& k,
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
      op_kernels<T>().softmax({rows, n.s, p, n.s, scale, bias.at<T>(h, t), bias.row, bias.column,
                               keep.at<bool>(h, t), keep.row, keep.column});
    }
    void drop(Index h, Index t, Index rows, T* p) const {
      row_kernels<T>().dropout(dropped, (h * n.t + t) * n.s, rows * n.s, p, nullptr, p);
    }
    // `to`: what dropout leaves of p, which is marked.
    void mark(Index h, Index t, Index rows, T* p, T* to) const {
      op_kernels<T>().mark_dropped(dropped, (h * n.t + t) * n.s, rows * n.s, p, to);
    }
    const Sizes& n;
    const Matrices &query, &key;
    Matrices bias, keep;
    DropSpec dropped;
  };

  Tensor keep_;
  double p_ = 0;
  RandomKey key_;
  bool recomputes_ = false;
  mutable Tensor probs_;  // (heads, T, S), before dropout, which marks them
};

}  // namespace glim

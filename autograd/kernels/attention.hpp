// The kernel of both attentions (autograd/ops/attention.hpp has the equations): heads as strided matrices.
//
// Q (..., T, Dk), K (..., S, Dk), V and C (..., T or S, Dv) are views of any strides, so that heads may
// lie side by side in what one projection made. The heads are independent: each (batch, head) is one
// piece of work, in tiles of query rows whose scores stay in the cache; the mask is read through
// strides, never expanded. The rule draws dropout's mask again; here the signs of P keep it.
//
// P is kept where a head's is small (T·S <= 8192, which the first cache holds) and no larger than the
// projections around it (S <= 2 (Dk + Dv)): reading it is cheaper than a product and a softmax. For longer
// sequences P would dominate the memory of the model. Backward then computes it again, tile by tile, and
// draws the dropped elements again (Dao et al. 2022, arXiv 2205.14135, section 3.1, do so for the same
// reason). With 100 positions of 8 heads of 64 that is 7 % of a step's memory, for 1 to 2 % of its time.
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
  Matrices(const Tensor& from, const Shape& batch, Index rows, Index columns) : lead(batch) {
    if (!from.defined()) return;
    x = from;
    if (from.size(-1) > 1 && from.strides().back() != 1) x = from.contiguous();
    if (Shape full = with_matrix(batch, rows, columns); x.shape() != full)
      x = broadcast_to(x, full);
    row = x.strides()[x.rank() - 2];
    column = columns == 1 ? 1 : x.strides().back();
  }
  // An operand of a product: BLAS wants rows that do not overlap.
  static Matrices operand(const Tensor& from, const Shape& batch, Index rows, Index columns) {
    Matrices m(from, batch, rows, columns);
    if (rows > 1 && m.row < columns) m = Matrices(from.contiguous(), batch, rows, columns);
    return m;
  }
  bool defined() const { return x.defined(); }
  Index ld(Index columns) const {  // a single row may have any stride
    return std::max<Index>({1, columns, row});
  }
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

  // The operands of a call as matrices, one a head, and how the work is cut.
  struct Operands {
    Operands(const AttentionHeads& op, const Tensor& query, const Tensor& key, const Tensor& value,
             const Tensor& bias_or_none)
        : lead(leading(query.shape())),
          dtype(query.dtype()),
          heads(numel_of(lead)),
          t(query.size(-2)),
          s(key.size(-2)),
          dk(query.size(-1)),
          dv(value.size(-1)),
          tile(std::clamp<Index>(32768 / std::max<Index>(1, s), 16, std::max<Index>(16, t))),
          scale(scale_for(query)),
          q(Matrices::operand(query, lead, t, dk)),
          k(Matrices::operand(key, lead, s, dk)),
          v(Matrices::operand(value, lead, s, dv)),
          bias(bias_or_none, lead, t, s),
          keep(op.keep_, lead, t, s),
          drop(drop_spec(op.p_, op.key_)) {}
    // About 2^20 multiplications, so that a thread's start is worth its while. For a few queries it
    // is reading keys and values that takes the time, that of 16 multiplications an element.
    Index heads_per_piece() const {
      Index each = std::max<Index>(16, t) * s * (dk + dv);
      return std::max<Index>(1, (Index{1} << 20) / std::max<Index>(1, each));
    }
    bool small_probs() const { return s <= 2 * (dk + dv) && t * s <= kKeptProbs; }
    Tensor tile_scratch() const { return empty({std::min(tile, t), s}, dtype); }

    // Rows r ... r + rows of the probabilities of head h.
    template <class T>
    void compute(Index h, Index r, Index rows, T* p) const {
      gemm<T>({false, true, rows, s, dk, T(1), q.at<T>(h, r), q.ld(dk), k.at<T>(h, 0), k.ld(dk),
               T(0), p, s});
      op_kernels<T>().softmax({rows, s, p, s, static_cast<T>(scale), bias.at<T>(h, r), bias.row,
                               bias.column, keep.at<bool>(h, r), keep.row, keep.column});
    }
    // `to`: what dropout leaves of them, which marks them.
    template <class T>
    void mark(Index h, Index r, Index rows, T* p, T* to) const {
      op_kernels<T>().mark_dropped(drop, (h * t + r) * s, rows * s, p, to);
    }

    Shape lead;
    DType dtype;
    Index heads, t, s, dk, dv, tile;
    double scale;
    Matrices q, k, v, bias, keep;
    DropSpec drop;
  };

 public:
  AttentionHeads(Tensor keep, double p, RandomKey key) : keep_(std::move(keep)), p_(p), key_(key) {}

  static double scale_for(const Tensor& query) {
    return 1 / std::sqrt(static_cast<double>(query.size(-1)));
  }

  // Writes context. Returns P for backward where it is small; undefined elsewhere, and unless `backward_follows`.
  Tensor forward(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& context,
                 const Tensor& bias, bool backward_follows) const {
    Operands o(*this, query, key, value, bias);
    Tensor probs =
        backward_follows && o.small_probs() ? empty({o.heads, o.t, o.s}, o.dtype) : Tensor();
    Matrices c(context, o.lead, o.t, o.dv);
    each_tile(o, probs, p_ > 0 && probs.defined(),
              [&]<class T>(Index h, Index t, Index rows, T* p, T* d) {
                o.compute(h, t, rows, p);
                if (d)
                  o.mark(h, t, rows, p, d);
                else if (p_ > 0)
                  row_kernels<T>().dropout(o.drop, (h * o.t + t) * o.s, rows * o.s, p, nullptr, p);
                gemm<T>({false, false, rows, o.dv, o.s, T(1), d ? d : p, o.s, o.v.at<T>(h, 0),
                         o.v.ld(o.dv), T(0), c.at<T>(h, t), c.ld(o.dv)});
              });
    return probs;
  }

  // Where gradients are written, all of them or, undefined, not at all. scores: (..., T, S).
  struct Gradients {
    Tensor query, key, value, scores;
  };
  // probs: of forward.
  void backward(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& bias,
                const Tensor& probs, const Tensor& dcontext, const Gradients& gradients) const {
    Operands o(*this, query, key, value, bias);
    Matrices dc = Matrices::operand(dcontext, o.lead, o.t, o.dv);
    const Tensor& dscores = gradients.scores;
    if (o.t == 0)  // no query writes them
      for (const Tensor* d : {&gradients.key, &gradients.value})
        if (d->defined()) d->fill_(0);
    Matrices dq(gradients.query, o.lead, o.t, o.dk), dk(gradients.key, o.lead, o.s, o.dk),
        dv(gradients.value, o.lead, o.s, o.dv);
    each_tile(o, probs, true, [&]<class T>(Index h, Index t, Index rows, T* p, T* d) {
      const T dropped_scale = p_ > 0 ? static_cast<T>(o.drop.scale) : T(0);
      const T scale = static_cast<T>(o.scale);
      if (!probs.defined()) {
        o.compute(h, t, rows, p);
        if (p_ > 0) o.mark(h, t, rows, p, d);
      } else if (p_ > 0 && dv.defined()) {
        op_kernels<T>().drop_marked(rows * o.s, dropped_scale, p, d);
      }
      T add = t > 0 ? T(1) : T(0);
      if (dv.defined())  // dV = dropout(A)ᵀ dC
        gemm<T>({true, false, o.s, o.dv, rows, T(1), p_ > 0 ? d : p, o.s, dc.at<T>(h, t),
                 dc.ld(o.dv), add, dv.at<T>(h, 0), dv.ld(o.dv)});
      if (!dq.defined() && !dk.defined() && !dscores.defined()) return;
      if (dscores.defined()) d = dscores.data<T>() + (h * o.t + t) * o.s;
      // dA = dropout(dC Vᵀ), dS = A (dA - Σ_s dA A)
      gemm<T>({false, true, rows, o.s, o.dv, T(1), dc.at<T>(h, t), dc.ld(o.dv), o.v.at<T>(h, 0),
               o.v.ld(o.dv), T(0), d, o.s});
      op_kernels<T>().softmax_grad(rows, o.s, p, o.s, d, o.s, dropped_scale);
      if (dq.defined())  // dQ = dS K/√Dk
        gemm<T>({false, false, rows, o.dk, o.s, scale, d, o.s, o.k.at<T>(h, 0), o.k.ld(o.dk), T(0),
                 dq.at<T>(h, t), dq.ld(o.dk)});
      if (dk.defined())  // dK = dSᵀ Q/√Dk
        gemm<T>({true, false, o.s, o.dk, rows, scale, d, o.s, o.q.at<T>(h, t), o.q.ld(o.dk), add,
                 dk.at<T>(h, 0), dk.ld(o.dk)});
    });
  }

 private:
  // Calls f(h, t, rows, p, d) for query rows t ... t + rows of head h, the heads in parallel: p is the place
  // of their probabilities, in probs or, if that is undefined, in scratch memory; d is scratch memory of the
  // same size, or null unless asked for.
  template <class F>
  void each_tile(const Operands& o, const Tensor& probs, bool scratch, const F& f) const {
    each_piece(o.dtype, o.heads, o.heads_per_piece(), [&]<class T>(Index begin, Index end) {
      Tensor p_scratch = probs.defined() ? Tensor() : o.tile_scratch();
      Tensor d_scratch = scratch ? o.tile_scratch() : Tensor();
      for (Index h = begin; h < end; ++h)
        for (Index t = 0; t < o.t; t += o.tile)
          f(h, t, std::min(o.tile, o.t - t),
            probs.defined() ? probs.data<T>() + (h * o.t + t) * o.s : p_scratch.data<T>(),
            data_or_null<T>(d_scratch));
    });
  }

  Tensor keep_;
  double p_ = 0;
  RandomKey key_;
};

}  // namespace glim

// The kernel of the two attention ops (autograd/ops/attention.cpp has the equations): heads as strided matrices.
//
// Q (..., T, Dk), K (..., S, Dk), V and C (..., T or S, Dv) are views of any strides, so the heads can lie side by
// side in the output of one projection. The heads of all batches are independent: a piece of work is a few of them, in
// tiles of query rows whose scores stay in the cache. The mask is read through strides, never expanded. Backward
// reads A where forward kept it. Where it did not, backward computes A again, tile by tile (Dao et al. 2022, arXiv
// 2205.14135, section 3.1). The rule draws dropout's mask again; here the signs of A keep it.
#pragma once

#include <algorithm>
#include <cmath>

#include "autograd/kernels/rows.hpp"
#include "tensor/matmul/matmul.hpp"

namespace glim::kernels {

// Rows of a matrix in memory, `ld` apart.
template <class T>
struct Span {
  T* x = nullptr;
  Index rows = 0, columns = 0, ld = 0;
  bool transposed = false;
  explicit operator bool() const { return x != nullptr; }
};
template <class T>
Span<T> transpose(Span<T> a) {
  std::swap(a.rows, a.columns);
  a.transposed = !a.transposed;
  return a;
}
// c = scale a b, or c += scale a b
template <class T>
void multiply(const Span<T>& a, const Span<T>& b, const Span<T>& c, double scale = 1,
              bool add = false) {
  gemm<T>({a.transposed, b.transposed, c.rows, c.columns, a.columns, static_cast<T>(scale), a.x,
           a.ld, b.x, b.ld, T(add), c.x, c.ld});
}

// (..., R, C) as matrices of adjacent columns: one for each index of the leading axes, which are
// `batch_dims` or broadcast to it. The rows of one matrix are `row` apart, its columns `column` (0 or 1).
struct Matrices {
  Tensor x;
  Index row = 0, column = 0;
  Shape batch_dims;

  Matrices() = default;
  Matrices(const Tensor& data, const Shape& batch, Index rows, Index columns) : batch_dims(batch) {
    if (!data.defined()) return;
    x = data;
    if (data.size(-1) > 1 && data.strides().back() != 1) x = data.contiguous();
    if (Shape full = with_matrix(batch, rows, columns); x.shape() != full)
      x = broadcast_to(x, full);
    row = x.strides()[x.rank() - 2];
    column = columns == 1 ? 1 : x.strides().back();
  }
  // An operand of a product: BLAS wants rows that do not overlap.
  static Matrices operand(const Tensor& data, const Shape& batch, Index rows, Index columns) {
    Matrices m(data, batch, rows, columns);
    if (rows > 1 && m.row < columns) m = Matrices(data.contiguous(), batch, rows, columns);
    return m;
  }
  bool defined() const { return x.defined(); }
  template <class T>
  T* at(Index matrix, Index r) const {
    if (!x.defined()) return nullptr;
    Index offset = r * row;
    for (int i = batch_dims.rank() - 1; i > 0; --i) {
      offset += matrix % batch_dims[i] * x.strides()[i];
      matrix /= batch_dims[i];
    }
    if (batch_dims.rank() > 0) offset += matrix * x.strides()[0];
    return x.data<T>() + offset;
  }
  // Rows r ... r + rows of a matrix.
  template <class T>
  Span<T> span(Index matrix, Index r, Index rows) const {
    const Index columns = x.defined() ? x.size(-1) : 0;
    return {at<T>(matrix, r), rows, columns,
            std::max<Index>({1, columns, row})};  // one row may have any stride
  }
};

// The operands of a call, a matrix for each head, and how the work is cut.
struct Attended {
  Attended(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& bias_or_none,
           const Tensor& keep_or_none, double factor, double p, RandomKey dropout_key)
      : batch_dims(leading(query.shape())),
        dtype(query.dtype()),
        heads(numel_of(batch_dims)),
        t(query.size(-2)),
        s(key.size(-2)),
        dk(query.size(-1)),
        dv(value.size(-1)),
        tile(std::clamp<Index>(32768 / std::max<Index>(1, s), 16, std::max<Index>(16, t))),
        scale(factor != 0 ? factor : 1 / std::sqrt(static_cast<double>(dk))),
        drops(p > 0),
        q(Matrices::operand(query, batch_dims, t, dk)),
        k(Matrices::operand(key, batch_dims, s, dk)),
        v(Matrices::operand(value, batch_dims, s, dv)),
        bias(bias_or_none, batch_dims, t, s),
        keep(keep_or_none, batch_dims, t, s),
        drop(drop_spec(p, dropout_key)) {}
  // A piece has about 2^20 multiplications, enough to repay starting a thread. With few queries, reading K and
  // V dominates; an element read counts as 16 multiplications.
  Index heads_per_piece() const {
    Index each = std::max<Index>(16, t) * s * (dk + dv);
    return std::max<Index>(1, (Index{1} << 20) / std::max<Index>(1, each));
  }
  Tensor tile_scratch() const { return empty({std::min(tile, t), s}, dtype); }

  Shape batch_dims;
  DType dtype;
  Index heads, t, s, dk, dv, tile;
  double scale;
  bool drops;
  Matrices q, k, v, bias, keep;
  DropSpec drop;
};

// Query rows t ... t + a.rows of head h. a holds their scores and then their probabilities A; d is scratch of
// the same extents.
template <class T>
struct Tile {
  Index h, t;
  Span<T> a, d;
  Index size() const { return a.rows * a.columns; }
  Index first(const Attended& o) const { return (h * o.t + t) * o.s; }  // its first element
};

// Q Kᵀ, to be multiplied by the scale, 1/√Dk
template <class T>
void scores(const Attended& o, const Tile<T>& i) {
  multiply(o.q.span<T>(i.h, i.t, i.a.rows), transpose(o.k.span<T>(i.h, 0, o.s)), i.a);
}
// A = softmax(S) over kept keys, S = Q Kᵀ/√Dk + bias
template <class T>
void softmax_rows(const Attended& o, const Tile<T>& i) {
  dispatch<simd::softmax<T>>({i.a.rows, o.s, i.a.x, o.s, static_cast<T>(o.scale),
                              o.bias.at<T>(i.h, i.t), o.bias.row, o.bias.column,
                              o.keep.at<bool>(i.h, i.t), o.keep.row, o.keep.column});
}
// D = dropout(A), in d; the signs of A then mark what was dropped. Without d, D takes A's place, and nothing is marked.
template <class T>
Span<T> dropout_rows(const Attended& o, const Tile<T>& i) {
  if (!o.drops) return i.a;
  if (i.d)
    dispatch<simd::draw_mask<T>>(o.drop, i.first(o), i.size(), i.a.x, i.d.x);
  else
    dispatch<simd::dropout<T>>(o.drop, i.first(o), i.size(), i.a.x, nullptr, i.a.x);
  return i.d ? i.d : i.a;
}
// dS = A ⊙ (dA - Σ_s dA ⊙ A), dA = dropout(dD), in dD's place
template <class T>
void gradient_rows(const Attended& o, const Span<T>& a, const Span<T>& dd) {
  dispatch<simd::softmax_grad<T>>(a.rows, o.s, a.x, o.s, dd.x, o.s,
                                  o.drops ? static_cast<T>(o.drop.scale) : T(0));
}

// Calls f for each tile, the heads in parallel. A is in probs (heads, T, S) or, if that is undefined, in
// scratch memory. There is a d only with `scratch`.
template <class F>
void each_tile(const Attended& o, const Tensor& probs, bool scratch, const F& f) {
  each_piece(o.dtype, o.heads, o.heads_per_piece(), [&]<class T>(Index begin, Index end) {
    Tensor p_scratch = probs.defined() ? Tensor() : o.tile_scratch();
    Tensor d_scratch = scratch ? o.tile_scratch() : Tensor();
    for (Index h = begin; h < end; ++h)
      for (Index t = 0; t < o.t; t += o.tile) {
        auto span = [&](T* x) { return Span<T>{x, std::min(o.tile, o.t - t), o.s, o.s}; };
        f(Tile<T>{
            h, t,
            span(probs.defined() ? probs.data<T>() + (h * o.t + t) * o.s : p_scratch.data<T>()),
            span(data_or_null<T>(d_scratch))});
      }
  });
}

// Writes context, and A into probs (heads, T, S) unless it is undefined.
inline void attention(const Attended& o, const Tensor& context, const Tensor& probs) {
  Matrices c(context, o.batch_dims, o.t, o.dv);
  each_tile(o, probs, o.drops && probs.defined(), [&]<class T>(const Tile<T>& i) {
    scores(o, i);                          // Q Kᵀ
    softmax_rows(o, i);                    // A = softmax(S), S = Q Kᵀ/√Dk
    Span<T> dropped = dropout_rows(o, i);  // D = dropout(A)
    multiply(dropped, o.v.span<T>(i.h, 0, o.s), c.span<T>(i.h, i.t, i.a.rows));  // C = D V
  });
}

// Where gradients are written, all of them or, undefined, not at all. scores: (..., T, S).
struct GradientBuffers {
  Tensor query, key, value, scores;
};
// probs: as attention wrote them, or undefined. Forward's lines are above those of their gradients.
inline void attention_grad(const Attended& o, const Tensor& probs, const Tensor& dcontext,
                           const GradientBuffers& d) {
  if (o.t == 0)  // no query writes them
    for (const Tensor* x : {&d.key, &d.value})
      if (x->defined()) x->fill_(0);
  Matrices dcs = Matrices::operand(dcontext, o.batch_dims, o.t, o.dv);
  Matrices dqs(d.query, o.batch_dims, o.t, o.dk), dks(d.key, o.batch_dims, o.s, o.dk),
      dvs(d.value, o.batch_dims, o.s, o.dv);
  each_tile(o, probs, true, [&]<class T>(const Tile<T>& i) {
    auto rows = [&](const Matrices& m) { return m.span<T>(i.h, i.t, i.a.rows); };
    auto all = [&](const Matrices& m) { return m.span<T>(i.h, 0, o.s); };
    Span<T> a = i.a, dropped = o.drops ? i.d : a, q = rows(o.q), k = all(o.k), v = all(o.v);
    Span<T> dc = rows(dcs), dq = rows(dqs), dk = all(dks), dv = all(dvs);
    const bool add = i.t > 0;  // to dK and dV, which are sums over the tiles
    if (!probs.defined()) {
      scores(o, i);
      softmax_rows(o, i);
      dropout_rows(o, i);
    } else if (o.drops && dv) {
      dispatch<simd::apply_mask<T>>(i.size(), static_cast<T>(o.drop.scale), a.x, dropped.x);
    }
    // C = D V
    if (dv) multiply(transpose(dropped), dc, dv, 1, add);  // dV = Dᵀ dC
    if (!dq && !dk && !d.scores.defined()) return;
    Span<T> ds = i.d;
    if (d.scores.defined()) ds.x = d.scores.data<T>() + i.first(o);
    multiply(dc, transpose(v), ds);  // dD = dC Vᵀ
    // D = dropout(A), A = softmax(S)
    gradient_rows(o, a, ds);  // dS = A ⊙ (dA - Σ_s dA ⊙ A), dA = dropout(dD)
    // S = Q Kᵀ/√Dk
    if (dq) multiply(ds, k, dq, o.scale);                  // dQ = dS K/√Dk
    if (dk) multiply(transpose(ds), q, dk, o.scale, add);  // dK = dSᵀ Q/√Dk
  });
}

}  // namespace glim::kernels

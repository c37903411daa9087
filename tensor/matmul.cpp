#include "tensor/matmul.hpp"

#include <cblas.h>
#include <climits>

#include "tensor/error.hpp"
#include "tensor/kernels_rows.hpp"
#include "tensor/parallel.hpp"

namespace glim {
namespace {

// BLAS works on one thread a call: the tiles are what runs in parallel. The setting belongs to the
// thread that makes it; num_threads() is read first because it lowers omp_get_max_threads().
void one_thread_a_call() {
  thread_local const bool set = [] {
    (void)num_threads();
    openblas_set_num_threads(1);
    return true;
  }();
  (void)set;
}

// A matrix as BLAS sees it: pointer, distance between rows as stored, transposed or not.
template <class T>
struct Matrix {
  const T* data;
  Index ld;
  bool transposed;
  const T* rows_from(Index r) const { return data + (transposed ? r : r * ld); }
  const T* columns_from(Index c) const { return data + (transposed ? c * ld : c); }
};

bool blas_layout(const Tensor& x) {
  Index rows = x.size(-2), columns = x.size(-1);
  Index sr = x.strides()[x.rank() - 2], sc = x.strides()[x.rank() - 1];
  if ((sc == 1 || columns <= 1) && (sr >= std::max<Index>(1, columns) || rows <= 1)) return true;
  return (sr == 1 || rows <= 1) && (sc >= std::max<Index>(1, rows) || columns <= 1);
}

template <class T>
Matrix<T> as_matrix(const Tensor& x, Index offset) {
  Index rows = x.size(-2), columns = x.size(-1);
  Index sr = x.strides()[x.rank() - 2], sc = x.strides()[x.rank() - 1];
  const T* p = x.data<T>() + offset;
  if ((sc == 1 || columns <= 1) && (sr >= std::max<Index>(1, columns) || rows <= 1))
    return {p, rows <= 1 ? std::max<Index>(1, columns) : sr, false};
  return {p, columns <= 1 ? std::max<Index>(1, rows) : sc, true};
}

// Tile edges. About 256 x 512 is where BLAS's packing is paid for (a tile of 64 rows reaches four
// fifths of its rate); smaller ones only where there would be too few to share among threads.
struct Tiling {
  Index rows, columns;
};
Tiling tiling(Index m, Index n, Index k) {
  constexpr Index kSmall = 1 << 18;  // a product this small is one tile
  Index work = m * n * std::max<Index>(k, 1);
  if (work <= kSmall) return {m, n};
  auto ceil_div = [](Index a, Index b) { return (a + b - 1) / b; };
  Index down = ceil_div(m, 288), across = ceil_div(n, 640);
  Index wanted = std::clamp<Index>(work >> 25, 2, 8);
  while (down * across < wanted) {
    Index rows = m / down, columns = n / across;
    if (std::max(rows, columns) < 128) break;
    (rows >= columns ? down : across) *= 2;
  }
  if (down > 1 && down % 2 == 1 && across % 2 == 1) ++down;  // an even number is shared evenly
  auto even = [&](Index extent, Index pieces) {  // multiples of 32: what dropout draws at once
    return (ceil_div(extent, pieces) + 31) / 32 * 32;
  };
  return {even(m, down), even(n, across)};
}

template <class T>
void product(const Matrix<T>& a, const Matrix<T>& b, T* c, Index ldc, Index m, Index n, Index k,
             T alpha, T beta) {
  gemm<T>(a.transposed, b.transposed, m, n, k, alpha, a.data, a.ld, b.data, b.ld, beta, c, ldc);
}

// Offsets of the batches of x (its leading axes broadcast to `lead`).
Index batch_offset(const Tensor& x, const Shape& lead, Index batch) {
  Index at = 0;
  int extra = lead.rank() - (x.rank() - 2);
  for (int i = lead.rank() - 1; i >= 0; --i) {
    Index c = batch % lead[i];
    batch /= lead[i];
    if (i >= extra && x.shape()[i - extra] != 1) at += c * x.strides()[i - extra];
  }
  return at;
}

Shape leading(const Shape& s) {
  Shape lead;
  for (int i = 0; i + 2 < s.rank(); ++i) lead.push_back(s[i]);
  return lead;
}

// The epilogue of the tile whose first element is (r, column) of a result with n columns.
template <class T>
void finish(const Epilogue& e, Index r, Index column, Index n, Index rows, Index columns, T* tile) {
  const RowKernels<T>& kernels = row_kernels<T>();
  if (e.bias.defined() || e.relu)
    kernels.add_bias(rows, columns, e.bias.defined() ? e.bias.data<T>() + column : nullptr, e.relu,
                     tile, n);
  for (Index i = 0; e.drop && i < rows; ++i)
    kernels.dropout(*e.drop, (r + i) * n + column, columns, tile + i * n, nullptr, tile + i * n);
}

template <class T>
void run(const Tensor& out, const Tensor& a, const Tensor& b, const Shape& lead, T alpha, T beta,
         const Epilogue* then = nullptr) {
  Index m = a.size(-2), k = a.size(-1), n = b.size(-1);
  Index batches = numel_of(lead);
  T* c = out.data<T>();
  if (m == 0 || n == 0 || batches == 0) return;
  // One product with many rows instead of many products, when b is shared and a's rows lie evenly.
  bool shared = numel_of(leading(b.shape())) == 1 && lead.rank() > 0;
  if (shared) {
    if (auto rows = a.view({batches * m, k});
        rows && leading(a.shape()) == lead && blas_layout(*rows)) {
      Tensor flat = out.reshape({batches * m, n});
      Tensor b2 = b.reshape({k, n});
      return run<T>(flat, *rows, blas_layout(b2) ? b2 : b2.contiguous(), {}, alpha, beta);
    }
  }
  Index ldc = n;
  if (batches == 1) {
    Matrix<T> ma = as_matrix<T>(a, 0), mb = as_matrix<T>(b, 0);
    Tiling t = tiling(m, n, k);
    Index across = (n + t.columns - 1) / t.columns, down = (m + t.rows - 1) / t.rows;
    parallel_each(across * down, [&](Index tile) {
      Index r = tile / across * t.rows, col = tile % across * t.columns;
      Matrix<T> ta{ma.rows_from(r), ma.ld, ma.transposed};
      Matrix<T> tb{mb.columns_from(col), mb.ld, mb.transposed};
      product<T>(ta, tb, c + r * ldc + col, ldc, std::min(t.rows, m - r),
                 std::min(t.columns, n - col), k, alpha, beta);
      if (then)
        finish<T>(*then, r, col, n, std::min(t.rows, m - r), std::min(t.columns, n - col),
                  c + r * ldc + col);
    });
    return;
  }
  Index grain = std::max<Index>(1, (1 << 16) / std::max<Index>(1, m * n * k));
  parallel_for(batches, grain, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i)
      product<T>(as_matrix<T>(a, batch_offset(a, lead, i)),
                 as_matrix<T>(b, batch_offset(b, lead, i)), c + i * m * n, ldc, m, n, k, alpha,
                 beta);
  });
}

struct Checked {
  Tensor a, b;
  Shape lead, result;
};

Checked check(const Tensor& a, const Tensor& b) {
  auto fail = [&](const std::string& problem) {
    throw with_operands(ShapeError("matmul", problem), Operand("a", a), Operand("b", b));
  };
  if (a.dtype() != b.dtype() || !is_floating(a.dtype()))
    throw with_operands(DTypeError("matmul", "needs two operands of one floating dtype"),
                        Operand("a", a), Operand("b", b));
  if (a.rank() == 0 || b.rank() == 0) fail("a scalar has no inner dimension");
  Checked c;
  c.a = a.rank() == 1 ? a.unsqueeze(0) : a;
  c.b = b.rank() == 1 ? b.unsqueeze(1) : b;
  if (c.a.size(-1) != c.b.size(-2))
    fail("inner dimensions differ: a has " + std::to_string(c.a.size(-1)) + " columns, b has " +
         std::to_string(c.b.size(-2)) + " rows");
  Shape la = leading(c.a.shape()), lb = leading(c.b.shape());
  try {
    c.lead = broadcast_shapes(la, lb, "matmul");
  } catch (ShapeError&) {
    fail("leading axes " + to_string(la) + " and " + to_string(lb) + " do not broadcast");
  }
  c.result = c.lead;
  c.result.push_back(c.a.size(-2));
  c.result.push_back(c.b.size(-1));
  checked_numel(c.result, "matmul");
  if (!blas_layout(c.a)) c.a = c.a.contiguous();
  if (!blas_layout(c.b)) c.b = c.b.contiguous();
  return c;
}

void dispatch(const Tensor& out, const Checked& c, double alpha, double beta) {
  if (out.dtype() == DType::Float32)
    run<float>(out, c.a, c.b, c.lead, static_cast<float>(alpha), static_cast<float>(beta));
  else
    run<double>(out, c.a, c.b, c.lead, alpha, beta);
}

}  // namespace

template <class T>
void gemm(bool transpose_a, bool transpose_b, Index m, Index n, Index k, T alpha, const T* a,
          Index lda, const T* b, Index ldb, T beta, T* c, Index ldc) {
  if (m == 0 || n == 0) return;
  if (k == 0) {  // BLAS wants positive leading dimensions; the product is empty
    for (Index i = 0; i < m; ++i)
      for (Index j = 0; j < n; ++j) c[i * ldc + j] = beta == 0 ? T(0) : beta * c[i * ldc + j];
    return;
  }
  if (std::max({m, n, k, lda, ldb, ldc}) > INT_MAX)
    throw ShapeError("matmul", "an extent is beyond the 32-bit integers of BLAS");
  one_thread_a_call();
  auto ta = transpose_a ? CblasTrans : CblasNoTrans, tb = transpose_b ? CblasTrans : CblasNoTrans;
  auto i = [](Index v) { return static_cast<blasint>(v); };
  if constexpr (std::is_same_v<T, float>)
    cblas_sgemm(CblasRowMajor, ta, tb, i(m), i(n), i(k), alpha, a, i(lda), b, i(ldb), beta, c,
                i(ldc));
  else
    cblas_dgemm(CblasRowMajor, ta, tb, i(m), i(n), i(k), alpha, a, i(lda), b, i(ldb), beta, c,
                i(ldc));
}
template void gemm<float>(bool, bool, Index, Index, Index, float, const float*, Index, const float*,
                          Index, float, float*, Index);
template void gemm<double>(bool, bool, Index, Index, Index, double, const double*, Index,
                           const double*, Index, double, double*, Index);

Tensor matmul(const Tensor& a, const Tensor& b) {
  Checked c = check(a, b);
  Tensor y = empty(c.result, a.dtype());
  dispatch(y, c, 1, 0);
  if (a.rank() == 1) y = y.squeeze(-2);
  if (b.rank() == 1) y = y.squeeze(-1);
  return y;
}

void matmul_into(const Tensor& out, const Tensor& a, const Tensor& b, double alpha, double beta) {
  Checked c = check(a, b);
  Shape result = c.result;
  if (a.rank() == 1) result.erase(result.rank() - 2);
  if (b.rank() == 1) result.erase(result.rank() - 1);
  if (out.shape() != result || !out.is_contiguous())
    throw with_operands(
        ShapeError("matmul", "out must be contiguous, of shape " + to_string(result)),
        Operand("out", out), Operand("a", a), Operand("b", b));
  if (out.dtype() != a.dtype())
    throw with_operands(DTypeError("matmul", "out has another dtype"), Operand("out", out),
                        Operand("a", a), Operand("b", b));
  dispatch(out.reshape(c.result), c, alpha, beta);
}

Tensor matmul_then(const Tensor& a, const Tensor& b, const Epilogue& epilogue) {
  Checked c = check(a, b);
  Epilogue e = epilogue;
  if (a.rank() != 2 || b.rank() != 2 ||
      (e.bias.defined() && (e.bias.shape() != Shape{b.size(1)} || e.bias.dtype() != a.dtype())))
    throw with_operands(ShapeError("matmul_then", "needs a (M, K), b (K, N) and bias (N,)"),
                        Operand("a", a), Operand("b", b), Operand("bias", e.bias));
  if (e.bias.defined()) e.bias = e.bias.contiguous();
  Tensor y = empty(c.result, a.dtype());
  if (a.dtype() == DType::Float32)
    run<float>(y, c.a, c.b, {}, 1, 0, &e);
  else
    run<double>(y, c.a, c.b, {}, 1, 0, &e);
  return y;
}

BlasInfo blas_info() {
  int p = openblas_get_parallel();
  return {openblas_get_config(), openblas_get_corename(),
          p == 0   ? "sequential"
          : p == 1 ? "pthread"
                   : "openmp"};
}

}  // namespace glim

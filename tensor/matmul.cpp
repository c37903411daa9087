#include "tensor/matmul.hpp"

#include <cblas.h>
#include <climits>
#include <initializer_list>

#include "tensor/error.hpp"
#include "tensor/kernels_rows.hpp"
#include "tensor/parallel.hpp"
#include "tensor/tiling.hpp"

namespace glim {
namespace {

// BLAS works on one thread a call: the tiles are what runs in parallel. OpenBLAS asks its own
// setting, which a thread makes once, or OpenMP's, which ends with the parallel loop it was made in;
// num_threads() is read first because both lower omp_get_max_threads().
void one_thread_a_call() {
  thread_local const bool set = [] {
    (void)num_threads();
    openblas_set_num_threads(1);
    return true;
  }();
  (void)set;
  confine_libraries();
}

void require_blas_extents(std::initializer_list<Index> extents) {
  if (std::max(extents) > INT_MAX)
    throw ShapeError("matmul", "an extent is beyond the 32-bit integers of BLAS");
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

// Up to so many rows of a, the product a bᵀ reads b in place (tensor/kernels_product.hpp).
constexpr Index kFewRows = 128;
bool few_rows(bool transpose_a, bool transpose_b, Index m) {
  return m <= kFewRows && !transpose_a && transpose_b;
}
// Such a product, or one of which one side is a vector, copies nothing into another order first.
bool reads_in_place(bool transpose_a, bool transpose_b, Index m, Index n) {
  return m == 1 || n == 1 || few_rows(transpose_a, transpose_b, m);
}

// At least n elements. Up to 2 MiB are the thread's own from product to product: in the allocator
// threads would wait for each other, and get memory that lies in another's cache.
template <class T>
Tensor scratch_of(Index n) {
  constexpr Index kMostKept = (2 << 20) / sizeof(T);
  if (n > kMostKept) return empty({n}, dtype_of<T>);
  thread_local Tensor kept;
  if (!kept.defined() || kept.numel() < n) kept = empty({std::max<Index>(n, 1 << 14)}, dtype_of<T>);
  return kept;
}

// Whether a product is packed here instead of by BLAS (tensor/kernels_packed.hpp). BLAS is ahead where
// it packs nothing either: up to 10^6 multiplications, of a bᵀ up to 1200 results. The question is
// put for a whole product, before it is cut.
template <class T>
bool packs(bool transpose_a, bool transpose_b, Index m, Index n, Index k) {
  double results = static_cast<double>(m) * static_cast<double>(n);
  if (k == 0 || (results * static_cast<double>(k) <= 1e6 && !(transpose_b && results > 1200)))
    return false;
  return !reads_in_place(transpose_a, transpose_b, m, n) && row_kernels<T>().packed_product;
}

// Blocks for the caches, in float: 256 along the inner dimension, so that a panel of b's 32 columns
// takes 32 KiB of the first; 192 rows of a and up to 512 columns of b, 0.7 MiB in the second. How k
// is divided depends on k alone.
template <class T>
PackedBlocks packed_blocks(Index m, Index n, Index k) {
  constexpr Index kDeepest = 1024 / sizeof(T), kRows = 192, kColumns = 512;
  auto up = [](Index x, Index unit) { return (x + unit - 1) / unit * unit; };
  Index pieces = (k + kDeepest - 1) / kDeepest;
  return {up((k + pieces - 1) / pieces, 16), std::min(up(m, PackedBlocks::kTileRows), kRows),
          std::min(up(n, PackedBlocks::kTileBytes / sizeof(T)), kColumns)};
}

template <class T>
void packed(bool transpose_a, bool transpose_b, Index m, Index n, Index k, T alpha, const T* a,
            Index lda, const T* b, Index ldb, T beta, T* c, Index ldc) {
  PackedBlocks blocks = packed_blocks<T>(m, n, k);
  Tensor scratch = scratch_of<T>(blocks.depth * (blocks.rows + blocks.columns));
  row_kernels<T>().packed_product(transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c,
                                  ldc, blocks, scratch.data<T>());
}

bool blas_layout(const Tensor& x) {
  Index rows = x.size(-2), columns = x.size(-1);
  Index sr = x.strides()[x.rank() - 2], sc = x.strides()[x.rank() - 1];
  if ((sc == 1 || columns <= 1) && (sr >= std::max<Index>(1, columns) || rows <= 1)) return true;
  return (sr == 1 || rows <= 1) && (sc >= std::max<Index>(1, rows) || columns <= 1);
}

template <class T>
Matrix<T> as_matrix(const Tensor& x) {
  Index rows = x.size(-2), columns = x.size(-1);
  Index sr = x.strides()[x.rank() - 2], sc = x.strides()[x.rank() - 1];
  const T* p = x.data<T>();
  if ((sc == 1 || columns <= 1) && (sr >= std::max<Index>(1, columns) || rows <= 1))
    return {p, rows <= 1 ? std::max<Index>(1, columns) : sr, false};
  return {p, columns <= 1 ? std::max<Index>(1, rows) : sc, true};
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
  Matrix<T> ma = as_matrix<T>(a), mb = as_matrix<T>(b);
  bool in_place = batches == 1 && reads_in_place(ma.transposed, mb.transposed, m, n);
  bool own = packs<T>(ma.transposed, mb.transposed, m, n, k);
  Cost cost = cost_of(m, n, k, batches, in_place);
  Tiling t = own ? tiling_for(in_parallel() ? 1 : num_threads(), m, n, cost, batches)
                 : tiling(m, n, cost, batches);
  auto multiply = own ? packed<T> : gemm<T>;
  Index across = (n + t.columns - 1) / t.columns, down = (m + t.rows - 1) / t.rows;
  Index tiles = across * down;
  Index pieces = batches * tiles;
  double each = cost.total / static_cast<double>(pieces);
  Index grain = small(cost) ? pieces : static_cast<Index>(std::max(1.0, (1 << 20) / each));
  parallel_for(pieces, grain, [&](Index begin, Index end) {
    for (Index piece = begin; piece < end; ++piece) {
      Index batch = piece / tiles, tile = piece % tiles;
      Index r = tile / across * t.rows, col = tile % across * t.columns;
      Index rows = std::min(t.rows, m - r), columns = std::min(t.columns, n - col);
      T* to = c + batch * m * n + r * n + col;
      multiply(ma.transposed, mb.transposed, rows, columns, k, alpha,
               ma.rows_from(r) + batch_offset(a, lead, batch), ma.ld,
               mb.columns_from(col) + batch_offset(b, lead, batch), mb.ld, beta, to, n);
      if (then) finish<T>(*then, r, col, n, rows, columns, to);
    }
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

namespace {
// Up to so many elements of b, a row times b is worth no call of gemv: a head's context.
constexpr Index kSmallMatrix = 1 << 16;

// A product of which one side is a vector: gemv reads the matrix once and packs nothing.
template <class T>
void vector_product(bool transpose_a, bool transpose_b, Index m, Index n, Index k, T alpha,
                    const T* a, Index lda, const T* b, Index ldb, T beta, T* c, Index ldc) {
  // The matrix as stored is rows·columns, and multiplied transposed where `trans` says so.
  bool row = m == 1;
  Index length = row ? n : m, step = row ? 1 : ldc;
  bool trans = row ? !transpose_b : transpose_a;
  const T *matrix = row ? b : a, *vector = row ? a : b;
  Index ld = row ? ldb : lda, vector_step = row ? (transpose_a ? lda : 1) : (transpose_b ? 1 : ldb);
  if (beta == 0) {  // some versions of gemv multiply by beta, and NaN·0 is NaN
    for (Index i = 0; i < length; ++i) c[i * step] = 0;
    beta = 1;
  }
  auto i = [](Index v) { return static_cast<blasint>(v); };
  Index rows = trans ? k : length, columns = trans ? length : k;
  auto t = trans ? CblasTrans : CblasNoTrans;
  require_blas_extents({rows, columns, ld, vector_step, step});
  one_thread_a_call();
  if constexpr (std::is_same_v<T, float>)
    cblas_sgemv(CblasRowMajor, t, i(rows), i(columns), alpha, matrix, i(ld), vector, i(vector_step),
                beta, c, i(step));
  else
    cblas_dgemv(CblasRowMajor, t, i(rows), i(columns), alpha, matrix, i(ld), vector, i(vector_step),
                beta, c, i(step));
}

// gemm by BLAS, for extents of at least 1.
template <class T>
void blas_gemm(bool transpose_a, bool transpose_b, Index m, Index n, Index k, T alpha, const T* a,
               Index lda, const T* b, Index ldb, T beta, T* c, Index ldc) {
  require_blas_extents({m, n, k, lda, ldb, ldc});
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
  if (packs<T>(transpose_a, transpose_b, m, n, k))
    return packed<T>(transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  if (m == 1 && !transpose_a && !transpose_b && n * k <= kSmallMatrix) {
    row_kernels<T>().row_product(n, k, alpha, a, b, ldb, beta, c);
    return;
  }
  if (m == 1 || n == 1) {
    vector_product(transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    return;
  }
  if (few_rows(transpose_a, transpose_b, m) && k >= 16) {
    Tensor scratch = scratch_of<T>(few_rows_scratch(m, k));
    row_kernels<T>().few_rows_product(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc,
                                      scratch.data<T>());
    return;
  }
  blas_gemm(transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
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

Tensor blas_matmul(const Tensor& a, const Tensor& b) {
  Checked c = check(a, b);
  if (a.rank() != 2 || b.rank() != 2 || !a.is_contiguous() || !b.is_contiguous())
    throw with_operands(ShapeError("blas_matmul", "needs two contiguous matrices"), Operand("a", a),
                        Operand("b", b));
  Index m = a.size(0), k = a.size(1), n = b.size(1),
        strip = (m + num_threads() - 1) / num_threads();
  Tensor y = zeros(c.result, a.dtype());
  if (y.numel() == 0 || k == 0) return y;
  auto strips = [&]<class T>(T one) {
    parallel_for(m, strip, [&](Index begin, Index end) {
      blas_gemm<T>(false, false, end - begin, n, k, one, a.data<T>() + begin * k, k, b.data<T>(), n,
                   T(0), y.data<T>() + begin * n, n);
    });
  };
  if (a.dtype() == DType::Float32)
    strips(1.0f);
  else
    strips(1.0);
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

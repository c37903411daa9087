#include "tensor/matmul/matmul.hpp"

#include <algorithm>
#include <optional>

#include "tensor/error.hpp"
#include "tensor/parallel.hpp"
#include "tensor/simd/kernels.hpp"

namespace glim {
namespace {

// The last two axes as BLAS reads them.
struct MatrixLayout {
  Index ld;  // distance between rows as stored
  bool transposed;
};
std::optional<MatrixLayout> blas_layout(const Tensor& x) {
  Index rows = x.size(-2), columns = x.size(-1);
  Index sr = x.strides()[x.rank() - 2], sc = x.strides()[x.rank() - 1];
  Index least_r = std::max<Index>(1, columns);
  if (x.numel() == 0) return MatrixLayout{least_r, false};  // whatever its strides
  if ((sc == 1 || columns <= 1) && (sr >= least_r || rows <= 1))
    return MatrixLayout{rows <= 1 ? least_r : sr, false};
  if ((sr == 1 || rows <= 1) && sc >= std::max<Index>(1, rows)) return MatrixLayout{sc, true};
  return {};
}

// Offsets of the batches of x (its leading axes broadcast to `batch_dims`).
Index batch_offset(const Tensor& x, const Shape& batch_dims, Index batch) {
  Index offset = 0;
  int extra = batch_dims.rank() - (x.rank() - 2);
  for (int i = batch_dims.rank() - 1; i >= 0; --i) {
    Index c = batch % batch_dims[i];
    batch /= batch_dims[i];
    if (i >= extra && x.shape()[i - extra] != 1) offset += c * x.strides()[i - extra];
  }
  return offset;
}

// The epilogue of the tile whose first element is (r, column) of a result with n columns.
template <class T>
void finish(const Epilogue& e, Index r, Index column, Index n, Index rows, Index columns, T* tile) {
  if (e.bias.defined() || e.relu)
    dispatch<simd::add_bias<T>>(
        rows, columns, e.bias.defined() ? e.bias.data<T>() + column : nullptr, e.relu, tile, n);
  for (Index i = 0; e.drop && i < rows; ++i)
    dispatch<simd::dropout<T>>(*e.drop, (r + i) * n + column, columns, tile + i * n, nullptr,
                               tile + i * n);
}

template <class T>
void run(const Tensor& out, const Tensor& a, const Tensor& b, const Shape& batch_dims, T alpha,
         T beta, GemmEngine large, const Epilogue* then) {
  Index m = a.size(-2), k = a.size(-1), n = b.size(-1);
  Index batches = numel_of(batch_dims);
  if (m == 0 || n == 0 || batches == 0) return;
  // One product with many rows instead of many products, when b is shared and a's rows are evenly spaced.
  bool shared = numel_of(leading(b.shape())) == 1 && batch_dims.rank() > 0;
  if (shared) {
    if (auto rows = a.view({batches * m, k});
        rows && leading(a.shape()) == batch_dims && blas_layout(*rows)) {
      Tensor flat = reshape(out, {batches * m, n});
      Tensor b2 = reshape(b, {k, n});
      return run<T>(flat, *rows, blas_layout(b2) ? b2 : b2.contiguous(), {}, alpha, beta, large,
                    then);
    }
  }
  MatrixLayout la = *blas_layout(a), lb = *blas_layout(b);
  Algorithm algorithm = algorithm_for<T>(la.transposed, lb.transposed, m, n, k, large);
  Tiles t = tiles_for(algorithm, m, n, k, batches, in_parallel() ? 1 : num_threads());
  Index across = (n + t.columns - 1) / t.columns, down = (m + t.rows - 1) / t.rows;
  Index tiles = across * down;
  parallel_for(batches * tiles, t.together, [&](Index begin, Index end) {
    for (Index piece = begin; piece < end; ++piece) {
      Index batch = piece / tiles, tile = piece % tiles;
      Index r = tile / across * t.rows, column = tile % across * t.columns;
      Index rows = std::min(t.rows, m - r), columns = std::min(t.columns, n - column);
      const T* pa =
          a.data<T>() + batch_offset(a, batch_dims, batch) + r * (la.transposed ? 1 : la.ld);
      const T* pb =
          b.data<T>() + batch_offset(b, batch_dims, batch) + column * (lb.transposed ? lb.ld : 1);
      T* target = out.data<T>() + batch * m * n + r * n + column;
      multiply<T>(algorithm, {la.transposed, lb.transposed, rows, columns, k, alpha, pa, la.ld, pb,
                              lb.ld, beta, target, n});
      if (then) finish<T>(*then, r, column, n, rows, columns, target);
    }
  });
}

// The given operands as matrices: themselves, views of those that are vectors, or copies of those whose rows BLAS cannot
// read. The first are held by address: counting the owners of their memory costs 4 % of a step of a tiny model.
struct Checked {
  Checked(const Tensor& given_a, const Tensor& given_b) : a(&given_a), b(&given_b) {
    auto fail = [&](const std::string& problem) {
      throw ShapeError("matmul", problem, {{"a", given_a}, {"b", given_b}});
    };
    if (a->dtype() != b->dtype() || !is_floating(a->dtype()))
      throw DTypeError("matmul", "needs two operands of one floating dtype",
                       {{"a", *a}, {"b", *b}});
    if (a->rank() == 0 || b->rank() == 0) fail("a scalar has no inner dimension");
    if (a->rank() == 1) replace(a, other_a, unsqueeze(*a, 0));
    if (b->rank() == 1) replace(b, other_b, unsqueeze(*b, 1));
    if (a->size(-1) != b->size(-2))
      fail("inner dimensions differ: a has " + std::to_string(a->size(-1)) + " columns, b has " +
           std::to_string(b->size(-2)) + " rows");
    Shape la = leading(a->shape()), lb = leading(b->shape());
    try {
      batch_dims = broadcast_shapes(la, lb, "matmul");
    } catch (ShapeError&) {
      fail("leading axes " + to_string(la) + " and " + to_string(lb) + " do not broadcast");
    }
    result = with_matrix(batch_dims, a->size(-2), b->size(-1));
    checked_numel(result, "matmul");
    if (!blas_layout(*a)) replace(a, other_a, a->contiguous());
    if (!blas_layout(*b)) replace(b, other_b, b->contiguous());
  }
  Checked(const Checked&) = delete;
  Checked& operator=(const Checked&) = delete;

  const Tensor *a, *b;
  Shape batch_dims, result;

 private:
  static void replace(const Tensor*& x, Tensor& other, Tensor replacement) {
    other = std::move(replacement);
    x = &other;
  }
  Tensor other_a, other_b;
};

void compute(const Tensor& out, const Checked& c, double alpha, double beta, GemmEngine large,
             const Epilogue* then = nullptr) {
  visit_floating(out.dtype(), [&]<class T>() {
    run<T>(out, *c.a, *c.b, c.batch_dims, static_cast<T>(alpha), static_cast<T>(beta), large, then);
  });
}

}  // namespace

Tensor matmul_by(GemmEngine large, const Tensor& a, const Tensor& b) {
  const Checked c(a, b);
  Tensor y = empty(c.result, a.dtype());
  compute(y, c, 1, 0, large);
  if (a.rank() == 1) y = squeeze(y, -2);
  if (b.rank() == 1) y = squeeze(y, -1);
  return y;
}

Tensor matmul(const Tensor& a, const Tensor& b) { return matmul_by(gemm_engine(), a, b); }

void matmul_into(const Tensor& out, const Tensor& a, const Tensor& b, double alpha, double beta) {
  const Checked c(a, b);
  Shape result = c.result;
  if (a.rank() == 1) result.erase(result.rank() - 2);
  if (b.rank() == 1) result.erase(result.rank() - 1);
  if (out.shape() != result || !out.is_contiguous())
    throw ShapeError("matmul", "out must be contiguous, of shape " + to_string(result),
                     {{"out", out}, {"a", a}, {"b", b}});
  if (out.dtype() != a.dtype())
    throw DTypeError("matmul", "out has another dtype", {{"out", out}, {"a", a}, {"b", b}});
  compute(reshape(out, c.result), c, alpha, beta, gemm_engine());
}

Tensor matmul_then(const Tensor& a, const Tensor& b, const Epilogue& epilogue) {
  const Checked c(a, b);
  const Tensor& bias = epilogue.bias;
  if (a.rank() != 2 || b.rank() != 2 ||
      (bias.defined() && (bias.shape() != Shape{b.size(1)} || bias.dtype() != a.dtype())))
    throw ShapeError("matmul_then", "needs a (M, K), b (K, N) and bias (N,)",
                     {{"a", a}, {"b", b}, {"bias", bias}});
  if (bias.defined() && !bias.is_contiguous())
    return matmul_then(a, b, {bias.contiguous(), epilogue.relu, epilogue.drop});
  Tensor y = empty(c.result, a.dtype());
  compute(y, c, 1, 0, gemm_engine(), &epilogue);
  return y;
}

template <class T>
void gemm(const Gemm<T>& p) {
  if (p.m > 0 && p.n > 0)
    multiply<T>(algorithm_for<T>(p.transpose_a, p.transpose_b, p.m, p.n, p.k), p);
}
template void gemm(const Gemm<float>&);
template void gemm(const Gemm<double>&);

}  // namespace glim

// Row kernels of the fused ops: plain loops over rows in memory, compiled for each instruction set
// (tensor/simd/vec.hpp). They know no tensors, check nothing and start no threads; the fused ops in
// autograd/ops cut the rows into pieces that do not depend on the number of threads.
//
// T is float or double. A row's elements are adjacent; `ld` is the distance between rows.
#pragma once

#include <cstdint>

#include "tensor/simd/isa.hpp"

namespace glim {

// One draw of dropout per element: word i mod 4 of block i / 4 of the stream (tensor/random.hpp).
// An element is dropped when its word lies below `threshold`, else multiplied by `scale`.
struct DropSpec {
  std::uint64_t seed, stream;
  std::uint32_t threshold;
  double scale;
};

// q = hit for the target, 0 for pad, rest elsewhere; total is their sum. Rows whose target is pad
// count nothing.
struct SmoothedTarget {
  double hit, rest, total;
  std::int64_t pad;
};

// Scores of one head, (rows, columns) in place: softmax(scale·x + bias) over columns with keep.
template <class T>
struct ScoreTile {
  std::int64_t rows, columns;
  T* x;
  std::int64_t ld;
  T scale;
  const T* bias;                       // or null
  std::int64_t bias_row, bias_column;  // distances; columns: 0 or 1
  const bool* keep;                    // or null
  std::int64_t keep_row, keep_column;
};

// One update of Adam: g + couple·w stands for the gradient, keep·w for the parameter; take = 1 - beta,
// size = η/(1 - β₁ᵗ), root = √(1 - β₂ᵗ).
template <class T>
struct AdamStep {
  T beta1, take1, beta2, take2, eps, size, root, couple, keep;
};

// How far a packed product's blocks reach (tensor/matmul/packed.hpp).
struct PackedBlocks {
  std::int64_t depth, rows, columns;
  // Of c, held in registers, at most: rows and columns are multiples of these.
  static constexpr std::int64_t kTileRows = 12, kTileBytes = 128;
};

enum class Function { Exp, Log, Tanh, Sigmoid, Erf, Silu, GeluErf, GeluTanh };

template <class T>
struct RowKernels {
  using Index = std::int64_t;

  // cross[r] = -Σ q ln p, nll[r] = -ln p(target), stats[r] = {max, Σ_v q_v / Σ e^{x - max}}
  void (*cross_entropy)(const SmoothedTarget& q, Index rows, Index n, const T* x, Index ld,
                        const Index* target, T* stats, double* cross, double* nll);
  // dx = g (total·p - q) from the stats
  void (*cross_entropy_grad)(const SmoothedTarget& q, Index rows, Index n, const T* x, Index ld,
                             const Index* target, const T* stats, T g, T* dx, Index ld_dx);

  // y = (x - mean)/σ γ + β, σ² = Σ(x - mean)²/n + eps; gamma, beta may be null
  void (*layer_norm)(Index rows, Index n, const T* x, Index ld, const T* gamma, const T* beta,
                     T eps, T* y, T* mean, T* inverse_sigma);
  // dx, and the rows' sums of dγ and dβ; each of dx, dgamma, dbeta, gamma may be null; dx is neither x
  // nor dy
  void (*layer_norm_grad)(Index rows, Index n, const T* x, Index ld, const T* gamma, const T* mean,
                          const T* inverse_sigma, const T* dy, Index ld_dy, T* dx, T* dgamma,
                          T* dbeta);

  // y = x/ρ γ, ρ² = Σx²/n + eps; gamma may be null
  void (*rms_norm)(Index rows, Index n, const T* x, Index ld, const T* gamma, T eps, T* y,
                   T* inverse_root);
  // dx, and the rows' sum of dγ; each of dx, dgamma, gamma may be null
  void (*rms_norm_grad)(Index rows, Index n, const T* x, Index ld, const T* gamma,
                        const T* inverse_root, const T* dy, Index ld_dy, T* dx, T* dgamma);

  // scores -> probabilities; a row of which nothing is kept becomes 0
  void (*softmax)(const ScoreTile<T>& scores);
  // dx = p (dp - Σ dp p), in place of dp. If scale is not 0, p is marked, and dp of what dropout left.
  void (*softmax_grad)(Index rows, Index n, const T* p, Index ld_p, T* dp, Index ld_dp, T scale);

  // y[i] = addend[i] + (dropped(first + i) ? 0 : scale·x[i]); addend may be null, y may be x
  void (*dropout)(const DropSpec& drop, Index first, Index n, const T* x, const T* addend, T* y);

  // y[i] = dropped(first + i) ? 0 : scale·p[i] for p >= 0, which is marked: its sign becomes - where
  // it is dropped (-0 too), so that backward need not draw again. y may not be p.
  void (*mark_dropped)(const DropSpec& drop, Index first, Index n, T* p, T* y);
  // The same y from a marked p.
  void (*drop_marked)(Index n, T scale, const T* p, T* y);

  // y[r][c] += bias[c] unless null, then max(0, ·) if relu
  void (*add_bias)(Index rows, Index n, const T* bias, bool relu, T* y, Index ld);
  // dx = y > 0 ? scale·dy : 0; dx may be y
  void (*relu_grad)(Index n, const T* y, const T* dy, T scale, T* dx);
  // Elements with a bit set (tensor/matmul/nonzeros.hpp): bit i mod 8 of byte i / 8 says so of x[i]. The
  // first returns their number, the second writes them in order, the third puts them back.
  Index (*mark_nonzeros)(Index n, const T* x, std::uint8_t* bits);
  void (*gather_nonzeros)(Index n, const T* x, const std::uint8_t* bits, Index count, T* values);
  void (*spread_nonzeros)(Index n, const std::uint8_t* bits, Index count, const T* values, T* x);
  // total[c] += Σ_r x[r][c], partial sums of 64 rows
  void (*sum_rows)(Index rows, Index n, const T* x, Index ld, T* total);

  // y[i] = f(x[i]); y may be x
  void (*function)(Function f, Index n, const T* x, T* y);
  // dx = dy f'(·) from what is kept: y of tanh and sigmoid, x of silu and gelu; not for the others
  void (*function_grad)(Function f, Index n, const T* kept, const T* dy, T* dx);

  // The largest element, -∞ for none; NaN counts for nothing
  T (*largest)(Index n, const T* x);
  // Σ e^{x - m}, and e^{x - m} in y unless that is null
  T (*sum_of_exponentials)(Index n, T m, const T* x, T* y);

  // c = alpha a bᵀ + beta c for few rows of a; b is read in place, once. `scratch` has
  // few_rows_scratch(m, k) elements, and may be null for one row. few_rows_pay: it is ahead of BLAS.
  bool (*few_rows_pay)(Index m, Index n, Index k);
  void (*few_rows_product)(Index m, Index n, Index k, T alpha, const T* a, Index lda, const T* b,
                           Index ldb, T beta, T* c, Index ldc, T* scratch);
  // The same for rows of up to kShortRow<T> elements; null where BLAS is ahead.
  void (*short_rows_product)(Index m, Index n, Index k, T alpha, const T* a, Index lda, const T* b,
                             Index ldb, T beta, T* c, Index ldc);
  // c = alpha a b + beta c for one row a
  void (*row_product)(Index n, Index k, T alpha, const T* a, const T* b, Index ldb, T beta, T* c);

  // c = alpha op(a) op(b) + beta c, packed; null where BLAS is ahead. `scratch` has
  // depth·(rows + columns) elements.
  void (*packed_product)(bool transpose_a, bool transpose_b, Index m, Index n, Index k, T alpha,
                         const T* a, Index lda, const T* b, Index ldb, T beta, T* c, Index ldc,
                         const PackedBlocks& blocks, T* scratch);

  // Parameter w and its averages m and v after gradient g
  void (*adam)(const AdamStep<T>& step, Index n, T* w, const T* g, T* m, T* v);
};

inline constexpr std::int64_t kPanelRows = 96;  // rows of b whose products wait to be turned
template <class T>
inline constexpr std::int64_t kShortRow = 64 / sizeof(T);
constexpr std::int64_t few_rows_scratch(std::int64_t m, std::int64_t k) {
  return (m + 15) / 16 * 16 * (k + kPanelRows);
}

// For this CPU, or for a given one of supported_isas().
template <class T>
const RowKernels<T>& row_kernels(Isa isa = best_isa());

}  // namespace glim

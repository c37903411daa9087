// c = alpha a bᵀ + beta c for few rows of a: each row of b is read once, in place. BLAS
// would first copy all of b into its own order, which costs more than the product when a has few
// rows, as in decoding, and a third of it at 64 rows.
//
//   a (m, k)   b (n, k)   c (m, n)      rows adjacent, ld* apart
//
// Very few rows: dot products along k. More: a is transposed to (k, m), so that its rows are side
// by side in a vector and one element of b multiplies all of them; cᵀ comes out, in panels of rows
// of b, and is transposed back. Rows no longer than a vector: b is transposed in registers, a vector's
// worth of rows at a time.
//
// An element of c is one sum over k in order, in blocks of `depth`, and so the same as a packed product's
// (tensor/fast/packed.hpp). Dot products alone sum along k in lanes, 64 bytes of them.
#pragma once

#include "tensor/fast/products.hpp"
#include "tensor/simd/vec.hpp"

namespace glim::GLIM_ISA {

// M rows of a × N rows of b, `apart` rows from each other, as dot products side by side.
template <class T, int M, int N>
GLIM_INLINE void dots(Index k, const T* a, Index lda, const T* b, Index ldb, Index apart, T alpha,
                      T beta, T* c, Index ldc) {
  Sum<T> sum[M][N] = {};
  each_part<T>(
      k, [&](Index i, int part, bool whole) __attribute__((always_inline)) {
        auto get = [&](const T* p) __attribute__((always_inline)) {
          return whole ? load<T>(p) : load_part<T>(p, k - i, T(0));
        };
        Vec<T> right[N];
        for (int q = 0; q < N; ++q) right[q] = get(b + q * apart * ldb + i);
        for (int p = 0; p < M; ++p) {
          Vec<T> left = get(a + p * lda + i);
          for (int q = 0; q < N; ++q) {
            Vec<T>& total = sum[p][q].part[part];
            total = multiply_add<T>(left, right[q], total);
          }
        }
      });
  for (int p = 0; p < M; ++p)
    for (int q = 0; q < N; ++q) {
      T value = alpha * sum_lanes<T>(sum[p][q]);
      T& element = c[p * ldc + q * apart];
      element = beta == T(0) ? value : value + beta * element;
    }
}

// All rows of a, M at once and then the rest.
template <class T, int M, int N>
GLIM_INLINE void dots_down(Index m, Index k, const T* a, Index lda, const T* b, Index ldb,
                           Index apart, T alpha, T beta, T* c, Index ldc) {
  for (; m >= M; m -= M, a += M * lda, c += M * ldc)
    dots<T, M, N>(k, a, lda, b, ldb, apart, alpha, beta, c, ldc);
  if constexpr (M > 1) dots_down<T, M - 1, N>(m, k, a, lda, b, ldb, apart, alpha, beta, c, ldc);
}

// Four rows of b at a time, which are a quarter of all rows apart: the processor fetches ahead along four
// long streams. Four adjacent rows of 2 KiB end before it begins to, which gives 0.7 of the rate.
template <class T>
void dots_product(Index m, Index n, Index k, T alpha, const T* a, Index lda, const T* b, Index ldb,
                  T beta, T* c, Index ldc) {
  constexpr int M = kVectorBytes == 64 ? 6 : 1;  // 24 sums of 32 registers, 8 of 16
  Index quarter = n / 4;
  for (Index j = 0; j < quarter; ++j)
    dots_down<T, M, 4>(m, k, a, lda, b + j * ldb, ldb, quarter, alpha, beta, c + j, ldc);
  for (Index j = 4 * quarter; j < n; ++j)
    dots_down<T, M, 1>(m, k, a, lda, b + j * ldb, ldb, 1, alpha, beta, c + j, ldc);
}

// v[i][j] <-> v[j][i] in log2(lanes) rounds, each of which interleaves the first half of the vectors with the
// second.
template <class T>
GLIM_INLINE void transpose(Vec<T>* v) {
  constexpr int L = static_cast<int>(kLanes<T>);
  for (int round = 1; round < L; round *= 2) {
    Vec<T> w[L];
    for (int i = 0; i < L / 2; ++i) {
      w[2 * i] = shuffled<0>(v[i], v[i + L / 2]);
      w[2 * i + 1] = shuffled<L / 2>(v[i], v[i + L / 2]);
    }
    for (int i = 0; i < L; ++i) v[i] = w[i];
  }
}

// L rows of x (rows, k), transposed: out[i][j] = x[j][i], `wide` of the L columns, rows of `out` being
// `ld` apart. Of all rows but the last, what is beyond is lost.
template <class T>
GLIM_INLINE void transpose_into(Index rows, Index k, const T* x, Index ldx, Index wide, T* out,
                                Index ld) {
  constexpr Index L = kLanes<T>;
  for (Index i = 0; i < k; i += L) {
    Vec<T> v[L];
    for (Index j = 0; j < L; ++j) v[j] = j < rows ? at<T>(x + j * ldx, i, k) : Vec<T>{};
    transpose<T>(v);
    Index count = k - i < L ? k - i : L;
    for (Index j = 0; j < count; ++j)
      if (wide >= L || i + j + 1 < k)
        store<T>(out + (i + j) * ld, v[j]);
      else
        store_part<T>(out + (i + j) * ld, v[j], wide);
  }
}

// A tile keeps its sums in registers: kSums of them, kAlong of which are along a's rows.
#if defined(__AVX512F__)
inline constexpr int kSums = 24, kAlong = 4;
#else
inline constexpr int kSums = 12, kAlong = 2;
#endif

// A sum of products, how far along k its parts reach, and what it is multiplied by.
template <class T>
struct Along {
  Index k, depth;
  T alpha;
};

// R rows of b times V vectors of rows of a.
template <class T, int R, int V>
GLIM_INLINE void transposed_tile(const Along<T>& sums, const T* transposed, Index columns,
                                 const T* b, Index ldb, T* out) {
  constexpr Index L = kLanes<T>;
  for (Index begin = 0; begin < sums.k; begin += sums.depth) {
    Index end = sums.k - begin < sums.depth ? sums.k : begin + sums.depth;
    Vec<T> sum[R][V] = {};
    for (Index i = begin; i < end; ++i, transposed += columns) {
      if (i % 16 == 0)  // elements of the next tile, while this one computes
        for (int q = 0; q < R; ++q) __builtin_prefetch(b + (q + R) * ldb + i, 0, 2);
      Vec<T> left[V];
      for (int p = 0; p < V; ++p) left[p] = load<T>(transposed + p * L);
      for (int q = 0; q < R; ++q) {
        Vec<T> right = splat<T>(b[q * ldb + i]);
        for (int p = 0; p < V; ++p) sum[q][p] = multiply_add<T>(left[p], right, sum[q][p]);
      }
    }
    for (int q = 0; q < R; ++q)
      for (int p = 0; p < V; ++p) {
        T* place = out + q * columns + p * L;
        Vec<T> value = sums.alpha * sum[q][p];
        store<T>(place, begin == 0 ? value : load<T>(place) + value);
      }
  }
}

// out (count, columns) = b aᵀ for `count` rows of b, V vectors of columns and R rows at once, so that
// R·V sums go on beside each other.
template <class T, int V, int R = (kSums / V < 16 ? kSums / V : 16)>
GLIM_INLINE void transposed_rows(Index count, const Along<T>& sums, const T* transposed,
                                 Index columns, const T* b, Index ldb, T* out) {
  if constexpr (R > 1) {
    if (count < R)
      return transposed_rows<T, V, R / 2>(count, sums, transposed, columns, b, ldb, out);
  }
  Index j = 0;
  for (; j + R <= count; j += R)
    transposed_tile<T, R, V>(sums, transposed, columns, b + j * ldb, ldb, out + j * columns);
  if (j == count) return;
  j = count - R;  // some rows once more, with the same result
  transposed_tile<T, R, V>(sums, transposed, columns, b + j * ldb, ldb, out + j * columns);
}

template <class T>
void transposed_product(Index m, Index n, const Along<T>& sums, const T* a, Index lda, const T* b,
                        Index ldb, T beta, T* c, Index ldc, T* scratch) {
  const Index k = sums.k;
  constexpr Index L = kLanes<T>;
  Index columns = (m + L - 1) / L * L;
  T *transposed = scratch, *panel = scratch + k * columns;
  for (Index r = 0; r < columns; r += L)  // with zeros past the last row
    transpose_into<T>(m - r < L ? m - r : L, k, a + r * lda, lda, L, transposed + r, columns);
  for (Index begin = 0; begin < n; begin += kPanelRows) {
    Index count = n - begin < kPanelRows ? n - begin : kPanelRows;
    const T* rows = b + begin * ldb;
    Index done = 0;  // columns
    auto take = [&]<int V>() {
      if constexpr (V <= kAlong) {
        if (columns - done < V * L) return false;
        transposed_rows<T, V>(count, sums, transposed + done, columns, rows, ldb, panel + done);
        done += V * L;
        return true;
      }
      return false;
    };
    while (take.template operator()<4>() || take.template operator()<3>() ||
           take.template operator()<2>() || take.template operator()<1>()) {
    }
    for (Index r = 0; r < m; r += L)
      for (Index j = 0; j < count; j += L) {
        Vec<T> v[L];
        for (Index i = 0; i < L; ++i)
          v[i] = j + i < count ? load<T>(panel + (j + i) * columns + r) : Vec<T>{};
        transpose<T>(v);
        for (Index i = 0; i < L && r + i < m; ++i) {
          T* target = c + (r + i) * ldc + begin + j;
          Vec<T> value = v[i];
          if (beta != T(0)) value = multiply_add<T>(at<T>(target, 0, count - j), beta, value);
          put<T>(target, 0, count - j, value);
        }
      }
  }
}

// R rows of a times `count` rows of b, which `columns` holds transposed: columns[i] is column i of b.
template <class T, int R>
GLIM_INLINE void short_rows(Index count, Index k, T alpha, const T* a, Index lda,
                            const Vec<T>* columns, T beta, T* c, Index ldc) {
  Vec<T> sum[R] = {};
  for (Index i = 0; i < k; ++i)
    for (int r = 0; r < R; ++r)
      sum[r] = multiply_add<T>(splat<T>(a[r * lda + i]), columns[i], sum[r]);
  for (int r = 0; r < R; ++r) {
    T* target = c + r * ldc;
    Vec<T> value = alpha * sum[r];
    if (beta != T(0)) value = multiply_add<T>(splat<T>(beta), at<T>(target, 0, count), value);
    put<T>(target, 0, count, value);
  }
}

// For rows no longer than a vector, as those of narrow heads: a vector's worth of rows of b at a time.
template <class T>
void short_rows_product(Index m, Index n, Index k, T alpha, const T* a, Index lda, const T* b,
                        Index ldb, T beta, T* c, Index ldc) {
  constexpr Index L = kLanes<T>;
  if constexpr (kShortRow < T >> L) __builtin_trap();
  for (Index j = 0; j < n; j += L) {
    Index count = n - j < L ? n - j : L;
    Vec<T> v[L];
    for (Index q = 0; q < L; ++q) v[q] = q < count ? at<T>(b + (j + q) * ldb, 0, k) : Vec<T>{};
    transpose<T>(v);
    Index r = 0;
    for (; r + 4 <= m; r += 4)
      short_rows<T, 4>(count, k, alpha, a + r * lda, lda, v, beta, c + r * ldc + j, ldc);
    for (; r < m; ++r)
      short_rows<T, 1>(count, k, alpha, a + r * lda, lda, v, beta, c + r * ldc + j, ldc);
  }
}

template <class T>
void few_rows_product(Index m, Index n, Index k, Index depth, T alpha, const T* a, Index lda,
                      const T* b, Index ldb, T beta, T* c, Index ldc, T* scratch) {
  if (beta == T(0))
    return transposed_product<T>(m, n, {k, depth, alpha}, a, lda, b, ldb, beta, c, ldc, scratch);
  // c is added to the first block of k: block by block, as a packed product.
  for (Index p = 0; p < k; p += depth)
    transposed_product<T>(m, n, {k - p < depth ? k - p : depth, depth, alpha}, a + p, lda, b + p,
                          ldb, p == 0 ? beta : T(1), c, ldc, scratch);
}

// c = alpha a b + beta c for one row a (k) and b (k, n): the rows of b, weighed, as in attention by
// one query.
template <class T>
void row_product(Index n, Index k, Index depth, T alpha, const T* a, const T* b, Index ldb, T beta,
                 T* c) {
  constexpr Index L = kLanes<T>;
  auto columns = [&]<int V>(Index j, Index p, Index count) __attribute__((always_inline)) {
    Index last = n - j < V * L ? n - j - (V - 1) * L : L;  // columns of the last vector
    Vec<T> sum[V] = {};
    for (Index i = p; i < p + count; ++i) {
      const T* row = b + i * ldb + j;
      for (int v = 0; v < V; ++v)
        sum[v] = multiply_add<T>(v + 1 < V ? load<T>(row + v * L) : at<T>(row + v * L, 0, last),
                                 a[i], sum[v]);
    }
    for (int v = 0; v < V; ++v) {
      T* target = c + j + v * L;
      Index wide = v + 1 < V ? L : last;
      Vec<T> value = alpha * sum[v];
      if (p > 0 || beta != T(0))
        value = multiply_add<T>(at<T>(target, 0, wide), p == 0 ? beta : T(1), value);
      put<T>(target, 0, wide, value);
    }
  };
  for (Index p = 0; p < k; p += depth) {
    Index count = k - p < depth ? k - p : depth, j = 0;
    for (; j + 8 * L <= n; j += 8 * L) columns.template operator()<8>(j, p, count);
    for (; j + 3 * L < n; j += 4 * L) columns.template operator()<4>(j, p, count);
    for (; j < n; j += L) columns.template operator()<1>(j, p, count);
  }
}

}  // namespace glim::GLIM_ISA

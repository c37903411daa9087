#include "tensor/matmul/matmul.hpp"

#include <cmath>
#include <limits>

#include "tensor/matmul/blas.hpp"
#include "tensor/ops/reduce.hpp"
#include "tensor/simd/kernels.hpp"
#include "tests/catch.hpp"
#include "tests/tensor/common.hpp"

namespace test_matmul {

using namespace glim;

namespace {

constexpr DType F32 = DType::Float32, F64 = DType::Float64;
// m, k, n of products that differ in what is 1, odd, or larger than a vector.
const std::vector<std::array<Index, 3>> kSizes{{3, 4, 5},   {1, 4, 5},   {3, 1, 5}, {3, 4, 1},
                                               {1, 1, 1},   {17, 33, 9}, {1, 7, 1}, {1, 70, 41},
                                               {41, 70, 1}, {5, 70, 41}, {2, 1, 1}};
const std::vector<std::pair<Shape, Shape>> kBatches{
    {{2, 3, 4}, {2, 4, 5}},       {{2, 3, 4}, {4, 5}},    {{3, 4}, {2, 4, 5}},
    {{2, 1, 3, 4}, {5, 4, 2}},    {{1, 3, 4}, {6, 4, 1}}, {{2, 3, 3, 4}, {3, 4, 5}},
    {{2, 3, 3, 4}, {1, 1, 4, 5}}, {{1, 3, 4}, {1, 4, 5}}, {{3, 1, 4}, {3, 4, 1}}};
constexpr GemmEngine kBoth[] = {GemmEngine::Builtin, GemmEngine::OpenBlas};

// Σ_k a[.., i, k] b[.., k, j] element by element, for operands of rank 2 or more.
Tensor naive(const Tensor& a, const Tensor& b) {
  Shape la, lb;
  for (int i = 0; i + 2 < a.rank(); ++i) la.push_back(a.shape()[i]);
  for (int i = 0; i + 2 < b.rank(); ++i) lb.push_back(b.shape()[i]);
  Shape lead = broadcast_shapes(la, lb, "naive");
  Index m = a.size(-2), k = a.size(-1), n = b.size(-1), batches = numel_of(lead);
  std::vector<double> y;
  for (Index at = 0; at < batches; ++at) {
    Index ia = broadcast_position(at, lead, la), ib = broadcast_position(at, lead, lb);
    for (Index i = 0; i < m; ++i)
      for (Index j = 0; j < n; ++j) {
        double s = 0;
        for (Index c = 0; c < k; ++c)
          s += element(a, (ia * m + i) * k + c) * element(b, (ib * k + c) * n + j);
        y.push_back(s);
      }
  }
  lead.push_back(m);
  lead.push_back(n);
  return from_vector(y, lead);
}

void check_close(const Tensor& y, const Tensor& expected) {
  REQUIRE(y.shape() == expected.shape());
  double tolerance = y.dtype() == F32 ? 2e-5 : 1e-12;
  for (Index i = 0; i < y.numel(); ++i) {
    double e = element(expected, i);
    REQUIRE(std::abs(element(y, i) - e) <= tolerance * (1 + std::abs(e)));
  }
}

// The matrices of x in every way that memory can hold them.
std::vector<Tensor> layouts(const Tensor& x) {
  std::vector<Tensor> all{x.contiguous(), transpose(transpose(x).clone())};
  Shape wide = x.shape(), spaced = x.shape();
  wide[wide.rank() - 1] += 3;
  spaced[spaced.rank() - 1] *= 2;
  Tensor w = full(wide, 1e30, x.dtype());
  all.push_back(slice(w, -1, 1, 1 + x.size(-1)));
  all.back().copy_(x);
  Tensor s = full(spaced, 1e30, x.dtype());
  all.push_back(slice(s, -1, 0, spaced.back(), 2));
  all.back().copy_(x);
  Tensor wt = transpose(transpose(full(wide, 1e30, x.dtype())).clone());
  all.push_back(slice(wt, -1, 2, 2 + x.size(-1)));
  all.back().copy_(x);
  if (x.rank() > 2) {
    all.push_back(transpose(transpose(x, 0, 1).clone(), 0, 1));
    all.push_back(transpose(transpose(x, 0, -1).clone(), 0, -1));
  }
  return all;
}

}  // namespace

TEST_CASE("a product over no elements is zero, whatever the strides of its operands", "[matmul]") {
  Tensor a = broadcast_to(zeros({1, 0}, DType::Float64), {3, 0});
  Tensor b = broadcast_to(zeros({0, 1}, DType::Float64), {0, 2});
  for (const Tensor& y : {matmul(a, b), matmul(a, zeros({0, 2}, DType::Float64)),
                          matmul(broadcast_to(a, {4, 3, 0}), b)})
    CHECK(max(abs(y)).item() == 0);
}

TEST_CASE("matmul in every layout", "[matmul]") {
  std::uint64_t stream = 0;
  for (DType t : {F32, F64})
    for (auto [m, k, n] : kSizes) {
      Tensor a = random_tensor({m, k}, t, stream++), b = random_tensor({k, n}, t, stream++);
      Tensor expected = naive(a, b);
      for (const Tensor& u : layouts(a))
        for (const Tensor& v : layouts(b)) check_close(matmul(u, v), expected);
    }
}

TEST_CASE("a transposed operand is read in place", "[matmul]") {
  const Tensor a = ones({70, 80}), b = ones({80, 90});
  auto allocations = [](const Tensor& x, const Tensor& y) {
    matmul(x, y);  // the first of a size may need scratch memory
    const Index before = allocator_stats().allocations;
    matmul(x, y);
    return allocator_stats().allocations - before;
  };
  const Index least = allocations(a, b);
  CHECK(allocations(transpose(ones({80, 70})), b) == least);
  CHECK(allocations(a, transpose(ones({90, 80}))) == least);
  CHECK(allocations(a, slice(ones({80, 180}), 1, 0, 180, 2)) > least);
}

TEST_CASE("batched matmul broadcasts its leading axes", "[matmul]") {
  std::uint64_t stream = 0;
  for (DType t : {F32, F64})
    for (auto [sa, sb] : kBatches) {
      Tensor a = random_tensor(sa, t, stream++), b = random_tensor(sb, t, stream++);
      Tensor expected = naive(a, b);
      for (const Tensor& u : layouts(a))
        for (const Tensor& v : layouts(b)) check_close(matmul(u, v), expected);
    }
}

TEST_CASE("random views multiply", "[matmul]") {
  Dice dice(11);
  int checked = 0;
  for (int round = 0; round < 3000; ++round) {
    Tensor a = random_view(dice, round % 2 ? F32 : F64), b = random_view(dice, a.dtype());
    if (a.rank() < 2 || b.rank() < 2) continue;
    if (a.size(-1) != b.size(-2)) {
      CHECK_THROWS_AS(matmul(a, b), ShapeError);
      continue;
    }
    Tensor expected;
    try {
      expected = naive(a, b);
    } catch (const ShapeError&) {
      CHECK_THROWS_AS(matmul(a, b), ShapeError);
      continue;
    }
    check_close(matmul(a, b), expected);
    ++checked;
  }
  CHECK(checked > 100);
}

TEST_CASE("vectors lose their extra axis", "[matmul]") {
  Tensor v = tensor({1, 2, 3}), m = reshape(arange(0, 6, 1, F32), {2, 3});
  CHECK(matmul(v, v).shape() == Shape{});
  CHECK(matmul(v, v).item() == 14);
  CHECK(elements(matmul(m, v)) == std::vector<double>{8, 26});
  CHECK(elements(matmul(v, transpose(m))) == std::vector<double>{8, 26});
  Tensor batch = random_tensor({4, 2, 3}, F32, 1);
  CHECK(matmul(batch, v).shape() == Shape{4, 2});
  CHECK(matmul(v, transpose(batch)).shape() == Shape{4, 2});
  check_close(matmul(batch, v), squeeze(naive(batch, unsqueeze(v, 1)), -1));
  check_close(matmul(v, transpose(batch)), squeeze(naive(unsqueeze(v, 0), transpose(batch)), -2));
  Tensor every_second = slice(arange(0, 6, 1, F32), 0, 0, 6, 2);
  CHECK(matmul(every_second, v).item() == 16);
}

TEST_CASE("extents of zero", "[matmul]") {
  CHECK(matmul(zeros({0, 3}), zeros({3, 2})).shape() == Shape{0, 2});
  CHECK(matmul(zeros({2, 3}), zeros({3, 0})).shape() == Shape{2, 0});
  CHECK(elements(matmul(zeros({2, 0}), zeros({0, 2}))) == std::vector<double>(4, 0));
  CHECK(matmul(zeros({0, 2, 3}), zeros({3, 2})).shape() == Shape{0, 2, 2});
  CHECK(elements(matmul(zeros({2, 2, 0}), zeros({2, 0, 1}))) == std::vector<double>(4, 0));
  CHECK(matmul(zeros({0}), zeros({0})).item() == 0);
  Tensor out = ones({2, 2});
  matmul_into(out, zeros({2, 0}), zeros({0, 2}), 1, 0.5);
  CHECK(elements(out) == std::vector<double>(4, 0.5));
}

TEST_CASE("expanded and overlapping operands", "[matmul]") {
  Tensor row = random_tensor({1, 40}, F32, 1), x = random_tensor({50}, F32, 2);
  Tensor same = broadcast_to(row, {30, 40});
  Tensor windows = Tensor::from_storage(x.storage(), 0, {40, 8}, {1, 1}, F32);
  check_close(matmul(same, windows), naive(same, windows));
  check_close(matmul(transpose(windows), windows), naive(transpose(windows), windows));
  Tensor batch = broadcast_to(row, {5, 30, 40});
  check_close(matmul(batch, windows), naive(batch, windows));
  Tensor shared = broadcast_to(random_tensor({1, 6, 7}, F64, 3), {4, 6, 7});
  check_close(matmul(shared, transpose(shared)), naive(shared, transpose(shared)));
}

TEST_CASE("NaN and infinity pass through", "[matmul]") {
  double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  Tensor a = ones({2, 2}), b = zeros({2, 2});
  slice(slice(a, 0, 0, 1), 1, 0, 1).fill_(nan);
  CHECK(std::isnan(matmul(a, b).at<float>({0, 1})));
  CHECK(matmul(a, b).at<float>({1, 1}) == 0);
  slice(slice(a, 0, 0, 1), 1, 0, 1).fill_(inf);
  CHECK(std::isnan(matmul(a, b).at<float>({0, 0})));
}

TEST_CASE("both large products are the same product", "[matmul][slow]") {
  std::uint64_t stream = 0;
  for (DType t : {F32, F64})
    for (auto [m, k, n] : std::vector<std::array<Index, 3>>{
             {100, 110, 120}, {130, 250, 150}, {1100, 33, 130}, {70, 300, 150}}) {
      Tensor a = random_tensor({m, k}, t, stream++), b = random_tensor({k, n}, t, stream++);
      Tensor at = transpose(transpose(a).clone()), bt = transpose(transpose(b).clone());
      Tensor expected = naive(a, b);
      for (GemmEngine large : kBoth)
        for (const Tensor& u : {a, at})
          for (const Tensor& v : {b, bt}) check_close(matmul_by(large, u, v), expected);
    }
}

TEST_CASE("a large product is the one asked for, one of few rows the same with either",
          "[matmul]") {
  Tensor a = random_tensor({300, 500}, F32, 1), b = random_tensor({500, 200}, F32, 2);
  auto chosen = [](Index rows, GemmEngine large) {
    return algorithm_for<float>(false, true, rows, 200, 200, large);
  };
  CHECK(chosen(200, GemmEngine::Builtin) == Algorithm::Packed);
  CHECK(chosen(200, GemmEngine::OpenBlas) == Algorithm::Blas);
  for (Index rows : {2, 8, 30, 60})
    CHECK(chosen(rows, GemmEngine::Builtin) == chosen(rows, GemmEngine::OpenBlas));
  CHECK(same_bits(matmul(a, b), matmul_by(gemm_engine(), a, b)));
}

TEST_CASE("matmul_into adds to where the result belongs", "[matmul]") {
  for (DType t : {F32, F64}) {
    Tensor a = random_tensor({2, 3, 4}, t, 1), b = random_tensor({4, 5}, t, 2);
    Tensor out = random_tensor({2, 3, 5}, t, 3), before = out.clone();
    matmul_into(out, a, b, 2, -1);
    check_close(out, sub(mul(naive(a, b).to(t), 2), before));
    out.fill_(std::nan(""));
    matmul_into(out, a, b, 1, 0);  // beta 0 does not read what was there
    check_close(out, naive(a, b));
    Tensor v = random_tensor({4}, t, 4), y = zeros({2, 3}, t);
    matmul_into(y, a, v, 1, 1);
    check_close(y, matmul(a, v));
    Tensor of_rows = zeros({5}, t);
    matmul_into(of_rows, v, b, 1, 0);
    check_close(of_rows, matmul(v, b));
    Tensor s = zeros({}, t);
    matmul_into(s, v, v, 1, 0);
    check_close(s, matmul(v, v));
    CHECK_THROWS_AS(matmul_into(y, a, b, 1, 0), ShapeError);
    CHECK_THROWS_AS(matmul_into(transpose(transpose(out).clone()), a, b, 1, 0), ShapeError);
    CHECK_THROWS_AS(matmul_into(zeros({2, 3, 5}, t == F32 ? F64 : F32), a, b, 1, 0), DTypeError);
  }
}

TEST_CASE("errors of matmul name both operands", "[matmul]") {
  CHECK(error_of<ShapeError>([] {
          matmul(zeros({8, 10, 64}), zeros({8, 32, 12}));
        }) ==
        "matmul: inner dimensions differ: a has 64 columns, b has 32 rows\n"
        "  a (8, 10, 64) float32\n  b (8, 32, 12) float32");
  CHECK(error_of<ShapeError>([] {
          matmul(zeros({2, 3, 4}), zeros({5, 4, 3}));
        }) ==
        "matmul: leading axes (2,) and (5,) do not broadcast\n"
        "  a (2, 3, 4) float32\n  b (5, 4, 3) float32");
  CHECK(error_of<DTypeError>([] {
          matmul(zeros({2, 2}), zeros({2, 2}, F64));
        }) ==
        "matmul: needs two operands of one floating dtype\n"
        "  a (2, 2) float32\n  b (2, 2) float64");
  CHECK_THROWS_AS(matmul(zeros({2, 2}, DType::Int64), zeros({2, 2}, DType::Int64)), DTypeError);
  CHECK_THROWS_AS(matmul(scalar(1), zeros({2, 2})), ShapeError);
  CHECK_THROWS_AS(matmul(zeros({3}), zeros({4})), ShapeError);
}

TEST_CASE("a product of many tiles agrees with its parts", "[matmul]") {
  std::uint64_t stream = 0;
  for (auto [lead, m, k, n] : std::vector<std::tuple<Shape, Index, Index, Index>>{
           {{}, 600, 500, 400}, {{}, 3000, 40, 90}, {{}, 90, 40, 3000}, {{2}, 700, 300, 500}}) {
    Shape sa = lead, sb = lead;
    sa.push_back(m), sa.push_back(k), sb.push_back(k), sb.push_back(n);
    Tensor a = random_tensor(sa, F64, stream++), b = random_tensor(sb, F64, stream++);
    Tensor y = matmul(a, b), yt = transpose(matmul(transpose(b), transpose(a)));
    for (Index r = 0; r < m; r += 37)  // strips of one tile
      for (Index c = 0; c < n; c += 41) {
        Index rows = std::min<Index>(37, m - r), columns = std::min<Index>(41, n - c);
        Tensor part = matmul(slice(a, -2, r, r + rows), slice(b, -1, c, c + columns));
        for (const Tensor& whole : {y, yt}) {
          Tensor difference =
              abs(sub(slice(slice(whole, -2, r, r + rows), -1, c, c + columns), part));
          REQUIRE(max(difference).item() < 1e-11);
        }
      }
  }
}

TEST_CASE("the BLAS library describes itself", "[matmul][openblas]") {
  BlasInfo info = blas_info();
  CHECK(contains(info.config, "OpenBLAS"));
  CHECK_FALSE(info.core.empty());
  CHECK((info.parallel == "sequential" || info.parallel == "pthread" || info.parallel == "openmp"));
}

}  // namespace test_matmul

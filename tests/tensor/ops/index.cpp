#include "tensor/ops/index.hpp"

#include <cmath>
#include <numeric>

#include "tests/catch.hpp"
#include "tests/tensor/common.hpp"

namespace test_index {

using namespace glim;

namespace {

constexpr DType F32 = DType::Float32, F64 = DType::Float64, I64 = DType::Int64, B = DType::Bool;

Tensor ids(std::initializer_list<double> v) { return tensor(v, I64); }

// Row-major position with the coordinate on `axis` replaced, in a tensor of shape `s`.
Index moved(Index at, const Shape& from, const Shape& s, int axis, Index coordinate) {
  Index result = 0, step = 1;
  for (int i = from.rank() - 1; i >= 0; --i) {
    Index c = i == axis ? coordinate : at % from[i];
    at /= from[i];
    result += c * step;
    step *= s[i];
  }
  return result;
}

// f(x, axis) on views of three dtypes, along each axis that has elements.
void on_each_axis(Dice& dice, const std::function<void(const Tensor& x, int axis)>& f) {
  for (int round = 0; round < 300; ++round) {
    Tensor x = random_view(dice, static_cast<DType>(round % 3));
    for (int axis = 0; axis < x.rank(); ++axis)
      if (x.size(axis) > 0) f(x, axis);
  }
}

}  // namespace

TEST_CASE("gather and scatter_add follow their definitions", "[index]") {
  Dice dice(12);
  int checked = 0;
  on_each_axis(dice, [&](const Tensor& x, int axis) {
    DType t = x.dtype();
    Shape s = x.shape();
    s[axis] = dice.below(6);
    Tensor index = random_integers(s, 0, x.size(axis), {1, dice.source()});
    if (dice.one_in(3) && s.rank() > 1) {  // smaller than x off the axis as well
      int other = (axis + 1) % s.rank();
      s[other] = dice.below(s[other] + 1);
      index = slice(index, other, 0, s[other]);
    }
    if (s.rank() > 1) index = transpose(transpose(index, 0, -1).clone(), 0, -1);
    Tensor y = gather(x, axis, index);
    REQUIRE(y.shape() == s);
    Tensor source = random_tensor(s, t, dice.source());
    Tensor z = scatter_add(x, axis - x.rank(), index, source);
    std::vector<double> expected = elements(x);
    for (Index i = 0; i < index.numel(); ++i, ++checked) {
      auto from = static_cast<std::size_t>(
          moved(i, s, x.shape(), axis, static_cast<Index>(element(index, i))));
      REQUIRE(element(y, i) == element(x, static_cast<Index>(from)));
      expected[from] += element(source, i);
      if (t == F32) expected[from] = static_cast<float>(expected[from]);
    }
    REQUIRE(elements(z) == expected);
  });
  CHECK(checked > 500);
  CHECK(elements(gather(tensor({0, 1}, B), 0, ids({1, 0, 1}))) == std::vector<double>{1, 0, 1});
}

TEST_CASE("index_select and index_add follow their definitions", "[index]") {
  Dice dice(13);
  int checked = 0;
  on_each_axis(dice, [&](const Tensor& x, int axis) {
    if (x.rank() > 5) return;
    Tensor index = random_integers(dice.shape(2, 4), 0, x.size(axis), {2, dice.source()});
    if (index.rank() == 2) index = transpose(index);
    Tensor y = index_select(x, axis, index);
    Tensor z = index_add(x.shape(), axis - x.rank(), index, y);
    REQUIRE(z.shape() == x.shape());
    Tensor counts = zeros({x.size(axis)}, I64);
    for (Index k = 0; k < index.numel(); ++k) {
      auto row = static_cast<Index>(element(index, k));
      Tensor flat = y;  // axes of the index as one
      Shape s;
      for (int i = 0; i < axis; ++i) s.push_back(x.shape()[i]);
      s.push_back(index.numel());
      for (int i = axis + 1; i < x.rank(); ++i) s.push_back(x.shape()[i]);
      REQUIRE(elements(select(reshape(flat, s), axis, k)) == elements(select(x, axis, row)));
      counts.data<Index>()[row] += 1;
      ++checked;
    }
    for (Index row = 0; row < x.size(axis); ++row) {
      std::vector<double> a = elements(select(z, axis, row)), b = elements(select(x, axis, row));
      for (std::size_t i = 0; i < a.size(); ++i)
        REQUIRE(std::abs(a[i] - element(counts, row) * b[i]) <= 1e-5 * (1 + std::abs(a[i])));
    }
  });
  CHECK(checked > 500);
  CHECK(elements(index_select(tensor({0, 1}, B), 0, ids({1}))) == std::vector<double>{1});
  // The embedding's lookup: (B, T) ids of a (V, D) table.
  CHECK(index_select(zeros({7, 5}), 0, zeros({2, 3}, I64)).shape() == Shape{2, 3, 5});
}

TEST_CASE("terms of equal index are added in order of position", "[index]") {
  // 1e8 + 1 + 1 ... loses the ones in float32; 1 + ... + 1 + 1e8 keeps them.
  Tensor big_first = tensor({1e8, 1, 1, 1, 1, 1, 1, 1, 1}), zero = zeros({9}, I64);
  CHECK(scatter_add(zeros({1}), 0, zero, big_first).item() == 1e8);
  CHECK(index_add({1}, 0, zero, big_first).item() == 1e8);
  Tensor index = random_integers({5000}, 0, 50, {1, 1}),
         source = random_tensor({5000, 300}, F32, 1);
  CHECK(same_for_any_threads([&] { return index_add({50, 300}, 0, index, source); }));
}

TEST_CASE("indices outside their range are named", "[index]") {
  Tensor x = zeros({3, 4});
  CHECK(error_of<IndexError>([&] {
          index_select(x, 0, ids({0, 3}));
        }) == "index_select: index 3 at position 1 is outside [0, 3)\n  index (2,) int64");
  CHECK_THROWS_AS(index_select(x, 1, ids({-1})), IndexError);
  CHECK_THROWS_AS(index_select(x, 2, ids({0})), IndexError);
  CHECK_THROWS_AS(index_select(x, 0, tensor({0})), DTypeError);
  CHECK(error_of<IndexError>([&] {
          gather(x, 1, full({3, 1}, 4, I64));
        }) == "gather: index 4 at position 0 is outside [0, 4)\n  index (3, 1) int64");
  CHECK(error_of<ShapeError>([&] {
          gather(x, 1, zeros({4, 1}, I64));
        }) ==
        "gather: index must have x's rank and be within x off axis 1\n"
        "  x (3, 4) float32\n  index (4, 1) int64");
  CHECK_THROWS_AS(gather(x, 1, zeros({3}, I64)), ShapeError);
  CHECK_THROWS_AS(scatter_add(x, 0, full({1, 4}, 3, I64), zeros({1, 4})), IndexError);
  CHECK_THROWS_AS(scatter_add(x, 0, zeros({1, 4}, I64), zeros({2, 4})), ShapeError);
  CHECK_THROWS_AS(scatter_add(x, 0, zeros({1, 4}, I64), zeros({1, 4}, F64)), ShapeError);
  CHECK_THROWS_AS(scatter_add(zeros({2}, B), 0, ids({0}), zeros({1}, B)), DTypeError);
  CHECK_THROWS_AS(index_add({3, 4}, 0, ids({3}), zeros({1, 4})), IndexError);
  CHECK(error_of<ShapeError>([&] {
          index_add({3, 4}, 0, ids({0, 1}), zeros({4, 2}));
        }) == "index_add: source does not fit (3, 4)\n  index (2,) int64\n  source (4, 2) float32");
  CHECK_THROWS_AS(index_add({3}, 0, ids({0}), zeros({1}, B)), DTypeError);
}

TEST_CASE("concatenate, stack and split", "[index]") {
  Dice dice(14);
  for (int round = 0; round < 200; ++round) {
    Tensor x = random_view(dice, static_cast<DType>(round % 4));
    for (int axis = 0; axis < x.rank(); ++axis) {
      std::vector<Index> lengths;
      for (Index left = x.size(axis); left > 0;) {
        lengths.push_back(dice.below(left + 1));
        left -= lengths.back();
      }
      if (lengths.empty()) lengths.push_back(0);
      std::vector<Tensor> parts = split(x, axis, lengths);
      REQUIRE(parts.size() == lengths.size());
      for (std::size_t i = 0; i < parts.size(); ++i) {
        REQUIRE(parts[i].size(axis) == lengths[i]);
        REQUIRE(parts[i].storage() == x.storage());
      }
      Tensor y = concatenate(parts, axis - x.rank());
      REQUIRE(y.shape() == x.shape());
      REQUIRE(elements(y) == elements(x));
      if (x.size(axis) == 0) continue;
      std::vector<Tensor> rows;
      for (Index i = 0; i < x.size(axis); ++i) rows.push_back(select(x, axis, i));
      REQUIRE(elements(stack(rows, axis)) == elements(x));
      REQUIRE(stack(rows, -1).shape().back() == x.size(axis));
    }
  }
}

TEST_CASE("errors of joining and cutting", "[index]") {
  CHECK_THROWS_AS(concatenate({}, 0), ValueError);
  CHECK_THROWS_AS(stack({}, 0), ValueError);
  CHECK(error_of<ShapeError>([] {
          concatenate({zeros({2, 3}), zeros({2, 4})}, 0);
        }) ==
        "concatenate: parts differ off axis 0\n  first (2, 3) float32\n  part (2, 4) float32");
  CHECK(error_of<DTypeError>([] {
          concatenate({zeros({2}), zeros({2}, F64)}, 0);
        }) == "concatenate: dtypes differ\n  first (2,) float32\n  part (2,) float64");
  CHECK_THROWS_AS(concatenate({zeros({2}), zeros({2, 1})}, 0), ShapeError);
  CHECK_THROWS_AS(concatenate({scalar(1)}, 0), IndexError);
  std::vector<Tensor> long_ones(9, zeros({(Index{1} << 60) - 1, 0}));
  CHECK_THROWS_AS(concatenate(long_ones, 0), ShapeError);
  CHECK(error_of<ShapeError>([] {
          stack({zeros({2}), zeros({3})}, 0);
        }) == "stack: shapes differ\n  first (2,) float32\n  part (3,) float32");
  CHECK(error_of<IndexError>([] { stack({zeros({2})}, 2); }) ==
        "stack: axis 2 is outside a tensor of rank 2");
  CHECK(error_of<ShapeError>([] {
          split(zeros({5}), 0, {2, 2});
        }) == "split: lengths add up to 4, axis 0 has 5\n  x (5,) float32");
  CHECK_THROWS_AS(split(zeros({5}), 0, {-1, 6}), ValueError);
  CHECK_THROWS_AS(split(zeros({5}), 0, {INT64_MAX, INT64_MAX, 7}), Error);
}

TEST_CASE("triangles", "[index]") {
  Dice dice(15);
  // The decisions of (64, 64) fill their block of memory: one more is a write behind it.
  for (Shape s : {Shape{4, 4}, Shape{3, 5}, Shape{5, 3}, Shape{64, 64}, Shape{2, 3, 4}, Shape{0, 3},
                  Shape{2, 0}})
    for (DType t : {F32, F64, I64, B})
      for (Index diagonal :
           {Index{-4}, Index{-1}, Index{0}, Index{1}, Index{5}, INT64_MAX, INT64_MIN}) {
        Tensor x = random_tensor(s, t, dice.source()), low = tril(x, diagonal),
               up = triu(x, diagonal);
        for (Index i = 0; i < x.numel(); ++i) {
          Index column = i % s.back(), row = i / s.back() % s[s.rank() - 2];
          REQUIRE(element(low, i) == (column - row <= diagonal ? element(x, i) : 0));
          REQUIRE(element(up, i) == (column - row >= diagonal ? element(x, i) : 0));
        }
      }
  // NaN outside the triangle is dropped, not multiplied by 0.
  CHECK(elements(tril(full({2, 2}, std::nan("")))).at(1) == 0);
  CHECK_THROWS_AS(tril(zeros({3})), ShapeError);
}

TEST_CASE("one_hot", "[index]") {
  Tensor y = one_hot(ids({2, 0}), 3);
  CHECK(y.shape() == Shape{2, 3});
  CHECK(elements(y) == std::vector<double>{0, 0, 1, 1, 0, 0});
  CHECK(one_hot(zeros({2, 0}, I64), 3, B).shape() == Shape{2, 0, 3});
  CHECK(one_hot(scalar(1, I64), 2, I64).shape() == Shape{2});
  CHECK(error_of<IndexError>([] { one_hot(ids({3}), 3); }) ==
        "one_hot: index 3 at position 0 is outside [0, 3)\n  index (1,) int64");
  CHECK_THROWS_AS(one_hot(tensor({1}), 3), DTypeError);
  CHECK_THROWS_AS(one_hot(zeros({0}, I64), -1), ShapeError);
}

TEST_CASE("sort and top_k agree with a stable sort", "[index]") {
  Dice dice(16);
  double nan = std::nan("");
  for (int round = 0; round < 200; ++round) {
    DType t = static_cast<DType>(round % 4);
    Tensor x = random_view(dice, t);
    if (round % 2 && is_floating(t) && x.numel() > 0) {  // ties and NaN
      x = x.clone();
      visit_dtype(t, [&]<class T>() {
        for (Index i = 0; i < x.numel(); ++i)
          x.data<T>()[i] =
              static_cast<T>(dice.one_in(4) ? nan : static_cast<double>(dice.below(3)));
      });
    }
    for (int axis = 0; axis < x.rank(); ++axis)
      for (bool descending : {false, true}) {
        Ordered o = sort(x, axis, descending);
        REQUIRE(o.values.shape() == x.shape());
        Index n = x.size(axis), k = n > 0 ? dice.below(n + 1) : 0;
        Ordered top = top_k(x, k, axis - x.rank());
        Tensor rows = transpose(x, axis, -1), values = transpose(o.values, axis, -1),
               indices = transpose(o.indices, axis, -1);
        for (Index r = 0; n > 0 && r < x.numel() / n; ++r) {
          std::vector<Index> at(static_cast<std::size_t>(n));
          std::iota(at.begin(), at.end(), Index{0});
          std::stable_sort(at.begin(), at.end(), [&](Index i, Index j) {
            double u = element(rows, r * n + i), v = element(rows, r * n + j);
            if (descending) std::swap(u, v);
            return std::isnan(v) ? !std::isnan(u) : u < v;
          });
          for (Index i = 0; i < n; ++i) {
            REQUIRE(element(indices, r * n + i) ==
                    static_cast<double>(at[static_cast<std::size_t>(i)]));
            double v = element(rows, r * n + at[static_cast<std::size_t>(i)]),
                   w = element(values, r * n + i);
            REQUIRE((v == w || (std::isnan(v) && std::isnan(w))));
            if (descending && i < k)
              REQUIRE(element(transpose(top.indices, axis, -1), r * k + i) ==
                      static_cast<double>(at[static_cast<std::size_t>(i)]));
          }
        }
      }
  }
}

TEST_CASE("a mask is the indices of what is true, an array for each axis", "[index]") {
  const Tensor mask = from_vector<bool>({true, false, true, false, false, true}, {2, 3});
  const std::vector<Tensor> found = nonzero(mask);
  REQUIRE(found.size() == 2);
  CHECK(found[0].to_vector<Index>() == std::vector<Index>{0, 0, 1});
  CHECK(found[1].to_vector<Index>() == std::vector<Index>{0, 2, 2});
}

TEST_CASE("order: ties, NaN, signed zeros, errors", "[index]") {
  double nan = std::nan("");
  CHECK(sort(tensor({3, nan, -1, nan, 2})).indices.to_vector<Index>() ==
        std::vector<Index>{2, 4, 0, 1, 3});
  CHECK(sort(tensor({3, nan, -1, nan, 2}), 0, true).indices.to_vector<Index>() ==
        std::vector<Index>{1, 3, 0, 4, 2});
  CHECK(sort(tensor({-0.0, 0, 0, -1})).indices.to_vector<Index>() ==
        std::vector<Index>{3, 0, 1, 2});
  CHECK(top_k(tensor({5, 7, 7, 7, 1}), 2).indices.to_vector<Index>() == std::vector<Index>{1, 2});
  CHECK(top_k(tensor({5, 7}), 0).values.shape() == Shape{0});
  CHECK(error_of<ValueError>([] { top_k(zeros({3}), 4); }) ==
        "top_k: k must be in [0, 3], got 4\n  x (3,) float32");
  CHECK(error_of<IndexError>([] { top_k(zeros({3}), 1, 1); }) ==
        "top_k: axis 1 is outside a tensor of rank 1");
  CHECK(error_of<IndexError>([] { sort(zeros({3}), 1); }) ==
        "sort: axis 1 is outside a tensor of rank 1");
  CHECK_THROWS_AS(top_k(zeros({3}), -1), ValueError);
  CHECK_THROWS_AS(sort(scalar(1)), IndexError);
  Tensor x = random_tensor({300, 200}, F32, 1);
  CHECK(same_for_any_threads([&] { return sort(x, 0).indices; }));
  CHECK(same_for_any_threads([&] { return top_k(x, 7).indices; }));
}

}  // namespace test_index

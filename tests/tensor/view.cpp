
#include "tensor/ops/index.hpp"
#include "tensor/tensor.hpp"
#include "tests/catch.hpp"
#include "tests/tensor/common.hpp"

namespace test_view {

using namespace glim;

namespace {

Tensor ramp(const Shape& shape) {
  return reshape(arange(0, static_cast<double>(numel_of(shape))), shape);
}

// A reshape without copy exists when some strides reach the same elements: those of the first
// steps along each axis are the only candidates.
bool view_exists(const Tensor& x, const Shape& shape) {
  if (x.numel() == 0) return true;
  auto address = [&](Index at) {
    Index offset = 0;
    for (int i = x.rank() - 1; i >= 0; --i) {
      offset += at % x.shape()[i] * x.strides()[i];
      at /= x.shape()[i];
    }
    return offset;
  };
  Strides row_major = contiguous_strides(shape), strides = Dims::filled(shape.rank(), 0);
  for (int i = 0; i < shape.rank(); ++i)
    if (shape[i] > 1) strides[i] = address(row_major[i]);
  for (Index at = 0; at < x.numel(); ++at) {
    Index offset = 0, rest = at;
    for (int i = shape.rank() - 1; i >= 0; --i) {
      offset += rest % shape[i] * strides[i];
      rest /= shape[i];
    }
    if (offset != address(at)) return false;
  }
  return true;
}

// All shapes of n elements up to rank 3, with some extents of 1.
std::vector<Shape> factorisations(Index n) {
  std::vector<Shape> all{{n}, {1, n}, {n, 1}};
  for (Index a = 1; a <= n; ++a)
    for (Index b = 1; b <= n / a; ++b)
      if (n % (a * b) == 0) {
        if (a * b == n) all.push_back({a, b});
        all.push_back({a, b, n / (a * b)});
      }
  if (n == 1) all.push_back({});
  return all;
}

}  // namespace

TEST_CASE("view finds a reshape without copy exactly where one exists", "[view]") {
  Dice dice(2);
  int views = 0, copies = 0;
  for (int round = 0; round < 600; ++round) {
    Tensor x = random_view(dice, DType::Int64);
    if (x.numel() == 0) continue;
    for (const Shape& shape : factorisations(x.numel())) {
      auto v = x.view(shape);
      REQUIRE(v.has_value() == view_exists(x, shape));
      Tensor y = reshape(x, shape);
      REQUIRE(y.shape() == shape);
      REQUIRE(elements(y) == elements(x));
      if (v) {
        REQUIRE(elements(*v) == elements(x));
        REQUIRE(v->storage() == x.storage());
      }
      ++(v ? views : copies);
    }
  }
  CHECK(views > 1000);
  CHECK(copies > 500);
}

TEST_CASE("reshape infers one extent and refuses the rest", "[view]") {
  Tensor x = ramp({2, 3, 4});
  CHECK(reshape(x, {-1}).shape() == Shape{24});
  CHECK(reshape(x, {4, -1}).shape() == Shape{4, 6});
  CHECK(reshape(x, {2, 3, 4, -1}).shape() == Shape{2, 3, 4, 1});
  CHECK(reshape(ramp({0, 3}), {-1, 3}).shape() == Shape{0, 3});
  CHECK(reshape(ramp({0, 3}), {5, 0}).shape() == Shape{5, 0});
  CHECK(reshape(scalar(1), {1, 1}).shape() == Shape{1, 1});
  CHECK(reshape(ones({1, 1}), {}).shape() == Shape{});
  CHECK(error_of<ShapeError>([&] {
          reshape(x, {5, -1});
        }) == "reshape: cannot view 24 elements as (5, -1)\n  x (2, 3, 4) int64");
  for (Shape s : {Shape{-1, -1}, Shape{23}, Shape{}, Shape{-2, 12}, Shape{0, -1}, Shape{24, 0},
                  Shape{INT64_MAX, INT64_MAX}, Shape{-24}, Shape{-1, -2}, Shape{-1, 2, -1}})
    CHECK(contains(error_of<ShapeError>([&] { reshape(x, s); }),
                   "reshape: cannot view 24 elements as " + to_string(s)));
  CHECK_THROWS_AS(reshape(ramp({0, 3}), {0, -1}), ShapeError);
  CHECK_THROWS_AS(reshape(ramp({0, 3}), {1}), ShapeError);
}

TEST_CASE("permute and transpose move axes", "[view]") {
  Tensor x = ramp({2, 3, 4});
  Tensor p = permute(x, {2, 0, 1});
  CHECK(p.shape() == Shape{4, 2, 3});
  for (Index i = 0; i < 2; ++i)
    for (Index j = 0; j < 3; ++j)
      for (Index k = 0; k < 4; ++k) {
        CHECK(p.at<Index>({k, i, j}) == x.at<Index>({i, j, k}));
        CHECK(transpose(x, 0, -1).at<Index>({k, j, i}) == x.at<Index>({i, j, k}));
        CHECK(transpose(x).at<Index>({i, k, j}) == x.at<Index>({i, j, k}));
      }
  CHECK(p.storage() == x.storage());
  CHECK(permute(scalar(1), {}).shape() == Shape{});
  CHECK(error_of<ShapeError>([&] {
          permute(x, {0, 1});
        }) == "permute: axes (0, 1) for rank 3\n  x (2, 3, 4) int64");
  CHECK_THROWS_AS(permute(x, {0, 1, 1}), IndexError);
  CHECK_THROWS_AS(permute(x, {0, 1, 3}), IndexError);
  CHECK_THROWS_AS(transpose(tensor({1})), IndexError);
}

TEST_CASE("slices are Python's, for every start, stop and step", "[view]") {
  Tensor x = ramp({2, 5});
  for (Index start = -7; start <= 7; ++start)
    for (Index stop = -7; stop <= 7; ++stop)
      for (Index step = 1; step <= 6; ++step) {
        std::vector<Index> expected;
        Index from = start < 0 ? std::max<Index>(start + 5, 0) : start;
        Index to = stop < 0 ? stop + 5 : std::min<Index>(stop, 5);
        for (Index i = from; i < to; i += step) expected.push_back(5 + i);
        REQUIRE(select(slice(x, 1, start, stop, step), 0, 1).to_vector<Index>() == expected);
      }
  CHECK(slice(x, -1, 0, INT64_MAX, INT64_MAX).shape() == Shape{2, 1});
  CHECK(slice(x, 1, INT64_MIN, INT64_MAX).shape() == Shape{2, 5});
  CHECK(slice(x, 0, 1, 2).storage() == x.storage());
  CHECK(error_of<ValueError>([&] { slice(x, 0, 0, 2, 0); }) ==
        "slice: step 0 is below 1\n  x (2, 5) int64");
  CHECK_THROWS_AS(slice(x, 2, 0, 1), IndexError);
}

TEST_CASE("narrow and select do not clip", "[view]") {
  Tensor x = ramp({3, 4});
  CHECK(elements(narrow(x, 1, 1, 2)) == std::vector<double>{1, 2, 5, 6, 9, 10});
  CHECK(narrow(x, 0, 3, 0).shape() == Shape{0, 4});
  CHECK(error_of<IndexError>([&] { narrow(x, 1, 3, 2); }) ==
        "narrow: 2 elements from 3 on axis 1 of extent 4\n  x (3, 4) int64");
  CHECK_THROWS_AS(narrow(x, 1, -1, 2), IndexError);
  CHECK_THROWS_AS(narrow(x, 1, 0, -1), IndexError);
  CHECK_THROWS_AS(narrow(x, 1, INT64_MAX, INT64_MAX), IndexError);
  CHECK(elements(select(x, 0, -1)) == std::vector<double>{8, 9, 10, 11});
  CHECK(elements(select(x, 1, 2)) == std::vector<double>{2, 6, 10});
  CHECK(error_of<IndexError>([&] { select(x, 0, 3); }) ==
        "select: index 3 on axis 0 of extent 3\n  x (3, 4) int64");
  CHECK_THROWS_AS(select(x, 0, -4), IndexError);
}

TEST_CASE("expand repeats without copying", "[view]") {
  Tensor x = broadcast_to(ramp({3, 1}), {2, 3, 4});
  CHECK(x.strides() == Strides{0, 1, 0});
  for (Index i = 0; i < 24; ++i) CHECK(element(x, i) == static_cast<double>(i / 4 % 3));
  CHECK(broadcast_to(scalar(2), {2, 2}).shape() == Shape{2, 2});
  CHECK(broadcast_to(ramp({1, 2}), {0, 2}).numel() == 0);
  CHECK(error_of<ShapeError>([] {
          broadcast_to(ramp({3, 2}), {3, 4});
        }) == "broadcast_to: does not broadcast to (3, 4)\n  x (3, 2) int64");
  CHECK_THROWS_AS(broadcast_to(ramp({3}), {}), ShapeError);
  CHECK_THROWS_AS(broadcast_to(ramp({1}), {INT64_MAX}), ShapeError);
  CHECK_THROWS_AS(broadcast_to(ramp({1}), {-1}), ShapeError);
}

TEST_CASE("squeeze and unsqueeze", "[view]") {
  Tensor x = ramp({2, 1, 3});
  CHECK(squeeze(x, 1).shape() == Shape{2, 3});
  CHECK(unsqueeze(x, 0).shape() == Shape{1, 2, 1, 3});
  CHECK(unsqueeze(x, -1).shape() == Shape{2, 1, 3, 1});
  CHECK(elements(squeeze(transpose(x, 0, 2), 1)) == std::vector<double>{0, 3, 1, 4, 2, 5});
  CHECK(error_of<ShapeError>([&] { squeeze(x, 0); }) ==
        "squeeze: axis 0 has extent 2\n  x (2, 1, 3) int64");
  CHECK_THROWS_AS(unsqueeze(x, 4), IndexError);
  CHECK_THROWS_AS(unsqueeze(zeros({1, 1, 1, 1, 1, 1, 1, 1}), 0), ShapeError);
}

// Each of these sums was beyond int64 somewhere: UndefinedBehaviorSanitizer sees it.
TEST_CASE("offsets and strides stay within int64", "[view]") {
  Tensor six = ramp({6});
  Tensor one = Tensor::from_storage(six.storage(), 1, {1}, {INT64_MAX}, DType::Int64);
  CHECK(slice(one, 0, 1, 2).numel() == 0);
  Tensor column =
      Tensor::from_storage(six.storage(), 0, {3, 1, 1}, {1, INT64_MAX, 1}, DType::Int64);
  CHECK(elements(gather(column, 2, zeros({3, 1, 1}, DType::Int64))) ==
        std::vector<double>{0, 1, 2});
  Tensor none =
      Tensor::from_storage(six.storage(), 5, {0, 5}, {INT64_MAX, INT64_MAX}, DType::Int64);
  CHECK(slice(none, 1, 4, 5).shape() == Shape{0, 1});
  CHECK(select(none, 1, 4).shape() == Shape{0});
  const Index most = (Index{1} << 60) - 1;
  none = zeros({0, most}, DType::Int64);
  for (int i = 0; i < 20; ++i) none = reshape(slice(none, 1, most - 1, most), {0, most});
  CHECK(none.shape() == Shape{0, most});
}

}  // namespace test_view

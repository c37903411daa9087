#include "tensor/shape.hpp"

#include "tests/catch.hpp"
#include "tests/tensor/common.hpp"

namespace test_shape {

using namespace glim;

TEST_CASE("dims are a short list", "[shape]") {
  Dims d{1, 2, 3};
  d.push_back(4);
  d.insert(0, 9);
  d.erase(1);
  CHECK(d == Dims{9, 2, 3, 4});
  CHECK_FALSE(d == Dims{9, 2, 3});
  CHECK(d.vec() == std::vector<Index>{9, 2, 3, 4});
  CHECK(d.back() == 4);
  CHECK(Dims::filled(2, 7) == Dims{7, 7});
  CHECK(to_string(Dims{}) == "()");
  CHECK(to_string(Dims{3}) == "(3,)");
  CHECK(to_string(Dims{3, 0}) == "(3, 0)");
  Dims full = Dims::filled(8, 1);
  CHECK(error_of<ShapeError>([&] { full.push_back(1); }) ==
        "shape: rank 9 exceeds the maximum of 8");
  CHECK_THROWS_AS(Dims(std::vector<Index>(9)), ShapeError);
}

TEST_CASE("products of extents are checked", "[shape]") {
  CHECK(checked_numel({}, "f") == 1);
  CHECK(checked_numel({2, 3, 4}, "f") == 24);
  CHECK(checked_numel({2, 0, 4}, "f") == 0);
  CHECK(checked_numel({Index{1} << 59}, "f") == Index{1} << 59);
  CHECK(error_of<ShapeError>([] {
          checked_numel({2, -1}, "f");
        }) == "f: negative extent in shape (2, -1)");
  CHECK_THROWS_AS(checked_numel({0, -1}, "f"), ShapeError);
  for (Shape s : {Shape{Index{1} << 60}, Shape{Index{1} << 32, Index{1} << 32}, Shape{INT64_MAX, 2},
                  Shape{Index{1} << 31, Index{1} << 31, 0, 8}, Shape{0, INT64_MAX, INT64_MAX}})
    CHECK(error_of<ShapeError>([&] { empty(s); }) ==
          "empty: shape " + to_string(s) + " has more elements than memory can address");
}

TEST_CASE("row-major strides", "[shape]") {
  CHECK(contiguous_strides({2, 3, 4}) == Strides{12, 4, 1});
  CHECK(contiguous_strides({}) == Strides{});
  CHECK(contiguous_strides({2, 0, 4}) == Strides{4, 4, 1});
}

TEST_CASE("axes count from either end", "[shape]") {
  CHECK(normalize_axis(-1, 3, "f") == 2);
  CHECK(normalize_axis(0, 3, "f") == 0);
  CHECK(error_of<IndexError>([] { normalize_axis(3, 3, "f"); }) ==
        "f: axis 3 is outside a tensor of rank 3");
  CHECK_THROWS_AS(normalize_axis(-4, 3, "f"), IndexError);
  CHECK_THROWS_AS(normalize_axis(0, 0, "f"), IndexError);
  CHECK(normalize_axes({}, 2, "f") == Dims{0, 1});
  CHECK(normalize_axes({-1, 0}, 3, "f") == Dims{0, 2});
  CHECK(error_of<IndexError>([] {
          normalize_axes({1, -1}, 2, "f");
        }) == "f: axis -1 is named twice");
}

TEST_CASE("broadcasting follows NumPy's rule", "[shape]") {
  auto both = [](const Shape& a, const Shape& b) {
    Shape ab = broadcast_shapes(a, b, "f");
    CHECK(ab == broadcast_shapes(b, a, "f"));
    return ab;
  };
  CHECK(both({2, 3}, {2, 3}) == Shape{2, 3});
  CHECK(both({2, 3}, {3}) == Shape{2, 3});
  CHECK(both({2, 1}, {1, 3}) == Shape{2, 3});
  CHECK(both({}, {4}) == Shape{4});
  CHECK(both({0, 1}, {1, 5}) == Shape{0, 5});
  CHECK(both({0}, {1}) == Shape{0});
  CHECK(error_of<ShapeError>([] {
          broadcast_shapes({2, 3}, {4, 3}, "f");
        }) == "f: shapes (2, 3) and (4, 3) do not broadcast: axis -2 has 2 and 4");
  CHECK_THROWS_AS(broadcast_shapes({0}, {2}, "f"), ShapeError);
}

}  // namespace test_shape

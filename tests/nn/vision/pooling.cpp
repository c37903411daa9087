// Pooling: torch's values, and what has no output.
#include "tests/nn/vision/common.hpp"

namespace test_pooling {

using namespace glim;

TEST_CASE("pooling equals torch's, ties as well", "[nn][reference][pool]") {
  auto make = [](const std::string& name) -> std::unique_ptr<Layer> {
    const auto& c = vision().config(name);
    Extent2 kernel = extents(c, "kernel_size", 1);
    PoolOptions o{extents(c, "stride", 0), extents(c, "padding", 0), extents(c, "dilation", 1),
                  c.value("count_include_pad", true)};
    return std::make_unique<Pool2d>(name.rfind("max", 0) == 0 ? Pool::Max : Pool::Average, kernel,
                                    o);
  };
  int seen = 0;
  in_every_form([&](DType dtype) {
    for (const char* prefix : {"max_pool", "avg_pool"})
      for (const std::string& name : vision().cases(prefix)) {
        check_case(vision(), name, *make(name), dtype, tolerance_of(dtype));
        ++seen;
      }
  });
  CHECK(seen == 4 * 6);
}

TEST_CASE("pools refuse what gives no output", "[nn][pool]") {
  auto text = [](const std::function<void()>& f) { return error_of<ShapeError>(f); };
  CHECK(contains(text([&] {
                   Pool2d(Pool::Max, 4)(Var(zeros({1, 1, 3, 9})));
                 }),
                 "pool: no window of 4"));
  CHECK(contains(text([&] {
                   Pool2d(Pool::Average, 2)(Var(zeros({1, 3, 3})));
                 }),
                 "x must be (B, C, H, W)"));
  CHECK_THROWS_AS(Pool2d(Pool::Max, 3, {.padding = 2}), ValueError);
  CHECK_THROWS_AS(Pool2d(Pool::Average, 0), ValueError);
  CHECK_THROWS_AS(Pool2d(Pool::Average, 2, {.stride = -1}), ValueError);
}

}  // namespace test_pooling

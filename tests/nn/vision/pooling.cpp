// Pooling: torch's values, and what has no output.
#include "tests/nn/vision/common.hpp"

namespace test_pooling {

using namespace glim;

TEST_CASE("pooling equals torch's, ties as well", "[nn][reference][pool]") {
  auto make = [](const std::string& name) -> std::unique_ptr<Layer> {
    const auto& c = vision().config(name);
    if (name == "adaptive_avg_pool1d") return std::make_unique<AdaptiveAvgPool1d>();
    if (name == "adaptive_avg_pool2d") return std::make_unique<AdaptiveAvgPool2d>();
    Extent2 kernel = extents(c, "kernel_size", 1);
    MaxPoolOptions max;
    AvgPoolOptions average;
    max.stride = average.stride = extents(c, "stride", 0);
    max.padding = average.padding = extents(c, "padding", 0);
    max.dilation = extents(c, "dilation", 1);
    average.count_include_pad = c.value("count_include_pad", true);
    bool image = name.find("2d") != std::string::npos;
    if (name.rfind("max", 0) == 0) {
      if (image) return std::make_unique<MaxPool2d>(kernel, max);
      return std::make_unique<MaxPool1d>(kernel.rows, max);
    }
    if (image) return std::make_unique<AvgPool2d>(kernel, average);
    return std::make_unique<AvgPool1d>(kernel.rows, average);
  };
  int seen = 0;
  in_every_form([&](DType dtype) {
    for (const char* prefix : {"max_pool", "avg_pool", "adaptive"})
      for (const std::string& name : vision().cases(prefix)) {
        check_case(vision(), name, *make(name), dtype, tolerance_of(dtype));
        ++seen;
      }
  });
  CHECK(seen == 4 * 12);
}

TEST_CASE("pools refuse what gives no output", "[nn][pool]") {
  auto text = [](const std::function<void()>& f) { return error_of<ShapeError>(f); };
  CHECK(contains(text([&] { MaxPool1d(4)(Var(zeros({1, 1, 3}))); }), "pool: no window of 4"));
  CHECK(contains(text([&] { AvgPool2d(2)(Var(zeros({1, 3, 3}))); }), "x must be (B, C, H, W)"));
  CHECK(contains(text([&] { AdaptiveAvgPool1d()(Var(zeros({1, 3, 0}))); }), "T at least 1"));
  CHECK_THROWS_AS(MaxPool2d(3, {.padding = 2}), ValueError);
  CHECK_THROWS_AS(AvgPool1d(0), ValueError);
  CHECK_THROWS_AS(AvgPool1d(2, {.stride = -1}), ValueError);
}

}  // namespace test_pooling

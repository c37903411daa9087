// Convolutions: torch's values, and facts.
#include "tests/nn/vision/common.hpp"

namespace test_conv {

using namespace glim;

TEST_CASE("convolutions equal torch's", "[nn][reference][conv]") {
  in_every_form([](DType dtype) {
    for (const std::string& name : vision().cases("conv1d")) {
      const auto& c = vision().config(name);
      Tensor w = vision().get(name + ".param.weight");
      Conv1dOptions o;
      o.stride = c.value("stride", 1);
      o.dilation = c.value("dilation", 1);
      o.groups = c.value("groups", 1);
      o.bias = vision().has(name + ".param.bias");
      if (c.contains("padding") && c.at("padding") == "same")
        o.mode = ConvPadding::Same;
      else
        o.padding = c.value("padding", 0);
      Conv1d conv(w.size(1) * o.groups, w.size(0), w.size(2), o);
      check_case(vision(), name, conv, dtype, 5 * tolerance_of(dtype));
    }
    for (const std::string& name : vision().cases("conv2d")) {
      const auto& c = vision().config(name);
      Tensor w = vision().get(name + ".param.weight");
      Conv2dOptions o;
      o.stride = extents(c, "stride", 1);
      o.padding = extents(c, "padding", 0);
      o.dilation = extents(c, "dilation", 1);
      o.groups = c.value("groups", 1);
      o.bias = vision().has(name + ".param.bias");
      Conv2d conv(w.size(1) * o.groups, w.size(0), {w.size(2), w.size(3)}, o);
      check_case(vision(), name, conv, dtype, 5 * tolerance_of(dtype));
    }
  });
  CHECK(vision().cases("conv").size() == 18);
}

TEST_CASE("padding of sequences: the same length, and nothing from the future", "[nn][conv]") {
  for (Index kernel : {1, 2, 3, 5})
    for (Index dilation : {1, 2}) {
      Conv1d same(2, 3, kernel, {.dilation = dilation, .mode = ConvPadding::Same});
      Conv1d causal(2, 3, kernel, {.dilation = dilation, .mode = ConvPadding::Causal});
      Var x = Var::leaf(normal({1, 2, 7}, 0, 1, {61, 6}));
      CHECK(same(x).shape() == Shape{1, 3, 7});
      for (Index t = 0; t < 7; ++t) {
        x.zero_grad();
        Tape tape;
        tape.backward(sum(select(causal(x), 2, t)));
        for (Index s = 0; s < 7; ++s) {
          bool seen = s <= t && (t - s) % dilation == 0 && (t - s) / dilation < kernel;
          CHECK((x.grad().at<float>({0, 0, s}) != 0) == seen);
        }
      }
    }
  // One window alone, as decoding step by step has it.
  Conv1d conv(2, 3, 3, {.dilation = 2, .mode = ConvPadding::Causal});
  Var x(normal({1, 2, 7}, 0, 1, {61, 7}));
  CHECK(close(conv.forward_window(narrow(x, 2, 1, 5)).value(), narrow(conv(x).value(), 2, 5, 1),
              1e-6));
  CHECK_THROWS_AS(conv.forward_window(x), ShapeError);
  CHECK_THROWS_AS(Conv1d(2, 2, 3, {.stride = 2, .mode = ConvPadding::Same}), ValueError);
  CHECK_THROWS_AS(Conv1d(2, 2, 3, {.padding = 1, .mode = ConvPadding::Causal}), ValueError);
}

TEST_CASE("each group of a convolution is a convolution of its own", "[nn][conv]") {
  Conv2d conv(6, 9, {2, 3}, {.padding = {0, 1}, .groups = 3});
  Var x = Var::leaf(draw({2, 6, 4, 5}, 8).to(DType::Float32));
  std::vector<Tensor> parts;
  for (Index g = 0; g < 3; ++g) {
    Conv2d one(2, 3, {2, 3}, {.padding = {0, 1}});
    one.weight = narrow(conv.weight.value(), 0, 3 * g, 3);
    one.bias = narrow(conv.bias.value(), 0, 3 * g, 3);
    parts.push_back(one(narrow(x, 1, 2 * g, 2)).value());
  }
  CHECK(conv.weight.shape() == Shape{9, 2, 2, 3});
  CHECK(conv.groups() == 3);
  CHECK(close(conv(x).value(), concatenate(parts, 1), 1e-6));
  // ±1/√(C/G · k), as torch's.
  CHECK(max(abs(conv.weight.value())).item() <= 1 / std::sqrt(12.0));
  CHECK(max(abs(conv.weight.value())).item() > 0.9 / std::sqrt(12.0));
  // One window alone.
  Conv1d causal(4, 4, 3, {.dilation = 2, .mode = ConvPadding::Causal, .groups = 4});
  Var t(normal({1, 4, 7}, 0, 1, {61, 9}));
  CHECK(close(causal.forward_window(narrow(t, 2, 1, 5)).value(), narrow(causal(t).value(), 2, 5, 1),
              1e-6));
  CHECK(conv(Var(zeros({0, 6, 4, 5}))).shape() == Shape{0, 9, 3, 5});
  for (Index groups : {0, -1, 2, 4})
    CHECK(contains(error_of<ValueError>([&] { Conv1d(6, 9, 3, {.groups = groups}); }),
                   std::to_string(groups) + " groups do not divide 6 input and 9 output channels"));
  CHECK(contains(error_of<ShapeError>([&] { conv(Var(zeros({1, 2, 4, 5}))); }), "(B, 6, H, W)"));
}

TEST_CASE("convolutions start as torch's do", "[nn][conv]") {
  Conv2d conv(3, 40, 3);
  double bound = 1 / std::sqrt(3.0 * 9);  // kaiming_uniform with slope √5: 1/√fan_in
  Tensor w = conv.weight.value(), b = conv.bias.value();
  CHECK(w.shape() == Shape{40, 3, 3, 3});
  CHECK(max(abs(w)).item() <= bound);
  CHECK(max(abs(w)).item() > 0.97 * bound);
  CHECK(max(abs(b)).item() <= bound);
  CHECK(max(abs(b)).item() > 0.8 * bound);
  CHECK(mean(mul(w, w)).item() == Approx(bound * bound / 3).epsilon(0.1));
  CHECK(conv.named_parameters().size() == 2);
}

TEST_CASE("convolutions refuse what gives no output", "[nn][conv]") {
  auto text = [](const std::function<void()>& f) { return error_of<ShapeError>(f); };
  Scope scope("stem");
  Conv2d conv(3, 4, 5);
  CHECK(contains(text([&] {
                   conv(Var(zeros({1, 3, 4, 9})));
                 }),
                 "conv: no window of 5 fits into 4 positions with 0 of padding"));
  CHECK(contains(text([&] { conv(Var(zeros({1, 3, 9, 4}))); }), "stem"));
  CHECK(contains(text([&] { conv(Var(zeros({1, 2, 9, 9}))); }), "x must be (B, 3, H, W)"));
  CHECK(contains(text([&] { conv(Var(zeros({3, 9, 9}))); }), "(3, 9, 9) float32"));
  Conv1d dilated(2, 2, 3, {.padding = 1, .dilation = 4});
  CHECK(contains(text([&] { dilated(Var(zeros({1, 2, 6}))); }), "no window of 9"));
  CHECK(dilated(Var(zeros({1, 2, 7}))).shape() == Shape{1, 2, 1});
  CHECK_THROWS_AS(conv(Var(zeros({1, 3, 9, 9}, DType::Int64))), DTypeError);
  CHECK_THROWS_AS(Conv2d(3, 4, 0), ValueError);
  CHECK_THROWS_AS(Conv2d(3, 4, 3, {.stride = 0}), ValueError);
  CHECK_THROWS_AS(Conv2d(3, 4, 3, {.dilation = {1, 0}}), ValueError);
  CHECK_THROWS_AS(Conv2d(3, 4, 3, {.padding = -1}), ValueError);
  CHECK_THROWS_AS(Conv1d(0, 4, 3), ValueError);
  // Sizes near the end of the integers are refused, not wrapped.
  Window huge{.kernel = Index{1} << 40};
  CHECK_THROWS_AS(unfold(zeros({1, 2, 2, 1}), huge, Window{}), ValueError);
  CHECK_THROWS_AS(fold(zeros({1, 2, 2, 1, 1, 1}), 3, 2, Window{}, Window{}), ShapeError);
  // Images without elements are fine.
  CHECK(conv(Var(zeros({0, 3, 6, 6}))).shape() == Shape{0, 4, 2, 2});
}

TEST_CASE("unfold reads what its definition says, far into the padding too", "[nn][conv]") {
  Tensor x = draw({1, 1, 4, 1}, 12);
  const auto values = x.to_vector<double>();
  const Window one;
  for (Index kernel : {1, 2, 3})
    for (Index stride : {1, 2})
      for (Index dilation : {1, 2, 3})
        for (Index before : {0, 1, 7})
          for (Index after : {0, 1, 7}) {
            Window w{kernel, stride, dilation, before, after};
            INFO(kernel << ' ' << stride << ' ' << dilation << ' ' << before << ' ' << after);
            CHECK(w.is_identity() == (kernel * stride == 1 && before + after == 0));
            if (4 + before + after < w.span()) continue;
            const auto y = unfold(x, one, w, -9).to_vector<double>();
            std::vector<double> expected;
            for (Index q = 0; q * stride + w.span() <= 4 + before + after; ++q)
              for (Index j = 0; j < kernel; ++j) {
                const Index at = q * stride + j * dilation - before;
                expected.push_back(at >= 0 && at < 4 ? values[static_cast<std::size_t>(at)] : -9);
              }
            CHECK(y == expected);
          }
  CHECK(unfold(full({1, 1, 1, 1}, 3), one, one).item() == 3);
  // 1024 elements fill their block of memory: one more is a write behind it.
  for (Index kernel : {3, 1024}) {
    std::vector<float> last(static_cast<std::size_t>(kernel));
    last.back() = 3;
    const Window w{.kernel = kernel, .before = kernel - 1};
    CHECK(unfold(full({1, 1, 1, 1}, 3), one, w).to_vector<float>() == last);
  }
}

TEST_CASE("fold is the adjoint of unfold", "[nn][conv]") {
  Window rows{.kernel = 3, .stride = 2, .before = 1, .after = 2},
      columns{.kernel = 2, .dilation = 3};
  Tensor x = draw({2, 6, 7, 3}, 7);
  Tensor windows = unfold(x, rows, columns);
  Tensor y = draw(windows.shape(), 8);
  CHECK(dot(windows, y) == Approx(dot(x, fold(y, 6, 7, rows, columns))).epsilon(1e-12));
  // Without overlap they are each other's reverse: patches.
  Window patch{.kernel = 2, .stride = 2};
  Tensor image = draw({1, 4, 6, 2}, 9);
  CHECK(same_bits(fold(unfold(image, patch, patch), 4, 6, patch, patch), image));
}

}  // namespace test_conv

// RMS norm, convolutions, pooling and positions within attention: torch's values, and facts.
#include "nn/vision/conv.hpp"

#include <cmath>

#include "nn/activation.hpp"
#include "nn/attention/multihead.hpp"
#include "nn/attention/positions.hpp"
#include "nn/init.hpp"
#include "nn/linear.hpp"
#include "nn/rms_norm.hpp"
#include "nn/vision/pooling.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tensor/parallel.hpp"
#include "tests/catch.hpp"
#include "tests/nn/check_case.hpp"

namespace test_vision {

using namespace glim;

namespace {

const Reference& vision() {
  static const Reference ref("vision");
  return ref;
}

// torch's options of a case: one number, or one for rows and columns.
Extent2 extents(const nlohmann::json& c, const char* key, Index otherwise) {
  if (!c.contains(key)) return otherwise;
  const auto& v = c.at(key);
  return v.is_array() ? Extent2(v[0].get<Index>(), v[1].get<Index>()) : Extent2(v.get<Index>());
}

Tensor draw(const Shape& shape, std::uint64_t stream) {
  return normal(shape, 0, 1, {61, stream}, DType::Float64);
}

}  // namespace

TEST_CASE("RMS norm equals torch's", "[nn][reference]") {
  in_every_form([](DType dtype) {
    for (std::string tag : {"", "_eps1e-3"}) {
      auto eps = tag.empty() ? std::optional<double>() : 1e-3;
      RMSNorm norm(6, eps), bare(6, eps, false);
      check_case(vision(), "rms_norm" + tag, norm, dtype, tolerance_of(dtype));
      check_case(vision(), "rms_norm_no_affine" + tag, bare, dtype, tolerance_of(dtype));
    }
  });
  RMSNorm norm(4);
  norm.to(DType::Float64);
  // Scaling x does not change y; a shift does, unlike with layer norm.
  Tensor x = draw({3, 4}, 1);
  Tensor y = norm(Var(x)).value();
  CHECK(distance(norm(Var(mul(x, 1000))).value(), y) < 1e-12);
  CHECK(distance(norm(Var(add(x, 1))).value(), y) > 0.1);
  CHECK_THROWS_AS(norm(Var(draw({3, 5}, 2))), ShapeError);
  CHECK_THROWS_AS(RMSNorm(0), ValueError);
}

TEST_CASE("GLU equals torch's", "[nn][reference]") {
  in_every_form([](DType dtype) {
    for (Index axis : {1, -1}) {
      GLU gate(axis);
      check_case(vision(), "glu_axis" + std::to_string(axis), gate, dtype, tolerance_of(dtype));
    }
  });
  CHECK_THROWS_AS(glu(Var(draw({2, 3}, 1))), ShapeError);
  CHECK_THROWS_AS(glu(Var(draw({2, 3}, 1)), 2), IndexError);
}

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
  CHECK(vision().cases("conv").size() >= 16);
}

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

TEST_CASE("a convolution by its definition, for strided and transposed inputs", "[nn][conv]") {
  Conv2d conv(2, 3, {3, 2}, {.stride = {1, 2}, .padding = {2, 1}, .dilation = {2, 1}});
  conv.to(DType::Float64);
  Tensor plain = draw({2, 2, 5, 6}, 3), w = conv.weight.value(), bias = conv.bias.value();
  Tensor wide = draw({2, 5, 13, 2}, 4);
  for (const Tensor& x : {plain, plain.transpose(2, 3).clone().transpose(2, 3),
                          wide.slice(2, 0, 12, 2).permute({0, 3, 1, 2})}) {
    Tensor y = conv(Var(x)).value();
    REQUIRE(y.shape() == Shape{2, 3, 5, 4});
    double far = 0;
    for (Index b = 0; b < 2; ++b)
      for (Index o = 0; o < 3; ++o)
        for (Index h = 0; h < 5; ++h)
          for (Index v = 0; v < 4; ++v) {
            double sum = bias.at<double>({o});
            for (Index c = 0; c < 2; ++c)
              for (Index i = 0; i < 3; ++i)
                for (Index j = 0; j < 2; ++j) {
                  Index row = h + 2 * i - 2, column = 2 * v + j - 1;
                  if (row >= 0 && row < 5 && column >= 0 && column < 6)
                    sum += w.at<double>({o, c, i, j}) * x.at<double>({b, c, row, column});
                }
            far = std::max(far, std::abs(sum - y.at<double>({b, o, h, v})));
          }
    CHECK(far < 1e-13);
  }
}

TEST_CASE("a convolution has the same bits for any number of threads", "[nn][conv]") {
  Conv2d conv(5, 7, 3, {.padding = 1});
  MaxPool2d pool(2);
  Var x = Var::leaf(normal({4, 5, 30, 31}, 0, 1, {61, 5}));
  std::vector<Tensor> first;
  int before = num_threads();
  for (int threads : {1, 2, 5}) {
    set_num_threads(threads);
    conv.zero_grad();
    x.zero_grad();
    Tape tape;
    Var y = pool(conv(x));
    tape.backward(sum(mul(y, y)));
    std::vector<Tensor> got{y.value().clone(), x.grad(), conv.weight.grad(), conv.bias.grad()};
    if (first.empty()) first = got;
    for (std::size_t i = 0; i < got.size(); ++i)
      CHECK(same_bits(got[i].contiguous(), first[i].contiguous()));
  }
  set_num_threads(before);
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
  CHECK(close(conv.forward_window(narrow(x, 2, 1, 5)).value(), conv(x).value().narrow(2, 5, 1),
              1e-6));
  CHECK_THROWS_AS(conv.forward_window(x), ShapeError);
  CHECK_THROWS_AS(Conv1d(2, 2, 3, {.stride = 2, .mode = ConvPadding::Same}), ValueError);
  CHECK_THROWS_AS(Conv1d(2, 2, 3, {.padding = 1, .mode = ConvPadding::Causal}), ValueError);
}

TEST_CASE("convolutions start as torch's do", "[nn][conv]") {
  Conv2d conv(6, 40, 3, {.groups = 2});
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

TEST_CASE("convolutions and pools refuse what gives no output", "[nn][conv][pool]") {
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
  CHECK(contains(text([&] { MaxPool1d(4)(Var(zeros({1, 1, 3}))); }), "pool: no window of 4"));
  CHECK(contains(text([&] { AvgPool2d(2)(Var(zeros({1, 3, 3}))); }), "x must be (B, C, H, W)"));
  CHECK(contains(text([&] { AdaptiveAvgPool1d()(Var(zeros({1, 3, 0}))); }), "T 1 at least"));
  CHECK_THROWS_AS(conv(Var(zeros({1, 3, 9, 9}, DType::Int64))), DTypeError);
  CHECK_THROWS_AS(Conv2d(3, 4, 0), ValueError);
  CHECK_THROWS_AS(Conv2d(3, 4, 3, {.stride = 0}), ValueError);
  CHECK_THROWS_AS(Conv2d(3, 4, 3, {.dilation = {1, 0}}), ValueError);
  CHECK_THROWS_AS(Conv2d(3, 4, 3, {.padding = -1}), ValueError);
  CHECK_THROWS_AS(Conv2d(3, 4, 3, {.groups = 2}), ValueError);
  CHECK_THROWS_AS(Conv2d(4, 6, 3, {.groups = 0}), ValueError);
  CHECK_THROWS_AS(Conv1d(0, 4, 3), ValueError);
  CHECK_THROWS_AS(MaxPool2d(3, {.padding = 2}), ValueError);
  CHECK_THROWS_AS(AvgPool1d(0), ValueError);
  CHECK_THROWS_AS(AvgPool1d(2, {.stride = -1}), ValueError);
  // Sizes near the end of the integers are refused, not wrapped.
  Window huge{.kernel = Index{1} << 40};
  CHECK_THROWS_AS(unfold(zeros({1, 2, 2, 1}), huge, Window{}), ValueError);
  CHECK_THROWS_AS(fold(zeros({1, 2, 2, 1, 1, 1}), 3, 2, Window{}, Window{}), ShapeError);
  // Images without elements are fine.
  CHECK(conv(Var(zeros({0, 3, 6, 6}))).shape() == Shape{0, 4, 2, 2});
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

TEST_CASE("rotary positions and ALiBi equal their equations", "[nn][reference][positions]") {
  in_every_form([](DType dtype) {
    for (std::string name : {"rotary", "rotary_offset"}) {
      const auto& c = vision().config(name);
      RotaryPositions rotary(vision().get(name + ".x").size(-1), c.at("base"));
      check_case(
          vision(), name, rotary, dtype,
          [&](const Var& x) { return rotary.forward(x, c.at("offset")); }, 5 * tolerance_of(dtype));
    }
    for (const std::string& name : vision().cases("attention_")) {
      const auto& c = vision().config(name);
      AttentionOptions o;
      o.positions = c.at("kind") == "rotary" ? RelativePositions::Rotary : RelativePositions::Alibi;
      MultiheadAttention attention(8, 2, o);
      AttentionRequest r;
      r.causal = c.at("causal");
      check_case(
          vision(), name, attention, dtype, [&](const Var& x) { return attention.forward(x, r).y; },
          5 * tolerance_of(dtype));
      Var x(vision().get(name + ".x", dtype));
      CHECK(distance(attention.forward(x, x, x, r).y.value(), vision().get(name + ".y")) <=
            5 * tolerance_of(dtype));
      CHECK(distance(attention.forward_head_by_head(x, x, x, r).value(),
                     vision().get(name + ".y")) <= 5 * tolerance_of(dtype));
    }
  });
  for (const std::string& name : vision().cases("alibi_slopes"))
    CHECK(close(alibi_slopes(vision().config(name).at("heads")), vision().get(name + ".y"), 1e-15));
  // The paper's: 1/2, 1/4, ... 1/256 for 8 heads.
  CHECK(alibi_slopes(8).at<double>({0}) == 0.5);
  CHECK(alibi_slopes(8).at<double>({7}) == 1.0 / 256);
}

TEST_CASE("rotary scores depend on the distance alone", "[nn][positions]") {
  RotaryPositions rotary(6);
  Var q(draw({1, 6}, 10)), k(draw({1, 6}, 11));
  auto score = [&](Index m, Index n) {
    return matmul(rotary.forward(q, m), transpose(rotary.forward(k, n))).item();
  };
  CHECK(score(5, 2) == Approx(score(3, 0)).epsilon(1e-12));
  CHECK(score(1000, 997) == Approx(score(3, 0)).epsilon(1e-10));
  CHECK(std::abs(score(5, 2) - score(5, 3)) > 1e-3);
  // Position 0 is not turned, and no length changes.
  CHECK(same_bits(rotary.forward(q, 0).value(), q.value()));
  CHECK(dot(q.value(), q.value()) ==
        Approx(dot(rotary.forward(q, 77).value(), rotary.forward(q, 77).value())));
  CHECK_THROWS_AS(RotaryPositions(5), ValueError);
  CHECK_THROWS_AS(RotaryPositions(4, 0), ValueError);
  CHECK_THROWS_AS(rotary.forward(q, -1), ValueError);
  CHECK_THROWS_AS(rotary.forward(Var(draw({1, 4}, 1))), ShapeError);
  CHECK_THROWS_AS(MultiheadAttention(6, 2, {.positions = RelativePositions::Rotary}), ValueError);
  CHECK_THROWS_AS(rotate_pairs(q, zeros({1, 3}), zeros({1, 3})), DTypeError);
  CHECK_THROWS_AS(rotate_pairs(q, draw({2, 3}, 1), draw({2, 3}, 1)), ShapeError);
}

TEST_CASE("attention with relative positions: cached equals uncached", "[nn][positions]") {
  for (RelativePositions p : {RelativePositions::Rotary, RelativePositions::Alibi}) {
    MultiheadAttention attention(8, 2, {.positions = p});
    attention.to(DType::Float64);
    Var x(draw({2, 7, 8}, 12));
    AttentionRequest causal;
    causal.causal = true;
    Tensor whole = attention.forward(x, causal).y.value();
    KeyValueCache cache;
    Index done = 0;
    for (Index n : {3, 1, 1, 2}) {  // a prompt, then steps
      Tensor y = attention.forward_cached(narrow(x, 1, done, n), cache, causal).y.value();
      CHECK(close(y, whole.narrow(1, done, n), 1e-13));
      done += n;
    }
    // Seven times the same token: only positions can tell them apart.
    AttentionRequest weights;
    weights.need_weights = true;
    Var same = broadcast_to(narrow(x, 1, 0, 1), {2, 7, 8});
    Tensor w = attention.forward(same, weights).weights.value();
    CHECK(std::abs(w.at<double>({0, 0, 0}) - w.at<double>({0, 0, 6})) > 1e-3);
    CHECK_THROWS_AS(attention.project(x), ValueError);
  }
}

}  // namespace test_vision

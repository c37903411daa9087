// Layers against torch's, and facts about them.
#include <cmath>

#include "nn/activation.hpp"
#include "nn/dropout.hpp"
#include "nn/embedding.hpp"
#include "nn/feed_forward.hpp"
#include "nn/layer_norm.hpp"
#include "nn/linear.hpp"
#include "nn/residual.hpp"
#include "nn/rms_norm.hpp"
#include "nn/vision/batch_norm.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tests/catch.hpp"
#include "tests/nn/check_case.hpp"

namespace test_layers {

using namespace glim;

namespace {

const Reference& layers() { return stored("layers"); }

Tensor random64(const Shape& shape, std::uint64_t stream) {
  return normal(shape, 0, 1, {61, stream}, DType::Float64);
}

}  // namespace

TEST_CASE("linear layers equal torch's", "[nn][reference]") {
  in_every_form([](DType dtype) {
    Linear with(4, 5), without(4, 5, false);
    check_case(layers(), "linear", with, dtype, tolerance_of(dtype));
    with.zero_grad();
    check_case(layers(), "linear_vector", with, dtype, tolerance_of(dtype));
    check_case(layers(), "linear_no_bias", without, dtype, tolerance_of(dtype));
  });
}

TEST_CASE("embeddings equal torch's", "[nn][reference]") {
  in_every_form([](DType dtype) {
    Embedding plain(7, 3);
    check_case(
        layers(), "embedding", plain, dtype,
        [&](const Var&) { return plain(layers().get("embedding.ids")); }, tolerance_of(dtype));
  });
}

TEST_CASE("what an embedding refuses", "[nn]") {
  Embedding table(5, 3);
  CHECK_THROWS_AS(table(from_vector<Index>({0, 5}, {2})), IndexError);
  CHECK_THROWS_AS(table(zeros({2})), DTypeError);
}

TEST_CASE("layer norm equals torch's", "[nn][reference]") {
  in_every_form([](DType dtype) {
    double tolerance = tolerance_of(dtype);
    LayerNorm norm(6), fine(6, 1e-6), bare(6, 1e-5, false), scaled(6, 1e-5, true, false);
    check_case(layers(), "layer_norm", norm, dtype, tolerance);
    check_case(layers(), "layer_norm_eps1e-6", fine, dtype, tolerance);
    check_case(layers(), "layer_norm_no_affine", bare, dtype, tolerance);
    check_case(layers(), "layer_norm_no_bias", scaled, dtype, tolerance);
    LayerNorm constant(6);
    // Rows without variance divide by √ε, which multiplies rounding errors by 300.
    check_case(layers(), "layer_norm_constant", constant, dtype, 300 * tolerance);
    LayerNorm offset(6);
    check_case(layers(), "layer_norm_offset", offset, dtype, 100 * tolerance);
  });
  LayerNorm norm(6);
  Scope scope("encoder");
  std::string text = error_of<ShapeError>([&] { norm(Var(zeros({2, 1}))); });
  CHECK(contains(text, "(2, 1)"));
  CHECK(contains(text, "encoder"));
}

TEST_CASE("batch norm equals torch's, and its running statistics", "[nn][reference]") {
  in_every_form([](DType dtype) {
    for (std::string name : {"batch_norm", "batch_norm_sequence"}) {
      for (bool training : {true, false}) {
        std::string full_name = name + (training ? "" : "_eval");
        BatchNorm norm(3);
        norm.to(dtype);
        norm.train(training);
        norm.running_mean.copy_(layers().get(full_name + ".running_mean", dtype));
        norm.running_var.copy_(layers().get(full_name + ".running_var", dtype));
        check_case(layers(), full_name, norm, dtype, tolerance_of(dtype));
        INFO(full_name);
        CHECK(distance(norm.running_mean, layers().get(full_name + ".running_mean_after")) <=
              tolerance_of(dtype));
        CHECK(distance(norm.running_var, layers().get(full_name + ".running_var_after")) <=
              tolerance_of(dtype));
        CHECK(norm.num_batches_tracked.item() == (training ? 1 : 0));
      }
    }
  });
  BatchNorm norm(3);
  CHECK_THROWS_AS(norm(Var(zeros({1, 3}))), ValueError);
  CHECK_THROWS_AS(norm(Var(zeros({4, 2}))), ShapeError);
  norm.eval();
  CHECK(norm(Var(zeros({1, 3}))).shape() == Shape{1, 3});
}

TEST_CASE("layer norm and batch norm on one tensor", "[nn]") {
  // Three sentences (rows) of two features.
  Tensor x = from_vector<double>({1, 3, 2, 8, 6, 4}, {3, 2});
  LayerNorm layer(2, 1e-12);
  BatchNorm batch(2, 1e-12);
  layer.to(DType::Float64);
  batch.to(DType::Float64);
  Tensor by_row = layer(Var(x)).value(), by_column = batch(Var(x)).value();
  // Layer norm: mean 0 and variance 1 in each row; batch norm: in each column.
  CHECK(close(mean(by_row, {1}), zeros({3}, DType::Float64), 1e-9));
  CHECK(close(var(by_row, {1}, 0), ones({3}, DType::Float64), 1e-9));
  CHECK(close(mean(by_column, {0}), zeros({2}, DType::Float64), 1e-9));
  CHECK(close(var(by_column, {0}, 0), ones({2}, DType::Float64), 1e-9));
  CHECK(distance(by_row, by_column) > 0.1);
  // Another third row changes the first row's batch norm, not its layer norm.
  Tensor other = x.clone();
  select(other, 0, 2).fill_(-5);
  Tensor other_row = layer(Var(other)).value(), other_column = batch(Var(other)).value();
  CHECK(same_bits(select(other_row, 0, 0).contiguous(), select(by_row, 0, 0).contiguous()));
  CHECK(distance(select(other_column, 0, 0), select(by_column, 0, 0)) > 0.1);
}

TEST_CASE("activations equal torch's", "[nn][reference]") {
  in_every_form([](DType dtype) {
    double tolerance = tolerance_of(dtype);
    ReLU r;
    GELU g, t(GeluForm::Tanh);
    SiLU s;
    Tanh h;
    Sigmoid sig;
    check_case(layers(), "relu", r, dtype, tolerance);
    check_case(layers(), "gelu", g, dtype, tolerance);
    check_case(layers(), "gelu_tanh", t, dtype, tolerance);
    check_case(layers(), "silu", s, dtype, tolerance);
    check_case(layers(), "tanh", h, dtype, tolerance);
    check_case(layers(), "sigmoid", sig, dtype, tolerance);
    for (Index axis : {0, 1, 2}) {
      Softmax soft(axis);
      LogSoftmax log_soft(axis);
      check_case(layers(), "softmax_axis" + std::to_string(axis), soft, dtype, tolerance);
      check_case(layers(), "log_softmax_axis" + std::to_string(axis), log_soft, dtype, tolerance);
    }
    Softmax soft;
    LogSoftmax log_soft;
    check_case(layers(), "softmax_wide", soft, dtype, tolerance);
    check_case(layers(), "softmax_minus_infinity", soft, dtype, tolerance);
    check_case(layers(), "log_softmax_wide", log_soft, dtype, tolerance);
  });
}

TEST_CASE("dropout in training and in eval", "[nn]") {
  Dropout drop(0.25);
  Var x = Var::leaf(ones({100, 100}));
  seed(5);
  {
    Tape tape;
    Var y = drop(x);
    auto values = y.value().to_vector<float>();
    std::size_t zeros_seen = 0;
    for (float v : values) {
      if (v == 0)
        ++zeros_seen;
      else
        CHECK(v == Approx(1 / 0.75));
    }
    // 10,000 draws: 2,500 ± 5 standard deviations of 43.3
    CHECK(zeros_seen > 2283);
    CHECK(zeros_seen < 2717);
    tape.backward(sum(y));
    CHECK(same_bits(x.grad(), y.value()));  // x is 1, so y is the mask itself
    CHECK_FALSE(same_bits(drop(x).value(), y.value()));
  }
  seed(5);
  Tensor again = drop(x).value();
  CHECK(same_bits(again, x.grad()));
  drop.eval();
  auto stream = generator().stream();
  CHECK(same_bits(drop(x).value(), x.value()));
  CHECK(generator().stream() == stream);
  CHECK_THROWS_AS(Dropout(1.5), ValueError);
  CHECK_THROWS_AS(Dropout(-0.1), ValueError);
  CHECK_THROWS_AS(Dropout(std::nan("")), ValueError);
  Dropout all(1);
  CHECK(same_bits(all(x).value(), zeros({100, 100})));
}

TEST_CASE("feed-forward equals torch's and two convolutions of kernel size 1", "[nn][reference]") {
  in_every_form([](DType dtype) {
    PositionwiseFeedForward ff(4, 7, 0);
    check_case(layers(), "feed_forward", ff, dtype, tolerance_of(dtype));
    Tensor x = layers().get("feed_forward.x", dtype);  // (B, T, D)
    CHECK(distance(ff(Var(x)).value(), layers().get("feed_forward.y_conv1d")) <=
          tolerance_of(dtype));
  });
  // The convolution as such: at each position, each output channel sums over input channels.
  PositionwiseFeedForward ff(4, 7, 0);
  ff.to(DType::Float64);
  Tensor x = layers().get("feed_forward.x");
  auto convolve = [](const std::vector<double>& in, Index channels_in, const Linear& kernel) {
    Index channels_out = kernel.weight.size(0);
    auto w = kernel.weight.value().to_vector<double>(), b = kernel.bias.value().to_vector<double>();
    std::vector<double> out;
    for (std::size_t at = 0; at < in.size(); at += static_cast<std::size_t>(channels_in))
      for (Index o = 0; o < channels_out; ++o) {
        double y = b[static_cast<std::size_t>(o)];
        for (Index i = 0; i < channels_in; ++i)
          y += w[static_cast<std::size_t>(o * channels_in + i)] *
               in[at + static_cast<std::size_t>(i)];
        out.push_back(y);
      }
    return out;
  };
  auto hidden = convolve(x.to_vector<double>(), 4, ff.linear1);
  for (double& h : hidden) h = std::max(h, 0.0);
  auto y = convolve(hidden, 7, ff.linear2);
  CHECK(close(ff(Var(x)).value(), from_vector(y, x.shape()), 1e-13));
  // And it is the same map at every position.
  std::vector<Tensor> backwards = {narrow(x, 1, 2, 1), narrow(x, 1, 1, 1), narrow(x, 1, 0, 1)};
  Tensor swapped = concatenate(backwards, 1);
  Tensor straight = ff(Var(x)).value(), turned = ff(Var(swapped)).value();
  CHECK(close(select(turned, 1, 0), select(straight, 1, 2), 1e-14));
}

TEST_CASE("residual connections, pre- and post-norm", "[nn]") {
  LayerNorm norm(6);
  norm.weight.value().copy_(normal({6}, 1, 0.1, {3, 1}));
  norm.bias.value().copy_(normal({6}, 0, 0.1, {3, 2}));
  Dropout drop(0.5);
  Linear f(6, 6);
  Var x = Var::leaf(normal({2, 3, 6}, 0, 1, {3, 3}));
  drop.eval();
  auto sublayer = [&](const Var& v) { return f(v); };
  CHECK(same_bits(residual(NormPlacement::Pre, x, &norm, drop, sublayer).value(),
                  add(x, f(norm(x))).value()));
  CHECK(same_bits(residual(NormPlacement::Post, x, &norm, drop, sublayer).value(),
                  norm(add(x, f(x))).value()));
  // Dropout acts on the sublayer's result, before the sum: dropped, x passes as it is.
  Dropout all(1);
  CHECK(same_bits(residual(NormPlacement::Pre, x, &norm, all, sublayer).value(), x.value()));
  CHECK(same_bits(residual(NormPlacement::Post, x, &norm, all, sublayer).value(), norm(x).value()));
  CHECK(same_bits(residual(NormPlacement::Post, x, nullptr, all, sublayer).value(), x.value()));
  auto narrower = [&](const Var& v) { return narrow(f(v), 2, 0, 1); };
  for (auto placement : {NormPlacement::Pre, NormPlacement::Post})
    CHECK_THROWS_AS(residual(placement, x, nullptr, drop, narrower), ShapeError);
  // With pre-norm the gradient reaches x unchanged beside what passes through f.
  Tape tape;
  Tensor dy = normal({2, 3, 6}, 0, 1, {3, 4});
  tape.backward(residual(NormPlacement::Pre, x, &norm, all, sublayer), dy);
  CHECK(same_bits(x.grad(), dy));
}

TEST_CASE("RMS norm equals torch's", "[nn][reference]") {
  in_every_form([](DType dtype) {
    for (std::string tag : {"", "_eps1e-3"}) {
      auto eps = tag.empty() ? std::optional<double>() : 1e-3;
      RMSNorm norm(6, eps), bare(6, eps, false);
      check_case(stored("vision"), "rms_norm" + tag, norm, dtype, tolerance_of(dtype));
      check_case(stored("vision"), "rms_norm_no_affine" + tag, bare, dtype, tolerance_of(dtype));
    }
  });
  RMSNorm norm(4);
  norm.to(DType::Float64);
  // Scaling x does not change y; a shift does, unlike with layer norm.
  Tensor x = random64({3, 4}, 1);
  Tensor y = norm(Var(x)).value();
  CHECK(distance(norm(Var(mul(x, 1000))).value(), y) < 1e-12);
  CHECK(distance(norm(Var(add(x, 1))).value(), y) > 0.1);
  CHECK_THROWS_AS(norm(Var(random64({3, 5}, 2))), ShapeError);
  CHECK_THROWS_AS(RMSNorm(0), ValueError);
}

TEST_CASE("GLU equals torch's", "[nn][reference]") {
  in_every_form([](DType dtype) {
    for (Index axis : {1, -1}) {
      GLU gate(axis);
      check_case(stored("vision"), "glu_axis" + std::to_string(axis), gate, dtype,
                 tolerance_of(dtype));
    }
  });
  CHECK_THROWS_AS(glu(Var(random64({2, 3}, 1))), ShapeError);
  CHECK_THROWS_AS(glu(Var(random64({2, 3}, 1)), 2), IndexError);
}

}  // namespace test_layers

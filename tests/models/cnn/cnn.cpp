// The convolutional network for images: what it computes and depends on, and sizes that make none.
#include "models/cnn/cnn.hpp"

#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tests/models/common.hpp"

namespace test_cnn {

using namespace glim;

namespace {

CnnConfig small() { return {{2, 9, 6, 4}, 5, 2, 3, 0}; }

Tensor images(Index count) { return uniform({count, 2, 9, 6}, 0, 1, {7, 7}, DType::Float64); }

}  // namespace

TEST_CASE("CNN: each layer is convolution, norm, ReLU and pooling", "[cnn]") {
  seed(3);
  Cnn model(small());
  model.to(DType::Float64);
  CHECK(model.parameter_count() == 9 * 5 * (2 + 5) + 2 * 2 * 5 + 5 * 4 + 4);
  model.pixel_mean.fill_(0.4);
  model.pixel_deviation.fill_(0.5);
  Var h(mul(add(images(3), -0.4), 2));
  for (CnnLayer& layer : model.layers) {
    const Var normed = layer.norm(layer.conv(h));
    CHECK(normed.shape() == Shape{3, 5, h.size(2), h.size(3)});
    h = layer.pool(relu(normed));
  }
  CHECK(h.shape() == Shape{3, 5, 2, 1});
  CHECK(close(model(Var(images(3))).value(), model.head(mean(h, {2, 3})).value(), 1e-12));
}

TEST_CASE("CNN: an image's logits are its own after training, and its batch's in training",
          "[cnn]") {
  seed(3);
  Cnn model(small());
  model.to(DType::Float64);
  const Tensor all = images(4);
  auto alone = [&] { return model(Var(narrow(all, 0, 1, 2))).value(); };
  auto together = [&] { return narrow(model(Var(all)).value(), 0, 1, 2); };
  CHECK(distance(alone(), together()) > 1e-3);
  model.eval();
  CHECK(close(alone(), together(), 1e-12));
}

TEST_CASE("CNN: dropout falls on the mean, in training alone", "[cnn]") {
  seed(3);
  CnnConfig c = small();
  c.dropout = 0.5;
  Cnn model(c);
  const Tensor all = images(4).to(DType::Float32);
  auto twice = [&] { return distance(model(Var(all)).value(), model(Var(all)).value()); };
  CHECK(twice() > 1e-3);
  model.eval();
  CHECK(twice() == 0);
}

TEST_CASE("CNN: sizes that make no model", "[cnn]") {
  auto refused = [](auto change, const std::string& why) {
    CnnConfig c = small();
    change(c);
    std::string text = error_of<ValueError>([&] { Cnn model(c); });
    INFO(text);
    CHECK(contains(text, why));
  };
  refused([](CnnConfig& c) { c.layers = 3; }, "images of 9 x 6 are too small for 3 layers");
  refused([](CnnConfig& c) { c.layers = 0; }, "positive");
  refused([](CnnConfig& c) { c.kernel = 2; }, "must be odd, not 2");
  refused([](CnnConfig& c) { c.kernel = 7; }, "a kernel of 7 is larger than images of 9 x 6");
  refused([](CnnConfig& c) { c.classes = 1; }, "two classes");
  refused([](CnnConfig& c) { c.channels = 0; }, "no pixels");
  refused([](CnnConfig& c) { c.dropout = 1.5; }, "dropout");
  CHECK(most_halvings({1, 28, 28, 10}) == 4);
  CHECK(most_halvings({1, 1, 28, 10}) == 0);
  Cnn model(small());
  CHECK(contains(error_of<ShapeError>([&] {
                   model(Var(zeros({1, 2, 9, 5})));
                 }),
                 "images must be (B, 2, 9, 6)"));
}

}  // namespace test_cnn

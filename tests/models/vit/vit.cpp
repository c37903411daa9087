// The Vision Transformer against PyTorch, and facts about it.
#include "models/vit/vit.hpp"

#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tests/models/common.hpp"

namespace test_vit {

using namespace glim;

namespace {

VitConfig small(Pooling pooling) {
  auto c = sized<VitConfig>(5, 8, 2, 0, 2);
  c.channels = c.patch = 2;
  c.height = 6, c.width = 4;
  c.pooling = pooling;
  return c;
}

}  // namespace

TEST_CASE("ViT: logits, loss and gradients equal PyTorch's by name", "[vit][reference]") {
  Reference ref("vision_models");
  in_every_form([&](DType dtype) {
    for (bool by_class : {true, false}) {
      std::string name = by_class ? "vit_class" : "vit_mean";
      Vit model(small(by_class ? Pooling::First : Pooling::Mean));
      check_model(ref, name, model, dtype, [&] { return model(ref.get(name + ".images", dtype)); });
    }
  });
}

TEST_CASE("patches are read as the convolution reads them", "[vit]") {
  Vit model(small(Pooling::Mean));
  model.to(DType::Float64);
  Tensor image = normal({1, 2, 6, 4}, 0, 1, {5, 1}, DType::Float64);
  Tensor embedded = model.patch_embed(Var(image)).value();
  REQUIRE(embedded.shape() == Shape{1, 8, 3, 2});
  // Patch (2, 1): rows 4, 5 and columns 2, 3 of both channels, times the weight.
  Tensor patch = narrow(narrow(image, 2, 4, 2), 3, 2, 2);
  Tensor by_hand = add(sum(mul(model.patch_embed.weight.value(), patch), {1, 2, 3}),
                       model.patch_embed.bias.value());
  CHECK(close(select(select(select(embedded, 3, 1), 2, 2), 0, 0), by_hand, 1e-12));
}

TEST_CASE("ViT: what it depends on", "[vit]") {
  Tensor images = uniform({2, 2, 6, 4}, 0, 1, {5, 2}, DType::Float64);
  for (Pooling pooling : {Pooling::First, Pooling::Mean}) {
    seed(3);
    Vit model(small(pooling));
    model.to(DType::Float64);
    Tensor y = model(Var(images)).value();
    // An image's logits are its own.
    CHECK(close(model(Var(narrow(images, 0, 1, 1))).value(), narrow(y, 0, 1, 1), 1e-12));
    // Without positions the patches are a set: swapping two of them changes nothing.
    Tensor swapped = images.clone();
    narrow(swapped, 2, 0, 2).copy_(narrow(images, 2, 4, 2));
    narrow(swapped, 2, 4, 2).copy_(narrow(images, 2, 0, 2));
    CHECK(distance(model(Var(swapped)).value(), y) > 1e-6);
    model.positions.weight.value().fill_(0);
    CHECK(close(model(Var(swapped)).value(), model(Var(images)).value(), 1e-12));
    // Brighter images with a mean that says so are the same to the model.
    model.pixel_mean.fill_(0.25);
    Tensor dark = model(Var(images)).value();
    model.pixel_mean.fill_(0.75);
    CHECK(close(model(Var(add(images, 0.5))).value(), dark, 1e-12));
  }
}

TEST_CASE("ViT: sizes that make no model", "[vit]") {
  auto refused = [](auto change, const std::string& why) {
    VitConfig c = small(Pooling::Mean);
    change(c);
    std::string text = error_of<ValueError>([&] { Vit model(c); });
    INFO(text);
    CHECK(contains(text, why));
  };
  refused([](VitConfig& c) { c.patch = 4; }, "patches of 4 x 4 do not tile an image of 6 x 4");
  refused([](VitConfig& c) { c.patch = 0; }, "do not tile");
  refused([](VitConfig& c) { c.classes = 1; }, "two classes");
  refused([](VitConfig& c) { c.heads = 3; }, "3 heads do not divide d_model 8");
  refused([](VitConfig& c) { c.channels = 0; }, "no pixels");
  refused([](VitConfig& c) { c.dropout = 1.5; }, "dropout");
  refused([](VitConfig& c) { c.layers = 0; }, "positive");
  Vit model(small(Pooling::Mean));
  CHECK(contains(error_of<ShapeError>([&] {
                   model(Var(zeros({1, 2, 6, 5})));
                 }),
                 "images must be (B, 2, 6, 4)"));
  CHECK_THROWS_AS(model(Var(zeros({2, 6, 4}))), ShapeError);
}

}  // namespace test_vit

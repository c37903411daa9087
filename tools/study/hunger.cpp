// hunger: whether a Vision Transformer needs more data than a convolutional network.
//
// Dosovitskiy et al. 2021 (arXiv 2010.11929), section 1: without much data a Vision Transformer is behind, because it
// lacks what convolutions have built in, and with more data it is not. The tutorials: self-attention is the more flexible
// model, so it needs more examples. Both learn digits that are drawn here: a font of 5 x 7 points in 12 x 12, turned
// by up to 15 degrees, shifted by up to 2 pixels, in noise. Each gets as many updates for few examples as for many.
#include "models/cnn/cnn.hpp"
#include "models/vit/vit.hpp"
#include "nn/loss.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/data/images/augment.hpp"
#include "tools/study/measures.hpp"
#include "tools/study/sequences.hpp"

namespace glim::hunger {
namespace {

constexpr Index kSide = 12;
// Of each digit, seven rows of five points.
constexpr const char* kFont[] = {
    ".###.#...##..###.#.###..##...#.###.", "..#...##....#....#....#....#...###.",
    ".###.#...#....#...#...#...#...#####", "#####...#...#.....#.....##...#.###.",
    "...#...##..#.#.#..#.#####...#....#.", "######....####.....#....##...#.###.",
    "..##..#...#....####.#...##...#.###.", "#####....#...#...#...#....#....#...",
    ".###.#...##...#.###.#...##...#.###.", ".###.#...##...#.####....#...#..##.."};

Tensor drawn(Index digit) {
  Tensor image = zeros({kSide, kSide});
  for (Index row = 0; row < 7; ++row)
    for (Index column = 0; column < 5; ++column)
      if (kFont[digit][row * 5 + column] == '#')
        image.data<float>()[(row + 2) * kSide + column + 3] = 1;
  return image;
}

}  // namespace

Digits draw_digits(Index count, RandomKey key) {
  const Tensor classes = random_integers({count}, 0, 10, key);
  std::vector<Tensor> images;
  for (Index digit : classes.to_vector<Index>()) images.push_back(drawn(digit));
  const Tensor moved = augment(reshape(stack(images, 0), {count, 1, kSide, kSide}),
                               {.shift = 2, .rotation = 15}, {key.seed, key.stream + 1});
  return {add(moved, normal(moved.shape(), 0, 0.25, {key.seed, key.stream + 2})), classes};
}

namespace {

double accuracy_of(ImageModel& model, const Digits& train_on, const Digits& held_out, Index steps) {
  const Index count = train_on.classes.numel();
  Tensor order;
  train(model, steps, 2e-3, [&](Index step) {
    constexpr Index kBatch = 50;
    const Index at = (step - 1) % (count / kBatch) * kBatch;
    if (at == 0) order = permutation(count, generator().next());
    const Tensor rows = narrow(order, 0, at, kBatch).contiguous();
    return cross_entropy(model(Var(index_select(train_on.images, 0, rows))),
                         index_select(train_on.classes, 0, rows));
  });
  const Tensor found = argmax(model(Var(held_out.images)).value(), -1);
  return mean(equal(found, held_out.classes).to(DType::Float64)).item();
}

std::unique_ptr<ImageModel> model_of(bool convolutions) {
  if (convolutions) {
    CnnConfig c;
    c.height = c.width = kSide;
    c.d_model = 32, c.layers = 3, c.dropout = 0;
    return std::make_unique<Cnn>(c);
  }
  VitConfig c;
  c.height = c.width = kSide;
  c.patch = 3, c.d_model = 32, c.d_ff = 64, c.layers = 2, c.dropout = 0;
  return std::make_unique<Vit>(c);
}

}  // namespace

Measurement measure(std::uint64_t seed, bool small) {
  const auto amounts = sizes<Index>(small, {50, 100}, {100, 300, 1000, 3000, 9000});
  const Index steps = small ? 4 : 400;
  const Digits all = draw_digits(amounts.back(), {seed, kHeldOut}),
               held_out = draw_digits(small ? 20 : 1000, {seed, kHeldOut + 3});
  Measurement m;
  std::vector<double> ahead;
  for (Index amount : amounts) {
    const Digits some{narrow(all.images, 0, 0, amount), narrow(all.classes, 0, 0, amount)};
    double accuracy[2];
    for (bool convolutions : {false, true}) {
      generator().set_state(seed, 0);
      const auto model = model_of(convolutions);
      accuracy[convolutions] = accuracy_of(*model, some, held_out, steps);
      m.curve("accuracy", convolutions ? "cnn" : "vit", static_cast<double>(amount),
              accuracy[convolutions]);
    }
    ahead.push_back(accuracy[1] - accuracy[0]);
    m.values["crossed"] += ahead.back() <= 0;
    const std::string end = amount == amounts.front() ? "_few" : "_many";
    m.values["vit" + end] = accuracy[0];
    m.values["cnn" + end] = accuracy[1];
  }
  m.values["few"] = ahead.front();
  m.values["left"] = ahead.back() / ahead.front();
  return m;
}

}  // namespace glim::hunger

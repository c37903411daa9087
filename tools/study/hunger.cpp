// hunger: whether a Vision Transformer needs more data than a convolutional network.
//
// Dosovitskiy et al. 2021 (arXiv 2010.11929), section 1: without much data a Vision Transformer is behind, because it
// lacks what convolutions have built in, and with more data it is not. The tutorials: self-attention is the more flexible
// model, so it needs more examples. Both learn digits that are drawn here: a font of 5 x 7 points in 12 x 12, turned
// by up to 15 degrees, shifted by up to 2 pixels, in noise. Both get the same updates of the same size, for few images as
// for many. A model that has not learned the images of its own training says nothing about data: that is a control.
#include <algorithm>

#include "models/cnn/cnn.hpp"
#include "models/vit/vit.hpp"
#include "nn/loss.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tools/data/images/augment.hpp"
#include "tools/study/measures.hpp"
#include "tools/study/sequences.hpp"

namespace glim::hunger {
namespace {

constexpr Index kSide = 12;
// The digits, seven rows of five points each.
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

Digits first(const Digits& digits, Index count) {
  count = std::min(count, digits.classes.numel());
  return {narrow(digits.images, 0, 0, count), narrow(digits.classes, 0, 0, count)};
}

void learn(ImageModel& model, const Digits& digits, Index steps) {
  constexpr Index kBatch = 50;
  const Index count = digits.classes.numel();
  Tensor order;
  train(model, steps, 5e-3, [&](Index step) {
    const Index start = (step - 1) % (count / kBatch) * kBatch;
    if (start == 0) order = permutation(count, generator().next());
    const Tensor rows = narrow(order, 0, start, kBatch).contiguous();
    return cross_entropy(model(Var(index_select(digits.images, 0, rows))),
                         index_select(digits.classes, 0, rows));
  });
}

std::unique_ptr<ImageModel> model_of(bool convolutions) {
  if (convolutions) {
    CnnConfig c;
    c.height = c.width = kSide;
    c.d_model = 16, c.layers = 3, c.dropout = 0;
    return std::make_unique<Cnn>(c);
  }
  VitConfig c;
  c.height = c.width = kSide;
  c.patch = 3, c.d_model = 32, c.d_ff = 64, c.layers = 2, c.dropout = 0;
  return std::make_unique<Vit>(c);
}

}  // namespace

Measurement measure(std::uint64_t seed, bool small) {
  const Index steps = small ? 4 : 3000, judged = small ? 50 : 2000;
  const auto amounts = sizes<Index>(small, {50, 100}, {100, 300, 1000, 3000, 9000});
  const Digits all = draw_digits(amounts.back(), {seed, kHeldOut}),
               others = draw_digits(judged, {seed, kHeldOut + 3});
  Measurement m;
  for (Index amount : amounts)
    for (const bool convolves : {false, true}) {
      const char* name = convolves ? "cnn" : "vit";
      generator().set_state(seed, 0);
      const auto model = model_of(convolves);
      const Digits some = first(all, amount);
      learn(*model, some, steps);
      auto draw = [&](const char* plot, const Digits& d) {
        m.curve(plot, name, double(amount), accuracy_of((*model)(Var(d.images)), d.classes));
      };
      draw("learned", first(some, judged));
      draw("accuracy", others);
    }
  const auto cnn = m.points("accuracy", "cnn").y, vit = m.points("accuracy", "vit").y;
  for (const auto& [name, accuracy] : {std::pair{std::string("cnn"), cnn}, {"vit", vit}}) {
    const auto learned = m.points("learned", name).y;
    m.values[name + "_learned"] = *std::min_element(learned.begin(), learned.end());
    m.values[name + "_few"] = accuracy.front();
    m.values[name + "_many"] = accuracy.back();
  }
  m.values["few"] = cnn.front() - vit.front();
  m.values["many"] = cnn.back() - vit.back();
  std::size_t behind = 0;
  while (behind < cnn.size() && vit[behind] < cnn[behind]) ++behind;
  m.values["crossing"] = behind < cnn.size() ? static_cast<double>(amounts[behind]) : 0;
  return m;
}

}  // namespace glim::hunger

#include "tests/autograd/kernels/fused_cases.hpp"

#include "tensor/ops/elementwise.hpp"
#include "tensor/random.hpp"

namespace glim::fused_tests {
namespace {

std::uint64_t next_stream = 100;

// The values of x behind other strides: every second element of rows that are twice as long.
Tensor strided(const Tensor& x) {
  Shape wide = x.shape();
  wide.push_back(2);
  Tensor store = zeros(wide, x.dtype());
  Tensor view = select(store, -1, 1);
  view.copy_(x);
  return view;
}
Tensor keep_mask(const Shape& shape, std::uint64_t stream) {
  return bernoulli(shape, 0.7, {3, stream});
}

}  // namespace

Tensor random(const Shape& shape) {
  return uniform(shape, -2, 2, {9, next_stream++}, DType::Float64);
}

Tensor swapped(const Tensor& x) { return transpose(transpose(x, 0, 1).contiguous(), 0, 1); }

std::vector<Case> cases() {
  std::vector<Case> list;
  auto add_case = [&](std::string name, std::vector<Tensor> inputs, auto call) {
    list.push_back({std::move(name), std::move(inputs), call});
  };

  // ---- label smoothing ----
  auto loss = [](Tensor target, double epsilon, Index pad) {
    return
        [=](const std::vector<Var>& x) { return label_smoothing_loss(x[0], target, epsilon, pad); };
  };
  auto targets = [](std::initializer_list<Index> t) {
    return from_vector(std::vector<Index>(t), {static_cast<Index>(t.size())});
  };
  add_case("label_smoothing, pad in the middle", {random({3, 40})},
           loss(targets({39, 17, 0}), 0.3, 17));
  add_case("label_smoothing, every row padded", {random({2, 5})}, loss(targets({2, 2}), 0.1, 2));
  add_case("label_smoothing, long rows", {random({70, 1003})},
           loss(random_integers({70}, 0, 1003, {1, 2}), 0.1, 1));

  // ---- the same with its projection, in chunks ----
  auto projected = [](Tensor target, double epsilon, Index pad) {
    return [=](const std::vector<Var>& x) {
      return linear_label_smoothing_loss(x[0], x[1], x[2], target, epsilon, pad);
    };
  };
  add_case("linear_label_smoothing, several chunks",
           {random({150, 2}), random({70001, 2}), random({70001})},
           projected(random_integers({150}, 0, 70001, {1, 2}), 0.1, 1));

  // ---- layer norm ----
  auto norm = [](const std::vector<Var>& x) { return layer_norm(x[0], x[1], x[2], 1e-5); };
  for (Index d : {1, 5, 16, 37, 64})
    add_case("layer_norm of " + std::to_string(d), {random({3, 4, d}), random({d}), random({d})},
             norm);
  add_case("layer_norm, beta only", {random({4, 10}), {}, random({10})}, norm);
  add_case("layer_norm, many rows", {random({700, 96}), random({96}), random({96})}, norm);

  // ---- RMS norm ----
  auto rms = [](const std::vector<Var>& x) { return rms_norm(x[0], x[1], 1e-5); };
  for (Index d : {1, 5, 16, 37, 64})
    add_case("rms_norm of " + std::to_string(d), {random({3, 4, d}), random({d})}, rms);
  add_case("rms_norm, many rows", {random({700, 96}), random({96})}, rms);

  // ---- linear ----
  auto lin = [](const std::vector<Var>& x) { return linear(x[0], x[1], x[2]); };
  add_case("linear, no columns", {random({3, 0}), random({6, 0}), random({6})}, lin);
  add_case("linear, large", {random({300, 70}), random({130, 70}), random({130})}, lin);

  auto hidden = [](double p) {
    return [=](const std::vector<Var>& x) { return linear_relu(x[0], x[1], x[2], p, {6, 6}); };
  };
  add_case("linear_relu, large", {random({600, 70}), random({1300, 70}), random({1300})},
           hidden(0.4));
  add_case("linear_relu, all dropped", {random({3, 5}), random({6, 5}), random({6})}, hidden(1));

  // ---- attention: query (…, T, Dk), key (…, S, Dk), value (…, S, Dv), bias ----
  auto attend = [](Tensor keep, double p) {
    return [=](const std::vector<Var>& x) {
      return scaled_dot_product_attention(x[0], x[1], x[2], {keep, x[3]}, p, {77, 5}).context;
    };
  };
  auto heads = [&](Index b, Index h, Index t, Index s, Index dk, Index dv, Tensor bias = {}) {
    return std::vector<Tensor>{random({b, h, t, dk}), random({b, h, s, dk}), random({b, h, s, dv}),
                               bias};
  };
  // ---- packed attention: x (B, T, 3D), or x (B, T, D) and memory (B, S, 2D); bias ----
  auto attend_packed = [](Index h, Tensor keep, double p) {
    return [=](const std::vector<Var>& x) {
      return packed_attention(x[0], x[1], h, {keep, x[2]}, p, {78, 5}).context;
    };
  };
  add_case("packed attention, strided", {strided(random({2, 5, 36})), {}, random({3, 5, 5})},
           attend_packed(3, keep_mask({2, 1, 1, 5}, 61), 0));
  add_case("packed attention to a memory", {random({2, 4, 12}), random({2, 7, 24}), {}},
           attend_packed(3, keep_mask({2, 1, 1, 7}, 62), 0.3));
  add_case("packed attention to a memory, strided",
           {strided(random({2, 4, 12})), swapped(random({2, 7, 24})), random({2, 3, 4, 7})},
           attend_packed(3, keep_mask({2, 3, 4, 7}, 63), 0.5));
  add_case("packed attention, long", {random({1, 300, 24}), {}, {}},  // P is computed again
           attend_packed(2, keep_mask({300, 300}, 64), 0.2));
  add_case("packed attention, heads of a cache line", {random({3, 40, 192}), {}, {}},
           attend_packed(4, {}, 0.1));

  int kind = 0;
  for (const Shape& shape :
       {Shape{2, 1, 1, 5}, Shape{2, 1, 4, 5}, Shape{1, 1, 4, 5}, Shape{2, 3, 4, 5}, Shape{4, 5},
        Shape{5}, Shape{1, 3, 4, 1}, Shape{2, 1, 4, 1}, Shape{1}}) {
    auto stream = static_cast<std::uint64_t>(++kind);
    Tensor keep = keep_mask(shape, stream);
    add_case("attention, keep " + to_string(shape), heads(2, 3, 4, 5, 6, 7), attend(keep, 0.3));
    add_case("attention, bias " + to_string(shape), heads(2, 3, 4, 5, 6, 7, random(shape)),
             attend({}, 0));
    add_case("attention, both " + to_string(shape), heads(2, 3, 4, 5, 6, 7, random(shape)),
             attend(keep, 0.5));
  }
  Tensor empty_rows = keep_mask({2, 1, 4, 5}, 50);
  select(empty_rows, 2, 1).fill_(0);
  select(empty_rows, 0, 1).fill_(0);
  add_case("attention, queries that keep nothing", heads(2, 3, 4, 5, 6, 7),
           attend(empty_rows, 0.2));
  add_case("attention, strided keep", heads(2, 3, 4, 5, 6, 7),
           attend(transpose(keep_mask({2, 1, 5, 4}, 51), -1, -2), 0));
  auto packed = [&](Index b, Index t, Index h, Index d) {  // three views of (B, T, 3, H, Dh)
    Tensor x = random({b, t, 3, h, d});
    std::vector<Tensor> parts;
    for (Index i = 0; i < 3; ++i) parts.push_back(transpose(select(x, 2, i), 1, 2));
    parts.push_back({});
    return parts;
  };
  add_case("attention, packed", packed(2, 5, 3, 4), attend(keep_mask({1, 1, 5, 5}, 52), 0.1));
  add_case("attention, shared key",
           {random({2, 3, 4, 6}), random({3, 5, 6}), random({1, 3, 5, 7}), {}}, attend({}, 0.2));
  add_case("attention, no keys", heads(2, 3, 4, 0, 6, 7), attend({}, 0.2));
  add_case("attention, probabilities computed again", heads(1, 2, 6, 40, 3, 4),
           attend(keep_mask({1, 1, 6, 40}, 55), 0.2));
  add_case("attention, several tiles", heads(1, 2, 70, 700, 8, 8, random({70, 700})),
           attend(keep_mask({70, 700}, 56), 0.2));

  // ---- recurrent cells: input, hidden, state ----
  auto gru = [](Tensor valid) {
    return [=](const std::vector<Var>& x) { return gru_cell(x[0], x[1], x[2], valid); };
  };
  auto lstm = [](Tensor valid) {
    return [=](const std::vector<Var>& x) { return lstm_cell(x[0], x[1], x[2], valid); };
  };
  for (Index n : {1, 16, 37}) {
    std::string width = " of " + std::to_string(n);
    add_case("gru_cell" + width, {random({3, 3 * n}), random({3, 3 * n}), random({3, n})}, gru({}));
    add_case("lstm_cell" + width, {random({3, 4 * n}), random({3, 4 * n}), random({3, 2 * n})},
             lstm({}));
  }
  Tensor valid = keep_mask({90}, 60);
  add_case("gru_cell, many rows", {random({90, 3 * 70}), random({90, 3 * 70}), random({90, 70})},
           gru(valid));
  add_case("lstm_cell, many rows",
           {random({90, 4 * 70}), random({90, 4 * 70}), random({90, 2 * 70})}, lstm(valid));
  auto scores = [](const std::vector<Var>& x) { return additive_scores(x[0], x[1], x[2]); };
  add_case("additive_scores, many sentences",
           {random({40, 3, 70}), random({40, 9, 70}), random({70})}, scores);

  // ---- dropout: its own mask again in backward ----
  auto residual = [](double p) {
    return [=](const std::vector<Var>& x) { return add_dropout(x[0], x[1], p, {4, 5}); };
  };
  add_case("add_dropout, broadcast", {random({5, 7}), random({7})}, residual(0.3));
  add_case("add_dropout, large", {random({90, 701}), random({90, 701})}, residual(0.3));
  return list;
}

}  // namespace glim::fused_tests

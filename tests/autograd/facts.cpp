// Facts that hold exactly of gradients, whatever the numbers.
#include <cmath>
#include <limits>

#include "tensor/matmul/matmul.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tensor/parallel.hpp"
#include "tests/autograd/common.hpp"

namespace test_facts {

using namespace glim;

namespace {

Tensor softmax_jacobian(const Tensor& x) {
  Var leaf = Var::leaf(x);
  Tape tape;
  Var y = softmax(leaf);
  Index n = x.numel();
  Tensor jacobian = zeros({n, n}, x.dtype());
  for (Index i = 0; i < n; ++i) {
    Tensor e = zeros({n}, x.dtype());
    narrow(e, 0, i, 1).fill_(1);
    select(jacobian, 0, i).copy_(tape.grad(y, {leaf}, e, {.retain = true})[0].value());
  }
  return jacobian;
}

// The largest singular value, by power iteration on JᵀJ.
double spectral_norm(const Tensor& j) {
  Tensor v = uniform({j.size(1)}, 0.5, 1, {9, 9}, j.dtype());
  double norm = 0;
  for (int i = 0; i < 300; ++i) {
    v = matmul(transpose(j), matmul(j, v));
    double length = std::sqrt(dot(v, v));
    if (length == 0) return 0;
    norm = std::sqrt(length);
    v = mul(v, 1 / length);
  }
  return norm;
}

}  // namespace

TEST_CASE("rows of the gradient of scores sum to 0", "[facts]") {
  for (auto [rows, columns] : {std::pair<Index, Index>{4, 7}, {1, 100}, {16, 2}}) {
    Var scores = leaf64({rows, columns}, 1, "scores");
    Tensor keep = bernoulli({rows, columns}, 0.6, {4, 5});
    Tensor dy = uniform({rows, columns}, -3, 3, {4, 6}, DType::Float64);
    for (bool masked : {false, true}) {
      scores.zero_grad();
      Tape tape;
      tape.backward(masked ? masked_softmax(scores, keep) : softmax(scores), dy);
      for (double s : list(sum(scores.grad(), {1}))) CHECK(std::abs(s) < 1e-14);
    }
  }
}

TEST_CASE("masked scores have a gradient of exactly 0", "[facts]") {
  Var q = leaf64({2, 5, 4}, 1, "q"), k = leaf64({2, 5, 4}, 2, "k"), v = leaf64({2, 5, 4}, 3, "v");
  Tensor keep = tril(ones({5, 5}, DType::Float64)).to(DType::Bool);
  Tape tape;
  Var scores = mul(matmul(q, transpose(k)), 0.5);
  Watch watch(tape, scores);
  Var context = matmul(masked_softmax(scores, keep), v);
  tape.backward(context, random64({2, 5, 4}, 4));
  Tensor d = watch.grad_of(scores);
  for (Index b = 0; b < 2; ++b)
    for (Index i = 0; i < 5; ++i)
      for (Index j = 0; j < 5; ++j) {
        double e = d.at<double>({b, i, j});
        if (j > i) CHECK(e == 0);
        if (j <= i && i > 0) CHECK(e != 0);  // with i = 0 there is one key, and no choice
      }
  // No future leak: the first query's context says nothing of later keys and values.
  k.zero_grad();
  v.zero_grad();
  Tape again;
  Var first = select(matmul(masked_softmax(mul(matmul(q, transpose(k)), 0.5), keep), v), 1, 0);
  again.backward(sum(mul(first, first)));
  for (const Var& leaf : {k, v})
    for (double e : list(narrow(leaf.grad(), 1, 1, 4))) CHECK(e == 0);
}

TEST_CASE("the bias of the key projection has no gradient", "[facts]") {
  // It adds q·b to a whole row of scores, and softmax does not see what a whole row shares.
  Var x = leaf64({6, 4}, 1), wq = leaf64({4, 4}, 2, "wq"), wk = leaf64({4, 4}, 3, "wk"),
      bq = leaf64({4}, 4, "bq"), bk = leaf64({4}, 5, "bk"), bv = leaf64({4}, 6, "bv");
  Tape tape;
  Var q = linear(x, wq, bq), k = linear(x, wk, bk), v = linear(x, wk, bv);
  Var context = scaled_dot_product_attention(q, k, v).context;
  tape.backward(context, random64({6, 4}, 7));
  for (double e : list(bk.grad())) CHECK(std::abs(e) < 1e-15);
  for (double e : list(bq.grad())) CHECK(std::abs(e) > 1e-6);
  for (double e : list(bv.grad())) CHECK(std::abs(e) > 1e-6);
}

TEST_CASE("identical tokens leave query and key weights without a gradient", "[facts]") {
  // Noci et al. 2022: all scores of a row are equal, and all values are, so nothing is to be chosen.
  Var token = leaf64({1, 4}, 1, "token"), wq = leaf64({4, 4}, 2, "wq"),
      wk = leaf64({4, 4}, 3, "wk"), wv = leaf64({4, 4}, 4, "wv");
  Tape tape;
  Var x = broadcast_to(token, {5, 4});
  Var context =
      scaled_dot_product_attention(linear(x, wq, {}), linear(x, wk, {}), linear(x, wv, {})).context;
  tape.backward(context, random64({5, 4}, 5));
  for (const Var& w : {wq, wk})
    for (double e : list(w.grad())) CHECK(std::abs(e) < 1e-15);
  double values = std::sqrt(dot(wv.grad(), wv.grad()));
  CHECK(values > 1e-2);
}

TEST_CASE("the Jacobian of softmax has norm ½ at most, and reaches it", "[facts]") {
  for (std::uint64_t i = 0; i < 10; ++i)
    CHECK(spectral_norm(softmax_jacobian(normal({6}, 0, 3, {5, i}, DType::Float64))) <=
          0.5 + 1e-12);
  CHECK(spectral_norm(softmax_jacobian(tensor({1, 1, -1e3}, DType::Float64))) == Approx(0.5));
  // Saturated: hardly any gradient is left, which is why scores are scaled.
  CHECK(spectral_norm(softmax_jacobian(tensor({40, 0, 0}, DType::Float64))) < 1e-15);
}

TEST_CASE("the gradient of smoothed cross-entropy by the logits is p - q", "[facts]") {
  Index rows = 4, classes = 6;
  Var logits = leaf64({rows, classes}, 1, "logits");
  Tensor target = from_vector<std::int64_t>({3, 1, 0, 5}, {rows});  // the third is pad
  for (double smoothing : {0.0, 0.1}) {
    logits.zero_grad();
    Tape tape;
    tape.backward(label_smoothing_loss(logits, target, smoothing, 0));
    Tensor p = softmax(logits.value());
    for (Index i = 0; i < rows; ++i) {
      Index t = target.at<std::int64_t>({i});
      double total = 0;
      for (Index c = 0; c < classes; ++c) {
        double q = c == t ? 1 - smoothing : c == 0 ? 0 : smoothing / (classes - 2.0);
        total += q;
        double expected = t == 0 ? 0 : p.at<double>({i, c}) - q;
        CHECK(logits.grad().at<double>({i, c}) == Approx(expected).margin(1e-14));
      }
      if (t != 0) CHECK(total == Approx(1));
    }
  }
}

TEST_CASE("a layer norm's gradient has no mean, and none along x", "[facts]") {
  Var x = leaf64({5, 8}, 1);
  Tape tape;
  tape.backward(layer_norm(x, {}, {}, 0), random64({5, 8}, 2));
  for (double e : list(sum(x.grad(), {1}))) CHECK(std::abs(e) < 1e-13);
  for (double e : list(sum(mul(x.grad(), x.value()), {1}))) CHECK(std::abs(e) < 1e-13);
}

TEST_CASE("dropout sends gradients where values went, times 1/(1 - p)", "[facts]") {
  Var x = Var::leaf(ones({50, 50}, DType::Float64));
  Tape tape;
  Var y = dropout(x, 0.25, {1, 2});
  tape.backward(sum(y));
  CHECK(list(x.grad()) == list(y.value()));
  double kept = 0;
  for (double e : list(x.grad())) {
    CHECK((e == 0 || e == 1 / 0.75));
    kept += e != 0;
  }
  CHECK(kept / 2500 == Approx(0.75).margin(0.05));
}

TEST_CASE("at a kink the gradient is the one that the formula states", "[facts]") {
  using List = std::vector<double>;
  const Tensor dy = tensor({10, 20, 30}, DType::Float64);
  Var a = leaf_of({1, 2, 3}, "a"), b = leaf_of({2, 2, 2}, "b"), x = leaf_of({-1, 0, 1});
  Tape tape;
  auto of = [&](const Var& y, const Var& leaf, const Tensor& up) {
    return list(tape.grad(y, {leaf}, up, {.retain = true})[0].value());
  };
  CHECK(of(maximum(a, b), a, dy) == List{0, 10, 30});
  CHECK(of(maximum(a, b), b, dy) == List{10, 10, 0});
  CHECK(of(minimum(a, b), a, dy) == List{10, 10, 0});
  CHECK(of(minimum(a, b), b, dy) == List{0, 10, 30});
  CHECK(of(relu(x), x, dy) == List{0, 0, 30});
  CHECK(of(abs(x), x, dy) == List{-10, 0, 30});
  CHECK(of(clamp(x, -1, 0), x, dy) == List{10, 20, 0});
  const Tensor one = scalar(12, DType::Float64);
  CHECK(of(max(b), b, one) == List{4, 4, 4});
  CHECK(of(max(a), a, one) == List{0, 0, 12});
  CHECK(of(min(concatenate({a, a}, 0)), a, one) == List{12, 0, 0});
}

TEST_CASE("slices of one element, of none and from before the start", "[facts]") {
  using List = std::vector<double>;
  Var x = leaf_of({1, 2, 3});
  Tape tape;
  auto dx = [&](Index start, Index stop, std::initializer_list<double> dy) {
    const Var y = slice(x, 0, start, stop);
    return list(tape.grad(y, {x}, tensor(dy, DType::Float64), {.retain = true})[0].value());
  };
  CHECK(dx(1, 2, {7}) == List{0, 7, 0});
  CHECK(dx(-9, 2, {7, 8}) == List{7, 8, 0});
  CHECK(dx(-1, 9, {7}) == List{0, 0, 7});
  CHECK(dx(0, -1, {7, 8}) == List{7, 8, 0});
  CHECK(dx(-3, -2, {7}) == List{7, 0, 0});
  const Var none = slice(x, 0, 3, 3);
  CHECK(list(tape.grad(none, {x}, zeros({0}, DType::Float64))[0].value()) == List{0, 0, 0});
}

// A bias of one column says the same of all keys: softmax forgets it, but for -inf.
TEST_CASE("a bias of -inf for a whole row leaves it nothing to attend to", "[facts]") {
  const double inf = std::numeric_limits<double>::infinity();
  for (const DType dtype : {DType::Float64, DType::Float32})
    for (const Index keys : {3, 40}) {
      const Tensor q = random64({2, 4}, 1).to(dtype), k = random64({keys, 4}, 2).to(dtype),
                   v = random64({keys, 4}, 3).to(dtype);
      const Var one{tensor({0.5, -inf}, {2, 1}, dtype)};
      const Tensor y =
          scaled_dot_product_attention(Var(q), Var(k), Var(v), {{}, one}).context.value();
      const Tensor plain = scaled_dot_product_attention(Var(q), Var(k), Var(v)).context.value();
      for (Index c = 0; c < 4; ++c) {
        CHECK(y.to(DType::Float64).at<double>({0, c}) ==
              Approx(plain.to(DType::Float64).at<double>({0, c})).epsilon(1e-5));
        CHECK(y.to(DType::Float64).at<double>({1, c}) == 0);
      }
    }
}

TEST_CASE("gradients do not depend on the number of threads", "[facts]") {
  Var x = Var::leaf(uniform({64, 96}, -1, 1, {1, 2})),
      w = Var::leaf(uniform({96, 80}, -1, 1, {1, 3}));
  Tensor dx, dw;
  int before = num_threads();
  for (int threads : {1, 2, 3}) {
    set_num_threads(threads);
    for (const Var& v : {x, w}) v.zero_grad();
    Tape tape;
    tape.backward(sum(softmax(gelu(matmul(x, w)))));
    if (threads == 1) {
      dx = x.grad();
      dw = w.grad();
    } else {
      CHECK(same_bits(dx, x.grad()));
      CHECK(same_bits(dw, w.grad()));
    }
  }
  set_num_threads(before);
}

TEST_CASE("what dropout keeps of a large tensor is at its place") {
  const Tensor x = arange(1, 50001).to(DType::Float64);
  const std::vector<double> y = dropout(Var(x), 0.5, {1, 0}).value().to_vector<double>();
  std::size_t dropped = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    dropped += y[i] == 0;
    if (y[i] != 0 && y[i] != 2 * static_cast<double>(i + 1)) FAIL(i << ": " << y[i]);
  }
  CHECK(dropped > 24000);
  CHECK(dropped < 26000);
}

TEST_CASE("the parts of a split follow one another") {
  const auto parts = split(Var(arange(0, 6)), 0, {1, 2, 3});
  CHECK(parts[0].value().to_vector<Index>() == std::vector<Index>{0});
  CHECK(parts[1].value().to_vector<Index>() == std::vector<Index>{1, 2});
  CHECK(parts[2].value().to_vector<Index>() == std::vector<Index>{3, 4, 5});
}

}  // namespace test_facts

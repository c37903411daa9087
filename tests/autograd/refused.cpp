// Undefined values and extents that do not fit are errors, not crashes.
#include "autograd/gradcheck/gradcheck.hpp"
#include "autograd/observe/walk.hpp"
#include "tensor/matmul/matmul.hpp"
#include "tests/autograd/common.hpp"

namespace test_refused {

using namespace glim;

TEST_CASE("an undefined value is an error wherever it is used, not a crash", "[tape]") {
  const Var none, x = Var::leaf(ones({2, 2}), "x"), empty_leaf = Var::leaf(Tensor());
  const Tensor no_tensor;
  Tape tape;
  Var loss = sum(x);
  const std::vector<std::function<void()>> uses = {
      [&] { none.item(); },
      [&] { none.leaf(); },
      [&] { none.grad(); },
      [&] { none.zero_grad(); },
      [&] { tape.backward(none); },
      [&] { tape.backward(none, no_tensor); },
      [&] { tape.backward(loss, no_tensor); },
      [&] { BackwardWalk(tape, none); },
      [&] { BackwardWalk(tape, loss, no_tensor); },
      [&] { Watch(tape, none); },
      [&] { Hook(tape, none, [](const Var& g) { return g; }); },
      [&] { tape.value(tape.node_of(none)); },
      [&] { gradcheck([](const std::vector<Var>& v) { return exp(v[0]); }, {Tensor()}); },
      [&] { gradcheck([](const std::vector<Var>&) { return Var(); }, {ones({2})}); },
      [&] {
        gradcheck([&] { return loss; }, NamedParameters{{"none", none}});
      },
      [&] { mul(none, 2.0); },
      [&] { pow(2.0, none); },
      [&] { pow(none, 2); },
      [&] { exp(empty_leaf); },
      [&] { reshape(empty_leaf, {1}); },
      [&] { less(none, 1.0); },
      [&] { equal(x, none); },
      [&] { logical_not(none); },
      [&] { argmax(none); },
      [&] { where(no_tensor, x, x); },
      [&] { index(none, {}); },
      [&] { unslice(none, {}, 0, 0); },
      [&] {
        stack({loss, none}, 0);
      },
      [&] { masked_softmax(x, no_tensor); },
      [&] { gather(x, 0, no_tensor); },
      [&] { index_select(x, 0, no_tensor); },
      [&] { rotate_pairs(x, no_tensor, no_tensor); },
      [&] { label_smoothing_loss(x, no_tensor, 0, 0); },
  };
  for (std::size_t i = 0; i < uses.size(); ++i) {
    INFO(i);
    CHECK_THROWS_AS(uses[i](), Error);
  }
  CHECK(tape.node_of(none) == -1);
  CHECK_FALSE(Watch(tape).grad_of(none).defined());
  CHECK_FALSE(named(none, "none").defined());
  CHECK_FALSE(none.requires_grad());
}

TEST_CASE("a vector times a batch of matrices is a batch of vectors", "[tape]") {
  Var v = Var::leaf(uniform({3}, -1, 1, {1, 1})), b = Var::leaf(uniform({4, 3, 2}, -1, 1, {1, 2}));
  Var y = matmul(v, b);
  CHECK(same_bits(y.value(), matmul(v.value(), b.value())));
  CHECK(y.shape() == Shape{4, 2});
}

TEST_CASE("a matrix shared by all rows gets its gradient in one product", "[tape]") {
  for (const Shape& lead : {Shape{6}, Shape{2, 3}, Shape{2, 1, 3}}) {
    auto with = [&](Index last) {
      Shape s = lead;
      s.insert(s.rank(), last);
      return s;
    };
    Var a = Var::leaf(reshape(random64({6, 4}, 1), with(4))), b = leaf64({4, 5}, 2);
    Tensor dy = random64({6, 5}, 3);
    Tape tape;
    tape.backward(matmul(a, b), reshape(dy, with(5)));
    CHECK(same_bits(b.grad(), matmul(transpose(random64({6, 4}, 1)), dy)));
  }
}

TEST_CASE("tensors may be stacked along a new last axis", "[tape]") {
  Var a = leaf_of({1, 2}), b = leaf_of({3, 4});
  for (Index axis : {1, -1})
    CHECK(list(stack({a, b}, axis).value()) == std::vector<double>{1, 3, 2, 4});
  for (Index axis : {0, -2})
    CHECK(list(stack({a, b}, axis).value()) == std::vector<double>{1, 2, 3, 4});
  CHECK_THROWS_AS(stack({a, b}, 2), IndexError);
}

TEST_CASE("a value of many batches spreads query and key, and the other way round", "[tape]") {
  const Tensor many = random64({3, 2, 4}, 4), one = random64({2, 4}, 5);
  for (int which = 0; which < 3; ++which) {
    Var x[3];
    Tensor spread[3];
    for (int k = 0; k < 3; ++k) {
      x[k] = Var(k == which ? many : one);
      spread[k] = broadcast_to(x[k].value(), {3, 2, 4});
    }
    Tensor y = scaled_dot_product_attention(x[0], x[1], x[2]).context.value();
    CHECK(same_bits(y.contiguous(),
                    scaled_dot_product_attention(Var(spread[0]), Var(spread[1]), Var(spread[2]))
                        .context.value()
                        .contiguous()));
  }
}

TEST_CASE(
    "a bias of more batches than the scores is refused, also where probabilities are asked for",
    "[tape]") {
  const Var q = random64({2, 3}, 1), k = random64({4, 3}, 2);
  const AttentionMask mask{.keep = {}, .bias = random64({5, 2, 4}, 3)};
  for (bool need_probs : {false, true})
    CHECK_THROWS_AS(scaled_dot_product_attention(q, k, k, mask, 0, {}, need_probs), ShapeError);
}

TEST_CASE("attention whose probabilities are all dropped gives zeros, and zero gradients",
          "[tape]") {
  Var x = leaf64({2, 3, 12}, 6), q = leaf64({2, 3, 4}, 7);
  Tape tape;
  Var packed = packed_attention(x, {}, 2, {}, 1, RandomKey{1, 1}).context,
      apart = scaled_dot_product_attention(q, q, q, {}, 1, RandomKey{1, 1}).context;
  tape.backward(sum(packed) + sum(apart));
  for (const Tensor& t : {packed.value(), apart.value(), x.grad(), q.grad()})
    CHECK(max(abs(t)).item() == 0);
}

TEST_CASE("a tape has no value for a number that no node has", "[tape]") {
  Var x = leaf_of({1, 2});
  Tape tape({.replay = true});
  Var y = 2 * x;
  CHECK(list(tape.value(1).value()) == std::vector<double>{2, 4});
  for (int i : {-1, 2, 100}) CHECK_THROWS_AS(tape.value(i), Error);
}

TEST_CASE("narrow and select refuse what slice would cut off", "[tape]") {
  Var x = Var::leaf(ones({3, 4}), "x");
  CHECK(narrow(x, 1, 2, 2).shape() == Shape{3, 2});
  CHECK_THROWS_AS(narrow(x, 1, 2, 3), IndexError);
  CHECK_THROWS_AS(narrow(x, 0, 4, 0), IndexError);
  CHECK_THROWS_AS(select(x, 1, 4), IndexError);
}

TEST_CASE("index refuses what is outside, and masks that do not fit", "[tape]") {
  const Var x = Var::leaf(ones({3, 4}), "x");
  const Tensor outside = from_vector<std::int64_t>({0, 3}, {2}),
               below = full({1}, -4, DType::Int64), mask = full({3, 3}, 1, DType::Bool);
  CHECK_THROWS_AS(index(x, {outside}), IndexError);
  CHECK_THROWS_AS(index(x, {below}), IndexError);
  CHECK_THROWS_AS(index(x, {outside, outside, outside}), IndexError);
  CHECK_THROWS_AS(index(x, {mask}), ShapeError);
  CHECK_THROWS_AS(index(x, {scalar(1, DType::Bool)}), IndexError);
  CHECK_THROWS_AS(index(x, {ones({2})}), DTypeError);
  CHECK_THROWS_AS(index(x, {from_vector<std::int64_t>({0, 1}, {2}), zeros({3}, DType::Int64)}),
                  ShapeError);
  CHECK(index(x, {scalar(-1, DType::Int64), Tensor()}).shape() == Shape{4});
}

TEST_CASE("pad, recurrences and norms refuse shapes that do not fit", "[tape]") {
  const Var x = Var::leaf(ones({3, 4}), "x");
  CHECK_THROWS_AS(pad(x, {{1, 1}}), ShapeError);
  CHECK_THROWS_AS(pad(x, {{0, 0}, {-3, -2}}), ShapeError);
  CHECK(pad(x, {{0, 0}, {-2, -2}}).shape() == Shape{3, 0});
  CHECK_THROWS_AS(linear_recurrence(x, x, 1), ShapeError);
  CHECK_THROWS_AS(layer_norm(x, {2, 4}, Var(), Var()), ShapeError);
  CHECK_THROWS_AS(layer_norm(x, {3, 4}, Var(ones({4})), Var()), ShapeError);
  CHECK_THROWS_AS(layer_norm(x, Shape{}, Var(), Var()), ShapeError);
  CHECK_THROWS_AS(rms_norm(x, {1, 3, 4}, Var(), 0.1), ShapeError);
}

TEST_CASE("comparisons are of all elements, and name the line of the call", "[tape]") {
  const Var x = leaf_of({1, 2, 3}), y = leaf_of({3, 2, 1});
  Tape tape;
  auto is = [](const Tensor& t, bool a, bool b, bool c) {
    CHECK(t.to_vector<bool>() == std::vector<bool>{a, b, c});
  };
  is(equal(x, y), false, true, false);
  is(not_equal(x, y), true, false, true);
  is(less(x, y), true, false, false);
  is(less_equal(x, y), true, true, false);
  is(greater(x, 2), false, false, true);
  is(greater_equal(x, 2), false, true, true);
  is(less_equal(x, 2), true, true, false);
  is(logical_and(less(x, 3), greater(x, 1)), false, true, false);
  is(logical_or(Var(less(x, 2)), Var(greater(x, 2))), true, false, true);
  is(logical_not(Var(less(x, 2))), false, true, true);
  CHECK(argmax(x).item() == 2);
  CHECK(argmin(Var(tensor({2, 1, 0, 3}, {2, 2}))).item() == 2);
  CHECK(list(argmax(Var(tensor({2, 1, 0, 3}, {2, 2})), 1).to(DType::Float64)) ==
        std::vector<double>{0, 1});
  CHECK(tape.nodes().size() == 0);
  CHECK(error_of([&] { less(x, ones({4}, DType::Float64)); }).find("refused.cpp") !=
        std::string::npos);
  CHECK(error_of<DTypeError>([&] { logical_not(x); }).find("refused.cpp") != std::string::npos);
}

TEST_CASE("unslice refuses what does not fit, however large the step", "[tape]") {
  Var x = Var::leaf(ones({3}), "x");
  CHECK(unslice(x, {7}, 0, 0, 3).value().to_vector<float>() ==
        std::vector<float>{1, 0, 0, 1, 0, 0, 1});
  CHECK_THROWS_AS(unslice(x, {7}, 0, 1, 3), ShapeError);
  CHECK_THROWS_AS(unslice(slice(x, 0, 0, 1), {7}, 0, 7), ShapeError);
  // 2 step + start beyond int64
  CHECK_THROWS_AS(unslice(x, {7}, 0, INT64_MAX - 1, Index{1} << 62), ShapeError);
  CHECK_THROWS_AS(unslice(x, {7}, 0, 0, INT64_MAX), ShapeError);
  CHECK_THROWS_AS(unslice(x, {7}, 0, INT64_MAX), ShapeError);
  CHECK_THROWS_AS(unslice(x, {INT64_MIN}, 0, 0), ShapeError);
}

}  // namespace test_refused

// Rotary positions and ALiBi: torch's values, and facts.
#include "nn/attention/multihead.hpp"
#include "nn/attention/positions.hpp"
#include "tests/nn/vision/common.hpp"

namespace test_relative_positions {

using namespace glim;

TEST_CASE("rotary positions and ALiBi equal their equations", "[nn][reference][positions]") {
  in_every_form([](DType dtype) {
    for (std::string name : {"rotary", "rotary_offset"}) {
      const auto& c = vision().config(name);
      RotaryPositions rotary(vision().get(name + ".x").size(-1), c.at("base"));
      check_case(
          vision(), name, rotary, dtype, [&](const Var& x) { return rotary(x, c.at("offset")); },
          5 * tolerance_of(dtype));
    }
    for (const std::string& name : vision().cases("attention_")) {
      const auto& c = vision().config(name);
      AttentionOptions o;
      o.positions = c.at("kind") == "rotary" ? Positions::Rotary : Positions::Alibi;
      MultiheadAttention attention(8, 2, o);
      AttentionRequest r;
      r.causal = c.at("causal");
      check_case(
          vision(), name, attention, dtype, [&](const Var& x) { return attention(x, r).y; },
          5 * tolerance_of(dtype));
      Var x(vision().get(name + ".x", dtype));
      CHECK(distance(attention(x, x, x, r).y.value(), vision().get(name + ".y")) <=
            5 * tolerance_of(dtype));
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
    return matmul(rotary(q, m), transpose(rotary(k, n))).item();
  };
  CHECK(score(5, 2) == Approx(score(3, 0)).epsilon(1e-12));
  CHECK(score(1000, 997) == Approx(score(3, 0)).epsilon(1e-10));
  CHECK(std::abs(score(5, 2) - score(5, 3)) > 1e-3);
  // Position 0 is not turned, and no length changes.
  CHECK(same_bits(rotary(q, 0).value(), q.value()));
  CHECK(dot(q.value(), q.value()) == Approx(dot(rotary(q, 77).value(), rotary(q, 77).value())));
  CHECK_THROWS_AS(RotaryPositions(5), ValueError);
  CHECK_THROWS_AS(RotaryPositions(4, 0), ValueError);
  CHECK_THROWS_AS(rotary(q, -1), ValueError);
  CHECK_THROWS_AS(rotary(Var(draw({1, 4}, 1))), ShapeError);
  CHECK_THROWS_AS(MultiheadAttention(6, 2, {.positions = Positions::Rotary}), ValueError);
  CHECK_THROWS_AS(rotate_pairs(q, zeros({1, 3}), zeros({1, 3})), DTypeError);
  CHECK_THROWS_AS(rotate_pairs(q, draw({2, 3}, 1), draw({2, 3}, 1)), ShapeError);
}

TEST_CASE("the table of rotary positions grows with the length", "[nn][positions]") {
  RotaryPositions grown(128), fresh(128);  // wider than its first table is long
  const Tensor x = draw({1, 300, 128}, 14);
  for (Index n : {10, 100, 90, 300})
    CHECK(close(grown(Var(narrow(x, 1, 0, n))).value(), narrow(fresh(Var(x)).value(), 1, 0, n), 0));
}

TEST_CASE("attention with relative positions: cached equals uncached", "[nn][positions]") {
  for (Positions p : {Positions::Rotary, Positions::Alibi}) {
    seed(1);
    MultiheadAttention attention(8, 2, {.positions = p});
    attention.to(DType::Float64);
    Var x(draw({2, 7, 8}, 12));
    AttentionRequest causal;
    causal.causal = true;
    Tensor whole = attention(x, causal).y.value();
    KeyValueCache cache;
    Index done = 0;
    for (Index n : {3, 1, 1, 2}) {  // a prompt, then steps
      Tensor y = attention(narrow(x, 1, done, n), causal, &cache).y.value();
      CHECK(close(y, narrow(whole, 1, done, n), 1e-13));
      done += n;
    }
    // Seven times the same token: only positions can tell them apart.
    AttentionRequest weights;
    weights.need_weights = true;
    Var same = broadcast_to(narrow(x, 1, 0, 1), {2, 7, 8});
    Tensor w = attention(same, weights).weights.value();
    CHECK(std::abs(w.at<double>({0, 0, 0}) - w.at<double>({0, 0, 6})) > 1e-3);
    CHECK_THROWS_AS(attention.project(x), ValueError);
    CHECK_THROWS_AS(attention(x, Var(x.value().clone())), ValueError);
    CHECK_THROWS_AS(attention(x, narrow(x, 1, 0, 3)), ValueError);
    const Var square(draw({2, 8, 8}, 13));
    CHECK_THROWS_AS(attention(square, transpose(square)), ValueError);
    KeyValueCache in_request;
    causal.cache = &in_request;
    attention(x, causal);
    CHECK(in_request.length == 7);
  }
}

}  // namespace test_relative_positions

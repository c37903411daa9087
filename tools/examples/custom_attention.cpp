// An attention layer of one's own, with its gradient check, as a Catch2 test.
//
//   custom_attention
//
// Queries and keys are scaled to length 1, so a score is the cosine of the angle between them, times a
// factor that is learned (Henry et al. 2020, "Query-key normalization for Transformers").
#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_test_macros.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include "autograd/gradcheck/gradcheck.hpp"
#include "nn/attention/mask.hpp"
#include "nn/linear.hpp"
using namespace glim;

struct CosineAttention : Layer {
  explicit CosineAttention(Index d)
      : GLIM_NAMED(query, d, d),
        GLIM_NAMED(key, d, d),
        GLIM_NAMED(value, d, d),
        GLIM_NAMED(factor, tensor({3})) {}
  Child<Linear> query, key, value;
  Param factor;

 private:
  static Var unit(const Var& x) { return x / sqrt(sum(x * x, {-1}, true)); }
  Var forward(const Var& x) override {  // (B, T, D) -> (B, T, D); position t attends to 0 … t
    Index t = x.size(1);
    Var scores = factor * matmul(unit(query(x)), transpose(unit(key(x))));  // (B, T, T)
    Var probs = masked_softmax(named(scores, "scores"), reshape(causal_keep(t), {t, t}));
    return matmul(named(probs, "probs"), value(x));
  }
};

TEST_CASE("the gradients of cosine attention are right") {
  CosineAttention attention(4);
  attention.to(DType::Float64);
  Var x = Var::leaf(normal({2, 5, 4}, 0, 1, {1, 0}, DType::Float64), "x");
  auto leaves = attention.parameters();
  leaves.push_back(x);
  REQUIRE(gradcheck([&] { return attention(x); }, leaves));
}

TEST_CASE("no position sees a later one") {
  CosineAttention attention(4);
  Tensor x = normal({1, 5, 4}, 0, 1, {1, 0}), other = x.clone();
  narrow(other, 1, 3, 2).fill_(7);
  Tensor y = attention(x).value(), z = attention(other).value();
  REQUIRE(same_bits(narrow(y, 1, 0, 3), narrow(z, 1, 0, 3)));
  REQUIRE_FALSE(same_bits(y, z));
}

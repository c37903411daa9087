// Additive and multiplicative attention against their definitions in torch, and facts about them.
#include "nn/attention/scored.hpp"

#include <memory>

#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tests/catch.hpp"
#include "tests/reference.hpp"

namespace test_scored {

using namespace glim;

namespace {

std::unique_ptr<ScoredAttention> make(const std::string& score) {
  if (score == "additive")
    return std::make_unique<ScoredAttention>(AttentionScore::Additive, 4, 5, 3);
  if (score == "dot") return std::make_unique<ScoredAttention>(AttentionScore::Dot, 5, 5);
  if (score == "general") return std::make_unique<ScoredAttention>(AttentionScore::General, 4, 5);
  return std::make_unique<ScoredAttention>(AttentionScore::Concat, 4, 5, 3);
}
AttentionResult attended(ScoredAttention& a, const Var& query, const Var& keys, const Var& values,
                         const Tensor& keep = {}) {
  return a.attend(query, a.project(keys), values, keep);
}
const std::vector<std::string> kScores = {"additive", "dot", "general", "concat"};

Tensor random(const Shape& shape, std::uint64_t stream) {
  return uniform(shape, -1, 1, {32, stream});
}
Index query_size(const std::string& score) { return score == "dot" ? 5 : 4; }

}  // namespace

TEST_CASE("additive and multiplicative attention equal torch's values",
          "[nn][recurrent][reference]") {
  static const Reference ref("recurrent");
  in_every_form([](DType dtype) {
    for (const std::string& score : kScores)
      for (const char* mask : {"all", "keep", "keep_each"}) {
        std::string name = "attention_" + score + "_" + mask;
        INFO(name << " " << name_of(dtype));
        double limit = tolerance_of(dtype);
        auto attention = make(score);
        attention->to(dtype);
        StateDict state;
        for (const std::string& p : ref.keys(name + ".param."))
          state[p] = ref.get(name + ".param." + p, dtype);
        attention->load_state_dict(state);
        auto leaf = [&](const char* key) { return Var::leaf(ref.get(name + "." + key, dtype)); };
        Var query = leaf("query"), keys = leaf("keys"), values = leaf("values");
        Tensor keep = ref.has(name + ".keep") ? ref.get(name + ".keep") : Tensor();
        Tape tape;
        AttentionResult out = attended(*attention, query, keys, values, keep);
        CHECK(distance(out.context.value(), ref.get(name + ".y")) <= limit);
        CHECK(distance(out.probs.value(), ref.get(name + ".probs")) <= limit);
        auto up = [&](const char* key) { return Var(ref.get(name + "." + key, dtype)); };
        tape.backward(add(sum(mul(out.context, up("dy"))), sum(mul(out.probs, up("dprobs")))));
        CHECK(distance(query.grad(), ref.get(name + ".dquery")) <= limit);
        CHECK(distance(keys.grad(), ref.get(name + ".dkeys")) <= limit);
        CHECK(distance(values.grad(), ref.get(name + ".dvalues")) <= limit);
        for (auto& [path, var] : attention->named_parameters()) {
          INFO(path);
          CHECK(distance(var.grad(), ref.get(name + ".grad." + path)) <= limit);
        }
      }
  });
}

TEST_CASE("what may not be attended to has weight 0 and no gradient", "[nn][recurrent]") {
  Tensor keep = reshape(tensor({1, 1, 0, 0, 0, 0}, DType::Int64).to(DType::Bool), {2, 3});
  for (const std::string& score : kScores) {
    INFO(score);
    auto attention = make(score);
    Var query = Var::leaf(random({2, 2, query_size(score)}, 1));
    Var keys = Var::leaf(random({2, 3, 5}, 2)), values = Var::leaf(random({2, 3, 4}, 3));
    Tape tape;
    AttentionResult out = attended(*attention, query, keys, values, keep);
    Tensor probs = out.probs.value();
    CHECK(max(abs(select(select(probs, 0, 0), 1, 2))).item() == 0);
    CHECK(sum(select(probs, 0, 0)).item() == Approx(2));
    // The second sentence may attend to nothing: zeros, and zero gradients, no NaN.
    CHECK(max(abs(select(probs, 0, 1))).item() == 0);
    CHECK(max(abs(select(out.context.value(), 0, 1))).item() == 0);
    tape.backward(sum(mul(out.context, out.context)));
    for (const Var& v : {query, keys, values}) {
      CHECK(max(abs(select(v.grad(), 0, 1))).item() == 0);
      CHECK(max(abs(select(v.grad(), 0, 0))).item() > 0);
    }
    CHECK(max(abs(select(select(keys.grad(), 0, 0), 0, 2))).item() == 0);
    CHECK(max(abs(select(select(values.grad(), 0, 0), 0, 2))).item() == 0);
  }
}

TEST_CASE("keys projected once serve every step", "[nn][recurrent]") {
  for (const std::string& score : kScores) {
    INFO(score);
    auto attention = make(score);
    Var query(random({2, 4, query_size(score)}, 4)), keys(random({2, 3, 5}, 5));
    AttentionResult all = attended(*attention, query, keys, keys);
    Var projected = attention->project(keys);
    for (Index t = 0; t < 4; ++t) {
      AttentionResult one = attention->attend(narrow(query, 1, t, 1), projected, keys);
      CHECK(distance(select(one.context.value(), 1, 0), select(all.context.value(), 1, t)) < 1e-6);
    }
  }
}

TEST_CASE("general with W = I is dot, concat is additive without bias", "[nn][recurrent]") {
  Var query(random({2, 3, 5}, 6)), keys(random({2, 4, 5}, 7));
  ScoredAttention dot(AttentionScore::Dot, 5, 5), general(AttentionScore::General, 5, 5),
      concat(AttentionScore::Concat, 5, 5), additive(AttentionScore::Additive, 5, 5);
  general.key->weight.value().copy_(eye(5));
  auto probs = [&](ScoredAttention& a) { return attended(a, query, keys, keys).probs.value(); };
  CHECK(distance(probs(dot), probs(general)) < 1e-6);
  additive.query->weight.value().copy_(concat.query->weight.value());
  additive.key->weight.value().copy_(concat.key->weight.value());
  additive.v->weight.value().copy_(concat.v->weight.value());
  additive.key->bias.value().fill_(0);
  CHECK(distance(probs(additive), probs(concat)) < 1e-6);
}

TEST_CASE("scored attention refuses what does not fit", "[nn][recurrent]") {
  CHECK_THROWS_AS(ScoredAttention(AttentionScore::Additive, 0, 2, 3), ValueError);
  CHECK_THROWS_AS(ScoredAttention(AttentionScore::Additive, 2, 0, 3), ValueError);
  CHECK_THROWS_AS(ScoredAttention(AttentionScore::Additive, 2, 3, -1), ValueError);
  CHECK_THROWS_AS(ScoredAttention(AttentionScore::Dot, 3, 4), ValueError);
  CHECK_THROWS_AS(ScoredAttention(AttentionScore::General, 0, 4), ValueError);
  for (const std::string& score : kScores) {
    INFO(score);
    auto attention = make(score);
    Var query(zeros({2, 3, query_size(score)})), keys(zeros({2, 4, 5})), values(zeros({2, 4, 6}));
    auto with = [&](const Tensor& keep) { attended(*attention, query, keys, values, keep); };
    CHECK_THROWS_AS(attended(*attention, Var(zeros({2, 3, 7})), keys, values), ShapeError);
    CHECK_THROWS_AS(attended(*attention, Var(zeros({1, 3, query_size(score)})), keys, values),
                    ShapeError);
    CHECK_THROWS_AS(attended(*attention, query, keys, Var(zeros({2, 5, 6}))), ShapeError);
    CHECK_THROWS_AS(attended(*attention, query, keys, Var(zeros({4, 6}))), ShapeError);
    CHECK_THROWS_AS(with(ones({2, 4})), DTypeError);
    CHECK_THROWS_AS(with(ones({2, 3}, DType::Bool)), ShapeError);
    CHECK_THROWS_AS(with(ones({1, 4}, DType::Bool)), ShapeError);
  }
}

}  // namespace test_scored

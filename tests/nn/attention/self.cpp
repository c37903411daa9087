// Scaled dot-product attention and single-head self-attention against torch, and exact facts.
#include "nn/attention/self.hpp"

#include "nn/attention/mask.hpp"
#include "nn/attention/multihead.hpp"
#include "nn/init.hpp"
#include "tensor/matmul/matmul.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tests/catch.hpp"
#include "tests/reference.hpp"

namespace test_self {

using namespace glim;

namespace {

constexpr DType kDouble = DType::Float64;

}  // namespace

TEST_CASE(
    "the forms of attention weigh kept keys by softmax, by relu over their number, or by scores",
    "[attention]") {
  const Tensor q = normal({3, 4}, 0, 1, {7, 1}, DType::Float64),
               k = normal({5, 4}, 0, 1, {7, 2}, DType::Float64),
               v = normal({5, 2}, 0, 1, {7, 3}, DType::Float64);
  const Tensor s = div(matmul(q, transpose(k)), 2);
  // Query t may attend to keys 0 ... t - 1, the first one to none.
  const Tensor keep = reshape(causal_keep(3, 5, -1), {3, 5});
  const std::vector<Index> kept{0, 1, 2};
  auto attend = [&](AttentionForm form, const Tensor& mask) {
    return scaled_dot_product_attention(q, Var(k), Var(v), {mask, {}, 0, form}, 0, {}, true);
  };
  for (const bool masked : {false, true}) {
    const Tensor mask = masked ? keep : Tensor();
    const AttentionResult relu = attend(AttentionForm::Relu, mask),
                          linear = attend(AttentionForm::Linear, mask);
    for (Index t = 0; t < 3; ++t)
      for (Index i = 0; i < 5; ++i) {
        auto cell = [&](const Tensor& x) { return select(select(x, 0, t), 0, i).item(); };
        const Index n = masked ? kept[static_cast<std::size_t>(t)] : 5;
        const double score = i < n ? cell(s) : 0;
        CHECK(cell(linear.probs.value()) == Approx(score));
        CHECK(cell(relu.probs.value()) ==
              Approx(std::max(0.0, score) / static_cast<double>(std::max<Index>(1, n))));
      }
    CHECK(close(relu.context.value(), matmul(relu.probs.value(), v)));
    CHECK(close(attend(AttentionForm::Softmax, mask).context.value(),
                scaled_dot_product_attention(q, Var(k), Var(v), {mask, {}}).context.value()));
  }
  CHECK(error_of<ValueError>([] {
          MultiheadAttention(4, 2, {.positions = Positions::Alibi, .form = AttentionForm::Linear});
        }).find("no ALiBi") != std::string::npos);
}

TEST_CASE("scaled dot-product attention equals torch's", "[attention][reference]") {
  const Reference& ref = stored("layers");
  int cases = 0;
  for (const std::string& name : ref.cases("attention")) {
    if (name == "attention_single_head") continue;
    ++cases;
    in_every_form([&](DType dtype) {
      INFO(name << " " << name_of(dtype));
      auto get = [&](const std::string& key) { return ref.get(name + "." + key, dtype); };
      Var query = Var::leaf(get("query")), key = Var::leaf(get("key")),
          value = Var::leaf(get("value"));
      AttentionMask mask;
      if (ref.has(name + ".keep")) mask.keep = get("keep");
      if (ref.has(name + ".bias")) mask.bias = Var::leaf(get("bias"));
      if (name == "attention_causal")
        mask.keep = tril(ones({3, 3}, DType::Float64)).to(DType::Bool);
      // Another scale than 1/√Dk is a factor on the queries.
      double scale = ref.config(name).value("scale", 0.5);
      Tape tape;
      Var y = scaled_dot_product_attention(mul(query, scale / 0.5), key, value, mask).context;
      double tolerance = tolerance_of(dtype);
      CHECK(distance(y.value(), get("y")) <= tolerance);
      tape.backward(y, get("dy"));
      CHECK(distance(query.grad(), get("dquery")) <= tolerance);
      CHECK(distance(key.grad(), get("dkey")) <= tolerance);
      CHECK(distance(value.grad(), get("dvalue")) <= tolerance);
      if (mask.bias.defined()) CHECK(distance(mask.bias.grad(), get("dbias")) <= tolerance);
    });
  }
  CHECK(cases == 7);
}

TEST_CASE("single-head self-attention equals torch's", "[attention][reference]") {
  const Reference& ref = stored("layers");
  const std::string name = "attention_single_head";
  in_every_form([&](DType dtype) {
    SelfAttention attention(2, 4, 5);
    attention.to(dtype);
    StateDict state;
    for (const std::string& p : ref.keys(name + ".param."))
      state[p] = ref.get(name + ".param." + p, dtype);
    attention.load_state_dict(state);
    Var x = Var::leaf(ref.get(name + ".x", dtype));
    Tape tape;
    Var y = attention(x);
    CHECK(x.shape() == Shape{4, 3, 2});
    CHECK(y.shape() == Shape{4, 3, 5});
    CHECK(distance(y.value(), ref.get(name + ".y")) <= tolerance_of(dtype));
    tape.backward(y, ref.get(name + ".dy", dtype));
    CHECK(distance(x.grad(), ref.get(name + ".dx")) <= tolerance_of(dtype));
    for (auto& [path, var] : attention.named_parameters()) {
      INFO(path);
      CHECK(distance(var.grad(), ref.get(name + ".grad." + path)) <= tolerance_of(dtype));
    }
  });
}

TEST_CASE("scores are scaled before the softmax, not after", "[attention]") {
  SelfAttention attention(6, 16, 3);
  attention.to(kDouble);
  attention.eval();
  Var x(normal({2, 5, 6}, 0, 1, {1, 1}, kDouble));
  AttentionResult out = attention(x, AttentionMask{}, true);
  Tensor sums = sum(out.probs.value(), {-1});
  CHECK(close(sums, ones({2, 5}, kDouble), 1e-14));  // scaling after it leaves 1/√d_k
  Tensor scores = matmul(attention.query(x).value(), transpose(attention.key(x).value()));
  CHECK(close(out.probs.value(), softmax(mul(scores, 0.25)), 1e-14));
  CHECK(distance(out.probs.value(), mul(softmax(scores), 0.25)) > 0.01);
}

TEST_CASE("dropout acts on the probabilities in training alone", "[attention]") {
  SelfAttention attention(4, 3, 2, 0.5);
  Var x(normal({2, 6, 4}, 0, 1, {6, 1}));
  seed(1);
  Tensor a = attention(x).value();
  seed(1);
  CHECK(same_bits(a, attention(x).value()));
  CHECK_FALSE(same_bits(a, attention(x).value()));
  attention.eval();
  CHECK(same_bits(attention(x).value(), attention(x).value()));
}

TEST_CASE("what self-attention refuses", "[attention]") {
  CHECK_THROWS_AS(SelfAttention(4, 0, 2), ValueError);
  CHECK_THROWS_AS(SelfAttention(4, 3, 2, 1.5), ValueError);
  SelfAttention attention(4, 3, 2);
  Scope scope("net");
  auto text = error_of<ShapeError>([&] { attention(Var(zeros({2, 3, 5}))); });
  CHECK(contains(text, "(2, 3, 5)"));
  CHECK(contains(text, "in net.query"));
}

}  // namespace test_self

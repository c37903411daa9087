// The decoder-only model against PyTorch, and against facts that must hold exactly.
#include "models/gpt/gpt.hpp"

#include <cmath>

#include "autograd/op_form.hpp"
#include "models/decoding/sampling.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tests/models/common.hpp"

namespace test_gpt {

using namespace glim;

namespace {

GptConfig small(Index context = 6, bool bias = false) {
  auto c = sized<GptConfig>(11, 8, 2, 20, 2);
  c.context = context;
  c.bias = bias;
  return c;
}

Tensor text(Index rows, Index columns, std::uint64_t stream) {
  return random_integers({rows, columns}, 0, 11, {7, stream});
}

double deviation(const Tensor& x) {
  Tensor d = x.to(DType::Float64);
  return std::sqrt(sum(mul(d, d)).item() / static_cast<double>(d.numel()));
}

}  // namespace

TEST_CASE("GPT: logits, loss and gradients equal PyTorch's by name", "[gpt][reference]") {
  Reference ref("language");
  for (const char* name : {"gpt_no_bias", "gpt_bias"}) {
    in_every_form([&](DType dtype) {
      Gpt model(small(6, ref.config(name).at("bias")));
      check_model(
          ref, name, model, dtype, [&] { return model(ref.get(std::string(name) + ".ids")); },
          "wte.weight");
    });
  }
}

TEST_CASE("GPT starts as nanoGPT does", "[gpt]") {
  seed(1);
  GptConfig c;
  c.vocab = 65;
  c.bias = true;
  Gpt model(c);
  auto at = [&](const std::string& name) { return model.state_dict().at(name); };
  CHECK(deviation(at("wte.weight")) == Approx(0.02).epsilon(0.05));
  CHECK(deviation(at("wpe.weight")) == Approx(0.02).epsilon(0.05));
  CHECK(deviation(at("transformer.layers.0.linear1.weight")) == Approx(0.02).epsilon(0.05));
  CHECK(deviation(at("transformer.layers.3.linear2.weight")) ==
        Approx(0.02 / std::sqrt(8)).epsilon(0.05));
  CHECK(deviation(at("transformer.layers.1.self_attn.out_proj.weight")) ==
        Approx(0.02 / std::sqrt(8)).epsilon(0.05));
  CHECK(deviation(at("transformer.layers.2.self_attn.in_proj_bias")) == 0);
  CHECK(deviation(at("transformer.layers.2.linear1.bias")) == 0);
  CHECK(same_bits(at("transformer.norm.weight"), ones({128})));
  // The loss begins at ln V.
  Tensor seen = random_integers({4, 65}, 0, 65, {1, 1});
  Var loss = cross_entropy(model(narrow(seen, 1, 0, 64)), narrow(seen, 1, 1, 64));
  CHECK(loss.item() == Approx(std::log(65.0)).margin(0.05));
  // nanoGPT's count for its 4-layer CPU model without biases: 0.80 M (positions not counted).
  c.bias = false;
  CHECK(Gpt(c).parameter_count() - 64 * 128 == 795904);
}

TEST_CASE("GPT: no position sees a later one", "[gpt]") {
  for (OpForm m : {OpForm::Fused, OpForm::Explicit}) {
    UseForm use(m);
    seed(2);
    Gpt model(small());
    model.to(DType::Float64);
    Tensor a = text(2, 6, 1), b = a.clone();
    for (Index row : {0, 1}) b.data<Index>()[row * 6 + 4] = (b.data<Index>()[row * 6 + 4] + 1) % 11;
    Tensor x = model(a).value(), y = model(b).value();
    CHECK(same_bits(narrow(x, 1, 0, 4), narrow(y, 1, 0, 4)));
    CHECK_FALSE(same_bits(narrow(x, 1, 4, 1), narrow(y, 1, 4, 1)));
    CHECK_FALSE(same_bits(narrow(x, 1, 5, 1), narrow(y, 1, 5, 1)));
  }
}

namespace {

void check_cached(GptConfig c) {
  seed(3);
  c.dropout = 0.3;  // off in eval
  Gpt model(c);
  model.to(DType::Float64);
  model.eval();
  for (Index slide : {0, 1, 3, 8}) {
    for (Index prefix : {0, 1, 5, 7}) {
      INFO("slide " << slide << " prefix " << prefix);
      Tensor start = text(2, prefix, 4);
      auto cached = model.decoder_for(start, slide);
      // The right context, by the rule in the header.
      std::vector<std::vector<Index>> rows(2);
      for (Index r : {0, 1})
        for (Index t = 0; t < prefix; ++t)
          rows[static_cast<std::size_t>(r)].push_back(start.at<Index>({r, t}));
      Index dropped = slide == 0 ? 2 : slide;
      for (Index step = 0; step < 30; ++step) {
        std::vector<Index> tokens{step % 11, (3 * step + 1) % 11};
        std::vector<Index> flat;
        for (std::size_t r = 0; r < 2; ++r) {
          if (rows[r].size() == 8) rows[r].erase(rows[r].begin(), rows[r].begin() + dropped);
          rows[r].push_back(tokens[r]);
          flat.insert(flat.end(), rows[r].begin(), rows[r].end());
        }
        Tensor a = cached->step(tokens);
        REQUIRE(a.shape() == Shape{2, 11});
        auto length = static_cast<Index>(rows[0].size());
        Tensor whole = model(from_vector(flat, {2, length})).value();
        CHECK(close(a, select(whole, 1, -1), 1e-12));
        if (step % 4 == 3) {  // beams move
          cached->select_rows({1, 1});
          rows[0] = rows[1];
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("GPT: cached decoding equals computing the whole context", "[gpt][cache]") {
  GptConfig c = small(8, true);
  for (const auto& [name, positions] : kNames<Positions>.list) {
    INFO(name);
    c.positions = positions;
    c.qk_norm = false;
    check_cached(c);
    c.qk_norm = true;
    check_cached(c);
    c.attention_form = AttentionForm::Relu;
    check_cached(c);
    c.attention_form = AttentionForm::Softmax;
  }
}

// The definition of decoding: the whole context at each step, without its first quarter when it is full.
class ContextDecoder final : public StepDecoder {
 public:
  explicit ContextDecoder(Gpt& model) : model_(model) {}
  Tensor step(const std::vector<Index>& tokens) override {
    const auto most = static_cast<std::size_t>(model_.config().context);
    rows_.resize(tokens.size());
    std::vector<Index> flat;
    for (std::size_t r = 0; r < tokens.size(); ++r) {
      std::vector<Index>& row = rows_[r];
      if (row.size() == most)
        row.erase(row.begin(), row.begin() + static_cast<std::ptrdiff_t>((most + 3) / 4));
      row.push_back(tokens[r]);
      flat.insert(flat.end(), row.begin(), row.end());
    }
    const auto rows = static_cast<Index>(tokens.size());
    return select(model_(from_vector(flat, {rows, std::ssize(flat) / rows})), 1, -1).value();
  }
  void select_rows(const std::vector<Index>& rows) override {
    std::vector<std::vector<Index>> next;
    for (Index r : rows) next.push_back(rows_[static_cast<std::size_t>(r)]);
    rows_ = std::move(next);
  }

 private:
  Gpt& model_;
  std::vector<std::vector<Index>> rows_;
};

TEST_CASE("GPT: the equations of today's block, by the model's parts", "[gpt]") {
  GptConfig c = small(8);
  c.layers = 1;
  c.norm_kind = NormKind::Rms;
  c.feed_forward = FeedForward::Gated, c.activation = Activation::Silu;
  c.kv_heads = 1;
  seed(6);
  Gpt model(c);
  model.to(DType::Float64);
  EncoderLayer& layer = model.transformer.layers[0];
  auto norm = [](const Var& x) { return x / sqrt(mean(x * x, {-1}, true) + 1e-5); };  // γ is 1
  Var x = model.wpe(model.wte(text(2, 6, 8)));
  CHECK(layer.self_attn.in_proj.weight.shape() == Shape{8 + 2 * 4, 8});
  x = x + layer.self_attn(norm(x), AttentionRequest{.causal = true}).y;
  x = x + layer.linear2(silu(layer.linear1(norm(x))) * layer.linear3(norm(x)));
  CHECK(close(model(text(2, 6, 8)).value(), model.lm_head(norm(x)).value(), 1e-12));
  check_cached(c);
}

TEST_CASE("GPT: search and sampling agree with and without the cache", "[gpt][cache]") {
  seed(4);
  Gpt model(small(6));
  model.to(DType::Float64);
  model.eval();
  for (const Var& p : model.parameters())
    p.value().copy_(mul(p.value(), scalar(20, DType::Float64)));
  Tensor none = zeros({1, 0}, DType::Int64);
  SearchOptions o;
  o.beam = 3;
  auto x = model.decoder_for(none);
  ContextDecoder y(model);
  auto found = search(*x, {20}, o), expected = search(y, {20}, o);
  CHECK(found[0][0].tokens == expected[0][0].tokens);
  auto sampled = [&](bool cached, std::uint64_t stream) {
    std::unique_ptr<StepDecoder> decoder = model.decoder_for(none);
    if (!cached) decoder = std::make_unique<ContextDecoder>(model);
    return generate(*decoder, 5, 40, {}, {9, stream});
  };
  CHECK(sampled(true, 0).size() == 40);
  CHECK(sampled(true, 0) == sampled(false, 0));
  CHECK(sampled(true, 0) == sampled(true, 0));
  CHECK(sampled(true, 0) != sampled(true, 1));
}

TEST_CASE("GPT: what cannot be is refused", "[gpt]") {
  auto refused = [](auto change) {
    GptConfig c = small();
    change(c);
    return error_of<ValueError>([&] { Gpt model(c); });
  };
  CHECK(refused([](GptConfig& c) { c.heads = 3; }) == "attention: 3 heads do not divide d_model 8");
  CHECK(refused([](GptConfig& c) { c.kv_heads = 3; }) ==
        "attention: 2 heads cannot share 3 of keys and values");
  CHECK(refused([](GptConfig& c) { c.vocab = 0; }) != "");
  CHECK(refused([](GptConfig& c) { c.context = 0; }) != "");
  CHECK(refused([](GptConfig& c) { c.dropout = 1.5; }) != "");
  Gpt model(small());
  CHECK_THROWS_AS(model(text(1, 7, 1)), IndexError);
  CHECK_THROWS_AS(model(full({1, 2}, 11, DType::Int64)), IndexError);
  CHECK_THROWS_AS(model(zeros({1, 0}, DType::Int64)), ShapeError);
  CHECK_THROWS_AS(model.decoder_for(text(1, 2, 1)), StateError);
  model.eval();
  CHECK(contains(error_of<ValueError>([&] { model.decoder_for(text(1, 6, 1)); }),
                 "a prefix of 6 tokens leaves no room in a context of 6"));
  CHECK_THROWS_AS(model.decoder_for(text(1, 2, 1), 7), ValueError);
  auto decoder = model.decoder_for(text(1, 2, 1));
  CHECK_THROWS_AS(decoder->step({1, 2}), ValueError);
}

}  // namespace test_gpt

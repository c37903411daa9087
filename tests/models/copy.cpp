// Copying words of the source: the mixture against PyTorch, a Transformer that copies, and facts.
#include "models/copy.hpp"

#include <cmath>

#include "models/transformer.hpp"
#include "tensor/elementwise.hpp"
#include "tensor/reduce.hpp"
#include "tests/catch.hpp"
#include "tests/reference.hpp"

using namespace glim;

namespace {

Tensor ids(std::initializer_list<double> list, const Shape& shape) {
  return tensor(list, DType::Int64).reshape(shape);
}

TransformerConfig copying_config() {
  TransformerConfig c;
  c.src_vocab = c.tgt_vocab = 13;
  c.d_model = 16;
  c.heads = 4;
  c.d_ff = 32;
  c.encoder_layers = c.decoder_layers = 2;
  c.dropout = 0;
  c.copy = true;
  return c;
}

// Two sentences: 3 (unknown to the target) twice with another word between, and a shorter one.
SourceBatch sources() {
  SourceBatch s(ids({3, 5, 3, 2, 3, 2, 0, 0}, {2, 4}));
  s.copy_ids = ids({13, 14, 13, 2, 13, 2, 0, 0}, {2, 4});
  s.extra = 2;
  return s;
}

}  // namespace

TEST_CASE("the copy mixture equals PyTorch's", "[copy][reference]") {
  Reference file("variants");
  for (const std::string name : {"copy_mixture", "copy_mixture_no_extra"})
    in_every_form([&](DType dtype) {
      double tolerance = dtype == DType::Float64 ? 1e-10 : 1e-4;
      auto leaf = [&](const char* key) {
        return Var::leaf(file.get(name + "." + key, dtype).clone());
      };
      Var logits = leaf("logits"), p_gen = leaf("p_gen"), attention = leaf("attention");
      Tape tape;
      Var y = copy_mixture(logits, p_gen, attention, file.get(name + ".copy_ids"),
                           file.config(name).at("extra").get<Index>());
      CHECK(close(y.value(), file.get(name + ".y"), tolerance));
      tape.backward(y, file.get(name + ".dy", dtype));
      CHECK(close(logits.grad(), file.get(name + ".dlogits"), tolerance));
      CHECK(close(p_gen.grad(), file.get(name + ".dp_gen"), tolerance));
      CHECK(close(attention.grad(), file.get(name + ".dattention"), tolerance));
    });
}

TEST_CASE("a copying Transformer equals PyTorch's by name", "[copy][reference]") {
  for (NormPlacement norm : {NormPlacement::Pre, NormPlacement::Post}) {
    SafeTensors file =
        read_safetensors(std::string(GLIM_REFERENCE) + "/transformer_copy_" +
                         (norm == NormPlacement::Pre ? "pre" : "post") + ".safetensors");
    auto& t = file.tensors;
    in_every_form([&](DType dtype) {
      double tolerance = dtype == DType::Float64 ? 1e-10 : 1e-4;
      TransformerConfig c = copying_config();
      c.norm = norm;
      Transformer model(c);
      model.to(dtype);
      StateDict state;
      for (auto& [key, value] : model.state_dict()) state[key] = t.at("param." + key);
      model.load_state_dict(state);
      SourceBatch source(t.at("src"));
      source.copy_ids = t.at("copy_ids");
      source.extra = 3;
      Tape tape;
      Var y = model.teach(source, t.at("tgt_in")).logits;
      CHECK(close(y.value(), t.at("y"), tolerance));
      Var loss = label_smoothing_loss(reshape(y, {-1, 16}), t.at("tgt_out").reshape({-1}), 0, 0);
      CHECK(loss.item() == Approx(t.at("loss").item()).epsilon(tolerance));
      tape.backward(loss);
      int compared = 0, stored = 0;
      for (auto& [key, parameter] : model.named_parameters()) {
        INFO(key);
        REQUIRE(parameter.grad().defined());
        CHECK(close(parameter.grad(), t.at("grad." + key), tolerance));
        ++compared;
      }
      for (auto& [key, value] : t) stored += key.rfind("grad.", 0) == 0;
      CHECK(compared == stored);
    });
  }
}

TEST_CASE("the mixture is a distribution, and only the sentence's own words can be copied",
          "[copy]") {
  seed(3);
  Transformer model(copying_config());
  model.to(DType::Float64);
  Tensor y = model.teach(sources(), ids({1, 4, 1, 4}, {2, 2})).logits.value();
  REQUIRE(y.shape() == Shape{2, 2, 15});
  Tensor probs = exp(y);
  CHECK(close(sum(probs, {-1}), ones({2, 2}, DType::Float64), 1e-10));
  // Column 14 is a word of the first sentence alone; the second cannot say it.
  CHECK(probs.at<double>({0, 0, 14}) > 1e-3);
  CHECK(probs.at<double>({1, 0, 14}) < 1e-11);
  CHECK(probs.at<double>({1, 0, 13}) > 1e-3);
}

TEST_CASE("equal words of the source add up in one column", "[copy]") {
  Tensor attention = tensor({0.5, 0.2, 0.3}, DType::Float64).reshape({1, 1, 3});
  Tensor y = copy_mixture(Var(zeros({1, 1, 2}, DType::Float64)),
                          Var(full({1, 1, 1}, 0.25, DType::Float64)), Var(attention),
                          ids({2, 1, 2}, {1, 3}), 1)
                 .value();
  CHECK(close(exp(y), tensor({0.125, 0.125 + 0.15, 0.6}, DType::Float64).reshape({1, 1, 3}), 1e-9));
}

TEST_CASE("cached copying equals copying with the whole prefix", "[copy][cache]") {
  seed(4);
  Transformer model(copying_config());
  model.to(DType::Float64);
  model.eval();
  auto cached = model.decoder_for(sources()), plain = model.decoder_for(sources(), false);
  std::vector<Index> tokens{1, 1};
  for (int step = 0; step < 12; ++step) {
    Tensor a = cached->step(tokens), b = plain->step(tokens);
    CHECK(a.shape() == Shape{2, 15});
    CHECK(close(a, b, 1e-11));
    std::vector<Index> rows{step % 3 == 0 ? 1 : 0, 1};  // beams move, also between sentences
    cached->select_rows(rows);
    plain->select_rows(rows);
    tokens = {3 + step % 12, 14 - step % 5};  // words beyond the vocabulary, too
  }
  for (int beam : {1, 4}) {
    SearchOptions o;
    o.beam = beam;
    auto found = model.generate_sequences(sources(), {9, 9}, o, true);
    auto expected = model.generate_sequences(sources(), {9, 9}, o, false);
    for (std::size_t i = 0; i < 2; ++i) {
      CHECK(found[i][0].tokens == expected[i][0].tokens);
      CHECK(found[i][0].score == Approx(expected[i][0].score).epsilon(1e-10));
    }
  }
}

TEST_CASE("where the gate is shut everything is copied", "[copy]") {
  seed(5);
  Transformer model(copying_config());
  model.to(DType::Float64);
  model.eval();
  model.copy->p_gen.bias.value().fill_(-60);
  SearchOptions o;
  for (auto& found : model.generate_sequences(sources(), {6, 6}, o))
    for (Index token : found[0].tokens) CHECK(token >= 13);
  auto second = model.generate_sequences(sources(), {6, 6}, o)[1];
  for (Index token : second[0].tokens) CHECK(token == 13);
}

TEST_CASE("what copying refuses", "[copy]") {
  Var logits(zeros({1, 2, 3})), p(zeros({1, 2, 1})), a(zeros({1, 2, 4}));
  Tensor at = zeros({1, 4}, DType::Int64);
  CHECK(contains(error_of<ShapeError>([&] { copy_mixture(logits, a, a, at, 0); }), "p_gen"));
  CHECK(contains(error_of<ShapeError>([&] {
                   copy_mixture(logits, p, a, zeros({1, 3}, DType::Int64), 0);
                 }),
                 "copy_ids"));
  CHECK_THROWS_AS(copy_mixture(logits, p, a, zeros({1, 4}), 0), DTypeError);
  CHECK_THROWS_AS(copy_mixture(logits, p, a, full({1, 4}, 3, DType::Int64), 0), IndexError);
  CHECK_THROWS_AS(copy_mixture(logits, p, a, at, -1), ValueError);
  Transformer model(copying_config());
  CHECK(contains(error_of<ValueError>([&] {
                   model.teach(SourceBatch(ids({3, 2}, {1, 2})), ids({1}, {1, 1}));
                 }),
                 "copy_ids"));
  // Without copying, a number beyond the vocabulary stays an error.
  TransformerConfig c = copying_config();
  c.copy = false;
  Transformer plain(c);
  CHECK_THROWS_AS(plain.teach(SourceBatch(ids({3, 2}, {1, 2})), ids({13}, {1, 1})), IndexError);
  CHECK(embeddable(ids({0, 12, 13, 20}, {4}), 13, 3).to_vector<Index>() ==
        std::vector<Index>{0, 12, 3, 3});
}

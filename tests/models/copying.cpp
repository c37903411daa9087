// Copying words of the source: the mixture against PyTorch, a Transformer that copies, and facts.
#include <cmath>

#include "models/rnn/seq2seq_rnn.hpp"
#include "models/transformer/transformer.hpp"
#include "nn/attention/pointer_generator.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tests/models/common.hpp"

namespace test_copying {

using namespace glim;

namespace {

TransformerConfig copying_config() {
  auto c = sized<TransformerConfig>(13, 16, 4, 32, 2);
  c.copy = true;
  return c;
}

Seq2SeqRnnConfig copying_rnn(CellKind cell, AttentionScore score) {
  auto c = sized_recurrent<Seq2SeqRnnConfig>(9, 10, 4, 6);
  c.cell = cell;
  c.attention = score;
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
      double tolerance = model_tolerance(dtype);
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
    Reference ref(norm == NormPlacement::Pre ? "transformer_copy_pre" : "transformer_copy_post");
    in_every_form([&](DType dtype) {
      double tolerance = model_tolerance(dtype);
      TransformerConfig c = copying_config();
      c.norm = norm;
      Transformer model(c);
      load_case(ref, "", model, dtype);
      SourceBatch source(ref.get("src"));
      source.copy_ids = ref.get("copy_ids");
      source.extra = 3;
      Tape tape;
      Var y = model.teach(source, ref.get("tgt_in")).logits;
      CHECK(close(y.value(), ref.get("y"), tolerance));
      Var loss =
          label_smoothing_loss(reshape(y, {-1, 16}), reshape(ref.get("tgt_out"), {-1}), 0, 0);
      CHECK(loss.item() == Approx(ref.get("loss").item()).epsilon(tolerance));
      tape.backward(loss);
      check_gradients(ref, "", model, tolerance);
    });
  }
}

TEST_CASE("copying recurrent models equal PyTorch's by name", "[copy][reference]") {
  Reference ref("seq2seq_rnn_copy");
  for (const std::string& name : ref.cases(""))
    in_every_form([&](DType dtype) {
      INFO(name);
      double tolerance = model_tolerance(dtype);
      const auto& config = ref.config(name);
      Seq2SeqRnnConfig c = copying_rnn(
          config.at("cell") == "lstm" ? CellKind::Lstm : CellKind::Gru,
          config.at("attention") == "general" ? AttentionScore::General : AttentionScore::Additive);
      c.layers = config.at("layers");
      Seq2SeqRnn model(c);
      load_case(ref, name + ".", model, dtype);
      SourceBatch source(ref.get(name + ".src"));
      source.copy_ids = ref.get(name + ".copy_ids");
      source.extra = config.at("extra");
      Tape tape;
      TeachOptions defer;
      defer.defer_logits = true;  // a mixture is no linear layer: it cannot be left to the loss
      TeacherForced taught = model.teach(source, ref.get(name + ".tgt_in"), defer);
      REQUIRE(taught.logits.defined());
      CHECK(close(taught.logits.value(), ref.get(name + ".y"), tolerance));
      Var loss = label_smoothing_loss(reshape(taught.logits, {-1, 12}),
                                      reshape(ref.get(name + ".tgt_out"), {-1}), 0, 0);
      CHECK(loss.item() == Approx(ref.get(name + ".loss").item()).epsilon(tolerance));
      tape.backward(loss);
      check_gradients(ref, name + ".", model, tolerance);
    });
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
  Tensor attention = reshape(tensor({0.5, 0.2, 0.3}, DType::Float64), {1, 1, 3});
  Tensor y = copy_mixture(Var(zeros({1, 1, 2}, DType::Float64)),
                          Var(full({1, 1, 1}, 0.25, DType::Float64)), Var(attention),
                          ids({2, 1, 2}, {1, 3}), 1)
                 .value();
  CHECK(
      close(exp(y), reshape(tensor({0.125, 0.125 + 0.15, 0.6}, DType::Float64), {1, 1, 3}), 1e-9));
}

TEST_CASE("cached copying equals copying with the whole prefix", "[copy][cache]") {
  seed(4);
  Transformer model(copying_config());
  evaluate_in_float64(model);
  check_cached(model, sources(), 15, 12, 1e-11);  // words beyond V, too

  for (CellKind cell : {CellKind::Gru, CellKind::Lstm})
    for (AttentionScore score : {AttentionScore::Additive, AttentionScore::Dot}) {
      Seq2SeqRnn recurrent(copying_rnn(cell, score));
      SourceBatch source = sources();
      source.copy_ids = ids({10, 11, 10, 2, 10, 2, 0, 0}, {2, 4});
      evaluate_in_float64(recurrent);
      check_cached(recurrent, source, 12, 12, 1e-11);
    }
}

TEST_CASE("a recurrent model samples from what it copies, too", "[copy][sampling]") {
  seed(6);
  Seq2SeqRnn model(copying_rnn(CellKind::Gru, AttentionScore::Additive));
  model.to(DType::Float64);
  model.copy->p_gen.bias.value().fill_(-60);  // it only copies
  SourceBatch source = sources();
  source.copy_ids = ids({10, 11, 10, 11, 11, 10, 0, 0}, {2, 4});
  Tensor target = ids({1, 4, 5, 6, 1, 7, 8, 9}, {2, 4});
  TeachOptions all;
  all.sampling = 1;
  Tensor sampled = model.teach(source, target, all).logits.value();
  // Its own words are 10 and 11, which it reads back as unk 3.
  Tensor by_hand = model.teach(source, ids({1, 3, 3, 3, 1, 3, 3, 3}, {2, 4})).logits.value();
  CHECK(close(sampled, by_hand, 1e-12));
  CHECK_FALSE(close(sampled, model.teach(source, target).logits.value(), 1e-6));
}

TEST_CASE("where the gate is shut everything is copied", "[copy]") {
  seed(5);
  Transformer model(copying_config());
  evaluate_in_float64(model);
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

}  // namespace test_copying

// The recurrent sequence-to-sequence model against PyTorch, and against facts that must hold.
#include "models/rnn/seq2seq_rnn.hpp"

#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tests/models/common.hpp"

namespace test_seq2seq_rnn {

using namespace glim;

namespace {

constexpr AttentionScore kScores[] = {AttentionScore::Additive, AttentionScore::Dot,
                                      AttentionScore::General, AttentionScore::Concat,
                                      AttentionScore::None};

Seq2SeqRnnConfig small(AttentionScore score = AttentionScore::Additive,
                       CellKind cell = CellKind::Gru, Index layers = 1) {
  auto c = sized_recurrent<Seq2SeqRnnConfig>(9, 10, 4, 6);
  c.layers = layers;
  c.cell = cell;
  c.attention = score;
  return c;
}

const Tensor kSource = ids({3, 4, 5, 6, 2, 7, 8, 2, 0, 0}, {2, 5});
const Tensor kTarget = ids({1, 3, 4, 5, 1, 6, 0, 0}, {2, 4});

AttentionScore score_of(const std::string& name) {
  return name == "additive"  ? AttentionScore::Additive
         : name == "dot"     ? AttentionScore::Dot
         : name == "general" ? AttentionScore::General
                             : AttentionScore::Concat;
}

}  // namespace

TEST_CASE("recurrent models: logits, loss and gradients equal PyTorch's by name",
          "[seq2seq_rnn][reference]") {
  Reference ref("seq2seq_rnn");
  for (const std::string& name : ref.cases("")) {
    in_every_form([&](DType dtype) {
      INFO(name << " " << name_of(dtype));
      const auto& config = ref.config(name);
      double tolerance = model_tolerance(dtype);
      Seq2SeqRnn model(small(score_of(config.at("attention")),
                             config.at("cell") == "lstm" ? CellKind::Lstm : CellKind::Gru,
                             config.at("layers")));
      load_case(ref, name + ".", model, dtype);
      Tape tape;
      TeachOptions options;
      options.need_attention = true;
      TeacherForced taught =
          model.teach(ref.get(name + ".src"), ref.get(name + ".tgt_in"), options);
      CHECK(close(taught.logits.value(), ref.get(name + ".logits"), tolerance));
      REQUIRE(taught.attention.size() == 1);
      CHECK(close(taught.attention[0].value(), ref.get(name + ".attention"), tolerance));
      Var loss = cross_entropy(reshape(taught.logits, {-1, 10}),
                               reshape(ref.get(name + ".tgt_out"), {-1}), {.ignore_index = 0});
      CHECK(close(loss.value(), ref.get(name + ".loss"), tolerance));
      tape.backward(loss);
      check_gradients(ref, name + ".", model, tolerance);
    });
  }
}

TEST_CASE("decoding step by step equals teaching the whole prefix", "[seq2seq_rnn][cache]") {
  for (AttentionScore score : kScores)
    for (CellKind cell : {CellKind::Gru, CellKind::Lstm, CellKind::Tanh}) {
      seed(3);
      Seq2SeqRnnConfig c = small(score, cell, 2);
      c.dropout = 0.4;  // off in eval
      Seq2SeqRnn model(c);
      spread(model);
      model.eval();
      SearchOptions o;
      o.beam = 3;
      o.n_best = 3;
      o.keep_attention = true;
      auto cached = model.generate_sequences(kSource, {7, 4}, o);
      auto plain = search_prefixes(model, kSource, {7, 4}, o);
      for (std::size_t s = 0; s < 2; ++s) {
        REQUIRE(cached[s].size() == plain[s].size());
        for (std::size_t k = 0; k < cached[s].size(); ++k) {
          CHECK(cached[s][k].tokens == plain[s][k].tokens);
          CHECK(cached[s][k].log_prob == Approx(plain[s][k].log_prob).epsilon(1e-4));
          REQUIRE(cached[s][k].attention.size() == plain[s][k].attention.size());
          for (std::size_t t = 0; t < cached[s][k].attention.size(); ++t)
            for (std::size_t i = 0; i < cached[s][k].attention[t].size(); ++i)
              CHECK(cached[s][k].attention[t][i] ==
                    Approx(plain[s][k].attention[t][i]).margin(1e-5));
        }
      }
    }
  Seq2SeqRnn training(small());
  CHECK_THROWS_AS(training.decoder_for(kSource), StateError);
}

TEST_CASE("deferred logits are the head of what is handed on", "[seq2seq_rnn]") {
  seed(12);
  Seq2SeqRnn model(small());
  TeachOptions o;
  o.defer_logits = true;
  TeacherForced deferred = model.teach(kSource, kTarget, o);
  CHECK_FALSE(deferred.logits.defined());
  REQUIRE(deferred.head == &model.generator);
  CHECK(same_bits(linear(deferred.hidden, deferred.head->weight, deferred.head->bias).value(),
                  model.teach(kSource, kTarget).logits.value()));
}

TEST_CASE("no future token and no padding reaches the logits", "[seq2seq_rnn]") {
  for (AttentionScore score : kScores) {
    seed(4);
    Seq2SeqRnn model(small(score));
    spread(model);
    Tensor logits = model.teach(kSource, kTarget).logits.value();
    Tensor later = kTarget.clone();
    narrow(later, 1, 2, 2).fill_(9);
    Tensor other = model.teach(kSource, later).logits.value();
    CHECK(same_bits(narrow(logits, 1, 0, 2).contiguous(), narrow(other, 1, 0, 2).contiguous()));
    CHECK_FALSE(same_bits(logits, other));
    // A source in wider padding is the same source.
    Tensor wide = concatenate(std::vector<Tensor>{kSource, zeros({2, 3}, DType::Int64)}, 1);
    CHECK(distance(model.teach(wide, kTarget).logits.value(), logits) < 1e-6);
    // ... and alone the same as with others.
    Tensor alone = model.teach(narrow(narrow(kSource, 0, 1, 1), 1, 0, 3), narrow(kTarget, 0, 1, 1))
                       .logits.value();
    CHECK(distance(alone, narrow(logits, 0, 1, 1)) < 1e-6);
  }
}

TEST_CASE("attention of the model sums to 1 over real source tokens", "[seq2seq_rnn]") {
  for (AttentionScore score : kScores) {
    if (score == AttentionScore::None) continue;
    seed(5);
    Seq2SeqRnn model(small(score));
    TeachOptions o;
    o.need_attention = true;
    Tensor a = model.teach(kSource, kTarget, o).attention.at(0).value();
    REQUIRE(a.shape() == Shape{2, 4, 5});
    CHECK(distance(sum(a, {2}), ones({2, 4})) < 1e-6);
    CHECK(max(abs(narrow(select(a, 0, 1), 1, 3, 2))).item() == 0);
    CHECK(model.teach(kSource, kTarget).attention.empty());
  }
}

TEST_CASE("scheduled sampling replaces inputs by the model's own choice", "[seq2seq_rnn]") {
  for (AttentionScore score : kScores) {
    seed(6);
    Seq2SeqRnn model(small(score, CellKind::Gru, 2));
    spread(model);
    model.eval();
    auto taught = [&](const Tensor& tgt_in, double sampling) {
      TeachOptions o;
      o.sampling = sampling;
      return model.teach(kSource, tgt_in, o).logits.value();
    };
    // Always: each input after the first is the likeliest token of the step before, so the logits
    // are those of greedy decoding, teacher-forced with what it chose.
    Tensor long_target = ids({1, 3, 4, 5, 6, 1, 4, 4, 4, 4}, {2, 5});
    Tensor own = taught(long_target, 1), chosen = argmax(own, -1);  // (B, T)
    Tensor forced =
        concatenate(std::vector<Tensor>{narrow(long_target, 1, 0, 1), narrow(chosen, 1, 0, 4)}, 1);
    CHECK(distance(own, taught(forced, 0)) < 1e-5);
    CHECK(distance(own, taught(long_target, 0)) > 1e-3);
    // Hardly ever: plain teacher forcing, by steps instead of at once.
    CHECK(distance(taught(long_target, 1e-9), taught(long_target, 0)) < 1e-5);
    // Padding stays padding.
    Tensor padded = taught(ids({1, 3, 0, 0, 1, 4, 4, 0}, {2, 4}), 1);
    CHECK(all_finite(padded));
    // A seed gives the same draw again; another seed, another.
    Tensor many =
        ids({1, 3, 4, 5, 6, 7, 8, 9, 3, 4, 5, 6, 1, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4}, {2, 12});
    seed(7);
    Tensor first = taught(many, 0.5);
    seed(7);
    CHECK(same_bits(first, taught(many, 0.5)));
    seed(8);
    CHECK_FALSE(same_bits(first, taught(many, 0.5)));
    CHECK_THROWS_AS(taught(many, 1.5), ValueError);
    CHECK_THROWS_AS(taught(many, std::nan("")), ValueError);
  }
}

TEST_CASE("a share p of the inputs is sampled", "[seq2seq_rnn]") {
  seed(9);
  Seq2SeqRnnConfig c = small();
  c.tgt_vocab = 50;
  Seq2SeqRnn model(c);
  // A generator that always prefers token 7, whatever it reads.
  for (const Var& p : model.generator.parameters()) p.value().fill_(0);
  narrow(model.generator.bias.value(), 0, 7, 1).fill_(5);
  Tensor source = broadcast_to(ids({3, 2}, {1, 2}), {200, 2}).contiguous();
  Tensor target = full({200, 11}, 30, DType::Int64);
  Seq2SeqRnn::Readout read = model.decode(target, model.encode(source), 0.25);
  Tensor seven = select(model.tgt_embed.weight.value(), 0, 7);
  double sampled = 0;
  auto rows = read.embedded.value();
  for (Index b = 0; b < 200; ++b) {
    CHECK_FALSE(same_bits(select(select(rows, 0, b), 0, 0).contiguous(), seven.contiguous()));
    for (Index t = 1; t < 11; ++t)
      sampled += same_bits(select(select(rows, 0, b), 0, t).contiguous(), seven.contiguous());
  }
  CHECK(sampled / 2000 == Approx(0.25).margin(0.04));  // four deviations
}

TEST_CASE("without attention the decoder reads one vector, however long the source",
          "[seq2seq_rnn]") {
  for (CellKind cell : {CellKind::Gru, CellKind::Lstm}) {
    seed(13);
    Seq2SeqRnn model(small(AttentionScore::None, cell, 2));
    model.eval();
    const Seq2SeqRnn::Encoded encoded = model.encode(kSource);
    REQUIRE(encoded.memory.shape() == Shape{2, 1, 12});
    // The last layer's states: forwards after the last token, backwards after the first.
    const Tensor all = model.encoder(model.src_embed(kSource), Var(), ids({5, 3}, {2})).y.value();
    const Tensor of_second = select(encoded.memory.value(), 0, 1);
    CHECK(close(narrow(of_second, 1, 0, 6), narrow(select(narrow(all, 1, 2, 1), 0, 1), 1, 0, 6)));
    CHECK(close(narrow(of_second, 1, 6, 6), narrow(select(narrow(all, 1, 0, 1), 0, 1), 1, 6, 6)));
    const Seq2SeqRnn::Readout read = model.decode(kTarget, encoded);
    for (Index t = 0; t < 4; ++t)
      CHECK(same_bits(narrow(read.context.value(), 1, t, 1), encoded.memory.value()));
    TeachOptions o;
    o.need_attention = true;
    CHECK(model.teach(kSource, kTarget, o).attention.empty());
    o.sampling = 0.5;
    CHECK(model.teach(kSource, kTarget, o).logits.shape() == Shape{2, 4, 10});
    for (auto& [name, p] : model.named_parameters()) CHECK_FALSE(name.starts_with("attention."));
  }
  Seq2SeqRnnConfig c = small(AttentionScore::None);
  c.copy = true;
  CHECK_THROWS_AS(Seq2SeqRnn(c), ValueError);
}

TEST_CASE("recurrent models refuse what makes none", "[seq2seq_rnn]") {
  auto with = [](auto change) {
    Seq2SeqRnnConfig c = small();
    change(c);
    Seq2SeqRnn model(c);
  };
  CHECK_THROWS_AS(with([](auto& c) { c.src_vocab = 0; }), ValueError);
  CHECK_THROWS_AS(with([](auto& c) { c.tgt_vocab = 0; }), ValueError);
  CHECK_THROWS_AS(with([](auto& c) { c.d_embed = 0; }), ValueError);
  CHECK_THROWS_AS(with([](auto& c) { c.layers = 0; }), ValueError);
  CHECK_THROWS_AS(with([](auto& c) { c.dropout = 1.5; }), ValueError);
  CHECK_THROWS_AS(with([](auto& c) {
                    c.d_model = 5;
                    c.attention = AttentionScore::Dot;
                  }),
                  ValueError);
  Seq2SeqRnn model(small());
  CHECK_THROWS_AS(model.teach(ids({3, 2, 0, 0}, {2, 2}), kTarget), ValueError);  // empty source
  CHECK_THROWS_AS(model.teach(ids({9, 2}, {1, 2}), narrow(kTarget, 0, 0, 1)), IndexError);
  CHECK_THROWS_AS(model.teach(kSource, ids({1, 10, 1, 3}, {2, 2})), IndexError);
  CHECK_THROWS_AS(model.teach(kSource, narrow(kTarget, 0, 0, 1)), ShapeError);
  CHECK_THROWS_AS(model.teach(kSource, select(kTarget, 0, 0)), ShapeError);
  CHECK_THROWS_AS(model.teach(select(kSource, 0, 0), kTarget), ShapeError);
}

}  // namespace test_seq2seq_rnn

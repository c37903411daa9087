// The decoder that says all positions at once: against PyTorch, and against facts.
#include "models/non_autoregressive/non_autoregressive.hpp"

#include <algorithm>
#include <set>

#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tests/models/common.hpp"

namespace test_non_autoregressive {

using namespace glim;

namespace {

NonAutoregressiveConfig small_config(OutputLength length) {
  auto c = sized<NonAutoregressiveConfig>(13, 16, 4, 32, 2);
  c.length = length;
  c.length_reach = 4;
  return c;
}

const Tensor kSource = ids({3, 4, 5, 6, 2, 8, 9, 2, 0, 0}, {2, 5});
const Tensor kTarget = ids({1, 3, 4, 5, 1, 6, 0, 0}, {2, 4});

}  // namespace

TEST_CASE("a non-autoregressive model equals PyTorch's by name", "[nat][reference]") {
  for (OutputLength length : {OutputLength::Predict, OutputLength::Long}) {
    bool predict = length == OutputLength::Predict;
    Reference ref(predict ? "non_autoregressive_predict" : "non_autoregressive_long");
    in_every_form([&](DType dtype) {
      double tolerance = model_tolerance(dtype);
      NonAutoregressiveConfig c = small_config(length);
      c.norm = predict ? NormPlacement::Pre : NormPlacement::Post;
      NonAutoregressive model(c);
      load_case(ref, "", model, dtype);
      Tape tape;
      TeacherForced taught = model.teach(SourceBatch(ref.get("src")), ref.get("tgt_in"));
      Tensor real = unsqueeze(not_equal(ref.get("tgt_out"), 0.0), -1);
      auto counted = [&](const Tensor& x) {
        return where(real, x.to(DType::Float64), scalar(0, DType::Float64));
      };
      CHECK(close(counted(taught.logits.value()), counted(ref.get("logits")), tolerance));
      auto [loss, sums] = label_smoothing_loss(reshape(taught.logits, {-1, 13}),
                                               reshape(ref.get("tgt_out"), {-1}), 0, 0);
      CHECK(taught.auxiliary.defined() == predict);
      if (predict) {
        CHECK(taught.auxiliary.item() == Approx(ref.get("length_loss").item()).epsilon(tolerance));
        CHECK(close(model.length_logits(model.encode(ref.get("src")), ref.get("src")).value(),
                    ref.get("length_logits"), tolerance));
        loss = add(loss, taught.auxiliary);
      }
      CHECK(loss.item() == Approx(ref.get("loss").item()).epsilon(tolerance));
      tape.backward(loss);
      check_gradients(ref, "", model, tolerance);
    });
  }
}

TEST_CASE("the soft copy stretches the source", "[nat][reference]") {
  Reference file("variants");
  Tensor w = soft_copy_weights(file.get("soft_copy.source_lengths").to_vector<Index>(),
                               file.get("soft_copy.target_lengths").to_vector<Index>(), 5, 0.3,
                               DType::Float64);
  CHECK(close(w, file.get("soft_copy.y"), 1e-12));
  // Each position reads its own source position most where the lengths are equal.
  Tensor same = soft_copy_weights({4}, {4}, 4, 0.3, DType::Float64);
  CHECK(argmax(same, -1).to_vector<Index>() == std::vector<Index>{0, 1, 2, 3});
  CHECK(close(sum(same, {-1}), ones({1, 4}, DType::Float64)));
  CHECK(sum(soft_copy_weights({0}, {3}, 2, 0.3, DType::Float64)).item() == 0);
  CHECK_THROWS_AS(soft_copy_weights({1}, {1}, 1, 0, DType::Float64), ValueError);
}

TEST_CASE("of the target only the length is read", "[nat]") {
  for (OutputLength length : {OutputLength::Predict, OutputLength::Long}) {
    seed(3);
    NonAutoregressive model(small_config(length));
    model.eval();
    Tensor other = ids({1, 9, 10, 11, 1, 12, 0, 0}, {2, 4});
    TeacherForced a = model.teach(SourceBatch(kSource), kTarget);
    TeacherForced b = model.teach(SourceBatch(kSource), other);
    CHECK(same_bits(a.logits.value(), b.logits.value()));
    CHECK(a.logits.shape() == Shape{2, 4, 13});
    // A column of padding in every row changes no other.
    Tensor wide = ids({1, 3, 4, 5, 0, 1, 6, 0, 0, 0}, {2, 5});
    Tensor padded = model.teach(SourceBatch(kSource), wide).logits.value();
    CHECK(padded.shape() == Shape{2, 5, 13});
    CHECK(close(select(narrow(padded, 1, 0, 4), 0, 0), select(a.logits.value(), 0, 0), 1e-5));
  }
}

TEST_CASE("a sentence alone says what it says in a batch", "[nat]") {
  for (OutputLength length : {OutputLength::Predict, OutputLength::Long}) {
    seed(4);
    NonAutoregressive model(small_config(length));
    evaluate_in_float64(model);
    SearchOptions o;
    o.beam = 3;
    o.keep_attention = true;
    auto together = model.generate_sequences(SourceBatch(kSource), {9, 9}, o);
    Tensor alone = narrow(narrow(kSource, 0, 1, 1), 1, 0, 3);
    auto apart = model.generate_sequences(SourceBatch(alone), {9}, o);
    REQUIRE(together.size() == 2);
    CHECK(together[1][0].tokens == apart[0][0].tokens);
    CHECK(together[1][0].score == Approx(apart[0][0].score).epsilon(1e-10));
    for (const Hypothesis& h : {together[0][0], together[1][0]}) {
      REQUIRE(h.attention.size() == h.tokens.size() + (h.finished ? 1 : 0));
      for (const auto& row : h.attention) {
        double total = 0;
        for (double a : row) total += a;
        CHECK(total == Approx(1));
      }
    }
    CHECK(together[1][0].attention[0][3] == 0);  // padding
  }
}

TEST_CASE("predicted lengths are kept, and the best of several is chosen", "[nat]") {
  seed(5);
  NonAutoregressive model(small_config(OutputLength::Predict));
  evaluate_in_float64(model);
  SearchOptions one;
  one.length_penalty = 1;
  SearchOptions many = one;
  many.beam = 5;
  many.n_best = 5;
  auto single = model.generate_sequences(SourceBatch(kSource), {8, 8}, one);
  auto list = model.generate_sequences(SourceBatch(kSource), {8, 8}, many);
  for (std::size_t b = 0; b < 2; ++b) {
    REQUIRE(single[b].size() == 1);
    REQUIRE(list[b].size() == 5);
    CHECK(list[b][0].score >= single[b][0].score);
    std::set<std::size_t> lengths;
    for (std::size_t i = 0; i < list[b].size(); ++i) {
      const Hypothesis& h = list[b][i];
      CHECK(h.finished);
      CHECK(h.tokens.size() + 1 <= 8);
      lengths.insert(h.tokens.size());
      for (Index token : h.tokens) CHECK((token != 0 && token != 1 && token != 2));
      if (i > 0) CHECK(h.score <= list[b][i - 1].score);
      CHECK(h.score == Approx(h.log_prob / length_penalty(std::ssize(h.tokens) + 1, 1)));
    }
    CHECK(lengths.size() == 5);
  }
  // The limit is kept even where no length that the predictor knows fits.
  for (auto& found : model.generate_sequences(SourceBatch(kSource), {1, 1}, many))
    CHECK((found[0].tokens.empty() && found[0].finished));
}

TEST_CASE("a long output ends at the first END", "[nat]") {
  seed(6);
  NonAutoregressive model(small_config(OutputLength::Long));
  evaluate_in_float64(model);
  SearchOptions o;
  // With a bias that makes END sure, nothing is said; with one that forbids it, the limit cuts.
  narrow(model.generator.bias.value(), 0, 2, 1).fill_(50);
  for (auto& found : model.generate_sequences(SourceBatch(kSource), {9, 9}, o))
    CHECK((found[0].finished && found[0].tokens.empty()));
  narrow(model.generator.bias.value(), 0, 2, 1).fill_(-50);
  for (auto& found : model.generate_sequences(SourceBatch(kSource), {9, 5}, o))
    CHECK(!found[0].finished);
  auto cut = model.generate_sequences(SourceBatch(kSource), {9, 5}, o);
  CHECK(cut[0][0].tokens.size() == 9);
  CHECK(cut[1][0].tokens.size() == 5);
  // Without a limit in its way: 2 S + 10 positions.
  auto all = model.generate_sequences(SourceBatch(kSource), {99, 99}, o);
  CHECK(all[0][0].tokens.size() == 2 * 5 + 10);
  CHECK(all[1][0].tokens.size() == 2 * 3 + 10);
}

TEST_CASE("what a non-autoregressive model refuses", "[nat]") {
  NonAutoregressiveConfig c = small_config(OutputLength::Predict);
  c.heads = 3;
  CHECK(error_of<ValueError>([&] { NonAutoregressive m(c); }) ==
        "attention: 3 heads do not divide d_model 16");
  c = small_config(OutputLength::Predict);
  c.length_reach = 0;
  CHECK_THROWS_AS(NonAutoregressive(c), ValueError);
  c = small_config(OutputLength::Predict);
  c.tie = Tie::All;
  c.tgt_vocab = 12;
  CHECK_THROWS_AS(NonAutoregressive(c), ValueError);
  NonAutoregressive model(small_config(OutputLength::Predict));
  CHECK_THROWS_AS(model.generate_sequences(SourceBatch(kSource), {9, 9}, {}), StateError);
  model.eval();
  CHECK(contains(error_of<StateError>([&] { model.decoder_for(SourceBatch(kSource)); }),
                 "not step by step"));
  CHECK_THROWS_AS(model.generate_sequences(SourceBatch(kSource), {9}, {}), ValueError);
  CHECK_THROWS_AS(model.generate_sequences(SourceBatch(kSource), {9, 0}, {}), ValueError);
  SearchOptions none;
  none.beam = 0;
  CHECK_THROWS_AS(model.generate_sequences(SourceBatch(kSource), {9, 9}, none), ValueError);
  TeachOptions sampling;
  sampling.sampling = 0.5;
  CHECK_THROWS_AS(model.teach(SourceBatch(kSource), kTarget, sampling), ValueError);
  CHECK_THROWS_AS(model.teach(SourceBatch(kSource), narrow(kTarget, 0, 0, 1)), ShapeError);
  CHECK_THROWS_AS(model.teach(SourceBatch(ids({99, 2}, {1, 2})), ids({1}, {1, 1})), IndexError);
  NonAutoregressive wordy(small_config(OutputLength::Long));
  CHECK_THROWS_AS(wordy.length_logits(wordy.encode(kSource), kSource), StateError);
}

}  // namespace test_non_autoregressive

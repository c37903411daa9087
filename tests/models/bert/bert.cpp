// The encoder-only models against PyTorch, and against facts that must hold exactly.
#include "models/bert/bert.hpp"

#include <cmath>
#include <set>

#include "nn/loss.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tensor/parallel.hpp"
#include "tests/catch.hpp"
#include "tests/reference.hpp"

namespace test_bert {

using namespace glim;

namespace {

BertConfig small(NormPlacement norm = NormPlacement::Post) {
  BertConfig c;
  c.vocab = 12;
  c.max_len = 5;
  c.d_model = 8;
  c.heads = 2;
  c.layers = 2;
  c.d_ff = 20;
  c.dropout = 0;
  c.norm = norm;
  return c;
}

void compare(const Reference& ref, const std::string& name, Module& model,
             const std::function<Var()>& forward, DType dtype) {
  INFO(name << " " << name_of(dtype));
  std::string at = name + ".";
  double tolerance = dtype == DType::Float64 ? 1e-10 : 1e-4;
  model.to(dtype);
  StateDict state;
  for (auto& key : ref.keys(at + "param.")) state[key] = ref.get(at + "param." + key);
  if (model.state_dict().count("generator.weight"))
    state["generator.weight"] = state.at("bert.embed.weight");
  model.load_state_dict(state);
  Tape tape;
  Var logits = forward();
  CHECK(close(logits.value(), ref.get(at + "logits"), tolerance));
  Var loss = cross_entropy(logits, ref.get(at + "targets"));
  CHECK(close(loss.value(), ref.get(at + "loss"), tolerance));
  tape.backward(loss);
  auto parameters = model.named_parameters();
  for (auto& [key, p] : parameters) {
    INFO(key);
    REQUIRE(p.grad().defined());
    CHECK(close(p.grad(), ref.get(at + "grad." + key), tolerance));
  }
  CHECK(parameters.size() == ref.keys(at + "grad.").size());
}

}  // namespace

TEST_CASE("BERT: logits, loss and gradients equal PyTorch's by name", "[bert][reference]") {
  Reference ref("language");
  for (NormPlacement norm : {NormPlacement::Post, NormPlacement::Pre}) {
    std::string placed = norm == NormPlacement::Pre ? "_pre" : "_post";
    in_every_form([&](DType dtype) {
      MaskedLanguageModel masked(small(norm));
      std::string name = "masked" + placed;
      compare(
          ref, name, masked,
          [&] { return masked.forward(ref.get(name + ".ids"), ref.get(name + ".chosen")); }, dtype);
      for (Pooling pooling : {Pooling::First, Pooling::Mean}) {
        SequenceClassifier classifier(small(norm), 3, pooling);
        std::string own =
            (pooling == Pooling::First ? "classifier_first" : "classifier_mean") + placed;
        compare(
            ref, own, classifier, [&] { return classifier.forward(ref.get(own + ".ids")); }, dtype);
      }
    });
  }
}

TEST_CASE("BERT: padding changes nothing", "[bert]") {
  for (Pooling pooling : {Pooling::First, Pooling::Mean}) {
    seed(2);
    SequenceClassifier model(small(), 3, pooling);
    model.to(DType::Float64);
    Tensor padded = tensor({1, 5, 9, 2, 0}, DType::Int64).reshape({1, 5});
    CHECK(close(model.forward(padded).value(), model.forward(padded.narrow(1, 0, 4)).value()));
    // And every other token counts, earlier and later ones.
    for (Index at : {0, 1, 2, 3}) {
      Tensor other = padded.clone();
      other.data<Index>()[at] = 7;
      CHECK_FALSE(close(model.forward(other).value(), model.forward(padded).value(), 1e-9));
    }
  }
}

TEST_CASE("BERT: pre-trained weights load by name into a classifier", "[bert]") {
  seed(3);
  MaskedLanguageModel trained(small());
  SequenceClassifier classifier(small(), 2, Pooling::Mean);
  StateDict shared, own = classifier.state_dict();
  for (auto& [name, value] : trained.state_dict())
    if (name.rfind("bert.", 0) == 0) shared[name] = value;
  CHECK(shared.size() == own.size() - 2);
  classifier.load_state_dict(shared, false);
  Tensor ids = random_integers({2, 5}, 1, 11, {1, 1});
  CHECK(same_bits(classifier.bert.forward(ids).value(), trained.bert.forward(ids).value()));
}

TEST_CASE("BERT: every parameter receives a gradient, the same bits with any number of threads",
          "[bert]") {
  int before = num_threads();
  auto gradients = [](int threads, bool sinusoidal) {
    set_num_threads(threads);
    seed(5);
    BertConfig c = small(NormPlacement::Pre);
    c.dropout = 0.2;
    c.learned_positions = !sinusoidal;
    SequenceClassifier model(c, 3, Pooling::First);
    Tape tape;
    tape.backward(cross_entropy(model.forward(random_integers({6, 5}, 1, 11, {1, 2})),
                                random_integers({6}, 0, 3, {1, 3})));
    StateDict all;
    for (auto& [name, p] : model.named_parameters()) {
      INFO(name);
      REQUIRE(p.grad().defined());
      all[name] = p.grad();
    }
    CHECK(all.count("bert.positions.weight") == (sinusoidal ? 0 : 1));
    return all;
  };
  for (bool sinusoidal : {false, true}) {
    StateDict one = gradients(1, sinusoidal), two = gradients(2, sinusoidal);
    for (auto& [name, g] : one) {
      INFO(name);
      CHECK(same_bits(g, two.at(name)));
    }
  }
  set_num_threads(before);
}

TEST_CASE("masking follows the 80/10/10 rule", "[bert][masking]") {
  constexpr Index kVocab = 1004, kMask = 1004, kRows = 500, kColumns = 40;
  Tensor ids = random_integers({kRows, kColumns}, 4, kVocab, {3, 1});
  for (Index b = 0; b < kRows; ++b) {
    ids.data<Index>()[b * kColumns] = 1;
    ids.data<Index>()[b * kColumns + kColumns - 2] = 2;
    ids.data<Index>()[b * kColumns + kColumns - 1] = 0;
    ids.data<Index>()[b * kColumns + 5] = 3;
  }
  Masked m = mask_tokens(ids, kMask, {}, {4, 1});
  // 36 tokens can be chosen in each row, 15 % of them are 5.4: 5.
  Index chosen = m.chosen.numel();
  REQUIRE(chosen == 5 * kRows);
  REQUIRE(m.targets.numel() == chosen);
  Index masked = 0, kept = 0, replaced = 0;
  std::set<Index> where, replacements;
  std::vector<Index> by_column(kColumns);
  for (Index i = 0; i < chosen; ++i) {
    Index at = m.chosen.at<Index>({i}), was = ids.data<Index>()[at], is = m.ids.data<Index>()[at];
    CHECK(where.insert(at).second);
    CHECK(at / kColumns == i / 5);
    ++by_column[static_cast<std::size_t>(at % kColumns)];
    CHECK(was >= 4);
    CHECK(m.targets.at<Index>({i}) == was);
    if (is == kMask) {
      ++masked;
    } else if (is == was) {
      ++kept;
    } else {
      ++replaced;
      replacements.insert(is);
      CHECK((is >= 4 && is < kVocab));
    }
  }
  // Three deviations of a binomial of 2,500.
  double n = static_cast<double>(chosen);
  CHECK(static_cast<double>(masked) == Approx(0.8 * n).margin(3 * std::sqrt(0.16 * n)));
  CHECK(static_cast<double>(kept) == Approx(0.1 * n).margin(3 * std::sqrt(0.09 * n)));
  CHECK(static_cast<double>(replaced) == Approx(0.1 * n).margin(3 * std::sqrt(0.09 * n)));
  CHECK(replacements.size() > 200);  // of 1,000, by about 250 draws
  // All columns are as likely: 36 of them, 35 degrees of freedom, probability 0.001 above 66.6.
  double chi = 0, expected = n / 36;
  for (Index c = 0; c < kColumns; ++c) {
    double d = static_cast<double>(by_column[static_cast<std::size_t>(c)]);
    if (c == 0 || c == 5 || c >= kColumns - 2)
      CHECK(d == 0);
    else
      chi += (d - expected) * (d - expected) / expected;
  }
  CHECK(chi < 66.6);
  // What was not chosen stays.
  for (Index at = 0; at < ids.numel(); ++at)
    if (!where.count(at) && ids.data<Index>()[at] != m.ids.data<Index>()[at])
      FAIL("a token that was not chosen changed");
  // A function of the key.
  Masked again = mask_tokens(ids, kMask, {}, {4, 1}), other = mask_tokens(ids, kMask, {}, {4, 2});
  CHECK(same_bits(again.ids, m.ids));
  CHECK_FALSE(same_bits(other.ids, m.ids));
  CHECK_FALSE(same_bits(other.chosen, m.chosen));
}

TEST_CASE("masking: short sentences and other shares", "[bert][masking]") {
  Tensor ids = tensor({1, 7, 2, 0, 1, 2, 0, 0, 1, 3, 3, 2}, DType::Int64).reshape({3, 4});
  Masked m = mask_tokens(ids, 11, {}, {1, 1});
  CHECK(m.chosen.to_vector<Index>() == std::vector<Index>{1});  // one at least, where there is one
  CHECK(m.targets.to_vector<Index>() == std::vector<Index>{7});
  Tensor many = random_integers({2, 10}, 4, 11, {1, 5});
  Masked all = mask_tokens(many, 11, {.share = 1, .masked = 0, .random = 0}, {1, 1});
  CHECK(all.chosen.numel() == 20);
  CHECK(same_bits(all.ids, many));
  CHECK_THROWS_AS(mask_tokens(many, 11, {.share = 1.5}, {1, 1}), ValueError);
  CHECK_THROWS_AS(mask_tokens(many, 11, {.masked = 0.8, .random = 0.3}, {1, 1}), ValueError);
  CHECK_THROWS_AS(mask_tokens(many, 4, {}, {1, 1}), ValueError);
  CHECK_THROWS_AS(mask_tokens(many.to(DType::Float32), 11, {}, {1, 1}), ShapeError);
}

TEST_CASE("BERT: what cannot be is refused", "[bert]") {
  BertConfig c = small();
  c.heads = 3;
  CHECK_THROWS_WITH(Bert(c), "bert: 3 heads do not divide d_model 8");
  c = small();
  c.vocab = 1;
  CHECK_THROWS_AS(Bert(c), ValueError);
  c = small();
  c.dropout = 1;
  CHECK_THROWS_AS(MaskedLanguageModel(c), ValueError);
  CHECK_THROWS_AS(SequenceClassifier(small(), 1, Pooling::Mean), ValueError);
  SequenceClassifier model(small(), 2, Pooling::Mean);
  CHECK_THROWS_AS(model.forward(full({1, 2}, 12, DType::Int64)), IndexError);
  CHECK_THROWS_AS(model.forward(ones({1, 6}, DType::Int64)), IndexError);
  CHECK_THROWS_AS(model.forward(ones({4}, DType::Int64)), ShapeError);
  CHECK_THROWS_AS(masked_mean(Var(zeros({2, 3, 4})), ones({2, 4}, DType::Bool)), ShapeError);
  // A sentence of padding alone has the mean 0, not NaN.
  CHECK(
      close(masked_mean(Var(ones({1, 3, 4})), zeros({1, 3}, DType::Bool)).value(), zeros({1, 4})));
}

}  // namespace test_bert

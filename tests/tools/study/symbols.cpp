// The studies of what tutorials say: their tasks, what they measure with on cases with a known answer, and that their
// criteria refuse what a wrong set-up gives.
#include <cmath>
#include <limits>

#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tests/catch.hpp"
#include "tools/study/measures.hpp"
#include "tools/study/sequences.hpp"
#include "tools/study/study.hpp"

namespace test_symbols {

using namespace glim;
namespace {

bool holds(const char* study, const std::string& key, double value) {
  for (const Criterion& c : study_of(study).criteria)
    if (c.key == key) return c.holds(value);
  throw ValueError("criterion", key);
}

// Writes what a rule says: the next token, from the source and the token before.
class Rule final : public SequenceModel {
 public:
  using Next = Index (*)(const std::vector<Index>& source, std::size_t step, Index before);
  explicit Rule(Next next) : SequenceModel("rule", symbol_transformer()), next_(next) { eval(); }
  TeacherForced teach(const SourceBatch&, const Tensor&, const TeachOptions&) override {
    throw StateError("rule", "is not taught");
  }

 private:
  struct Steps final : StepDecoder {
    Tensor step(const std::vector<Index>& tokens) override {
      Tensor logits = zeros({std::ssize(tokens), kSymbolVocabulary});
      for (Index i = 0; i < std::ssize(tokens); ++i) {
        const Index token =
            next(select(source, 0, i).to_vector<Index>(), at, tokens[std::size_t(i)]);
        logits.data<float>()[i * kSymbolVocabulary + token] = 1;
      }
      ++at;
      return logits;
    }
    void select_rows(const std::vector<Index>& rows) override {
      source = index_select(source, 0, from_vector(rows, {std::ssize(rows)}));
    }
    Tensor source;
    Next next;
    std::size_t at = 0;
  };
  std::unique_ptr<StepDecoder> new_decoder(const SourceBatch& source) override {
    auto steps = std::make_unique<Steps>();
    steps->source = source.ids;
    steps->next = next_;
    return steps;
  }
  Next next_;
};

Index copied(const std::vector<Index>& source, std::size_t step, Index) { return source[step]; }
Index added(const std::vector<Index>& source, std::size_t step, Index before) {
  const Index sum = step == 0 ? 0 : before - kSpecialTokens;
  return kSpecialTokens + (sum + source[step] - kSpecialTokens) % kSymbols;
}

}  // namespace

TEST_CASE("tasks of symbols are what they say", "[study]") {
  const auto pairs = symbol_pairs(SymbolTask::Copy, 2, 5, 200, {1, 1});
  const auto back = symbol_pairs(SymbolTask::Reverse, 2, 5, 200, {1, 1});
  const auto sums = symbol_pairs(SymbolTask::Sum, 2, 5, 200, {1, 1});
  std::size_t shortest = 99, longest = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto& x = pairs[i].source;
    shortest = std::min(shortest, x.size()), longest = std::max(longest, x.size());
    CHECK(pairs[i].target == x);
    CHECK(back[i].target == std::vector<Index>(x.rbegin(), x.rend()));
    Index sum = 0;
    for (std::size_t t = 0; t < x.size(); ++t) {
      sum += x[t] - kSpecialTokens;
      CHECK(sums[i].target[t] == kSpecialTokens + sum % kSymbols);
      CHECK(x[t] >= kSpecialTokens);
      CHECK(x[t] < kSymbolVocabulary);
    }
  }
  CHECK(shortest == 2);
  CHECK(longest == 5);
  Rule copy(copied), sum(added);
  CHECK(token_accuracy(copy, pairs) == 1);
  CHECK(token_accuracy(sum, sums) == 1);
  CHECK(token_accuracy(copy, sums) < 0.5);
}

TEST_CASE("order: an encoder with positions is refused for one without", "[study]") {
  for (bool as_mean : {false, true}) {
    seed(21);
    const std::string key = as_mean ? "mean_" : "moved_";
    const double with = order::moved_by_permutation(Positions::Sinusoidal, {2, 1, 0}, as_mean),
                 without = order::moved_by_permutation(Positions::None, {2, 1, 0}, as_mean);
    CHECK(holds("order", key + "without", without));
    CHECK_FALSE(holds("order", key + "without", with));
    CHECK(holds("order", key + "with", with));
    CHECK_FALSE(holds("order", key + "with", without));
    if (!as_mean) continue;
    seed(21);  // a mean hides a part
    CHECK(with < order::moved_by_permutation(Positions::Sinusoidal, {2, 1, 0}, false));
  }
  CHECK_FALSE(holds("order", "first_without", 0.95));
  CHECK_FALSE(holds("order", "reverse_without", 0.95));
  CHECK_FALSE(holds("order", "gpt_without", 0.5));
}

TEST_CASE("length: a model that has learned nothing is refused", "[study]") {
  seed(22);
  Transformer fresh(symbol_transformer());
  fresh.eval();
  const double guess = token_accuracy(fresh, symbol_pairs(SymbolTask::Copy, 10, 10, 20, {22, 1}));
  for (const char* key : {"copy_trained", "reverse_trained", "copy_next", "reverse_next",
                          "copy_double", "reverse_double"})
    CHECK_FALSE(holds("length", key, guess));
}

TEST_CASE("fixed-or-learned: means that are farther apart than draws are refused", "[study]") {
  using fixed_or_learned::distance_in_deviations;
  CHECK(distance_in_deviations({1, 2, 3}, {3, 2, 1}) == 0);
  CHECK(distance_in_deviations({1, 2, 3}, {2.5, 3.5, 4.5}) == Approx(1.5));
  for (const char* key : {"copy", "reverse", "sum"}) {
    CHECK(holds("fixed-or-learned", key, distance_in_deviations({1, 2, 3}, {2.5, 3.5, 4.5})));
    CHECK_FALSE(holds("fixed-or-learned", key, distance_in_deviations({1, 2, 3}, {4, 5, 6.1})));
    CHECK_FALSE(holds("fixed-or-learned", key, distance_in_deviations({1, 1}, {1, 1})));  // 0/0
  }
}

TEST_CASE("base: the inner product is that of the table, and a base that is behind is refused",
          "[study]") {
  CHECK(base::similarity(0, 10000, 32) == Approx(1));
  CHECK(base::similarity(7, 1, 32) == Approx(std::cos(7)));  // one wavelength
  const Tensor table = sinusoidal_positions(0, 9, 8, 100, DType::Float64);
  CHECK(base::similarity(5, 100, 8) == Approx(dot(select(table, 0, 3), select(table, 0, 8)) / 4));
  for (const char* key : {"behind", "smaller", "larger"}) CHECK_FALSE(holds("base", key, 0.06));
}

TEST_CASE("query-is-key: attention that sees all alike is refused for the identity", "[study]") {
  using query_is_key::diagonal_mass;
  const double uniform_rows = diagonal_mass(full({2, 4, 5, 5}, 0.2));
  CHECK(diagonal_mass(eye(5)) == Approx(1));
  CHECK(uniform_rows == Approx(0.2));
  CHECK(holds("query-is-key", "trained_shared", diagonal_mass(eye(5))));
  CHECK_FALSE(holds("query-is-key", "trained_shared", uniform_rows));
  CHECK_FALSE(holds("query-is-key", "trained_apart", diagonal_mass(eye(5))));
  CHECK_FALSE(holds("query-is-key", "fresh", 1));
  CHECK_FALSE(holds("query-is-key", "worse", 1));
}

TEST_CASE("heads: a wider model is refused, and heads that look at the same distance", "[study]") {
  const Tensor near = broadcast_to(eye(3, DType::Float64), {2, 1, 3, 3}).contiguous(),
               all = full({2, 1, 3, 3}, 1.0 / 3, DType::Float64);  // distances 0 and 8/9
  CHECK(heads::spread_of(concatenate(std::vector<Tensor>{near, near}, 1)) == 0);
  CHECK(heads::spread_of(concatenate(std::vector<Tensor>{near, all}, 1)) ==
        Approx(8.0 / 9 / std::sqrt(2.0)));
  seed(23);
  const auto pairs = symbol_pairs(SymbolTask::Copy, 5, 5, 3, {23, 1});
  auto cost = [&](Index heads, Index width) {
    TransformerConfig c = symbol_transformer();
    c.heads = heads;
    c.d_model = width;
    Transformer model(c);
    return heads::forward_pass(model, pairs).products;
  };
  CHECK(holds("heads", "products", cost(8, 32) / cost(1, 32)));
  CHECK_FALSE(holds("heads", "products", cost(8, 64) / cost(1, 32)));
  CHECK_FALSE(holds("heads", "spread_4", 1));
  // By hand: x Wᵀ of 3 sentences of 6 tokens. Each side has 2 layers; the decoder's attention is twofold.
  const double rows = 18, d = 32, linear = rows * d * d, scores = 2 * rows * 6 * d;
  CHECK(cost(4, 32) == 2 * (3 * (4 * linear + scores) + 2 * (2 * rows * d * 64)) +
                           rows * d * double(kSymbolVocabulary));
}

TEST_CASE("norms: either norm is refused for the other", "[study]") {
  seed(24);
  const norms::Moved layer = norms::moved(false), batch = norms::moved(true);
  CHECK(holds("norms", "layer_neighbour", layer.by_neighbour));
  CHECK(holds("norms", "layer_padding", layer.by_padding));
  CHECK(holds("norms", "batch_neighbour", batch.by_neighbour));
  CHECK(holds("norms", "batch_padding", batch.by_padding));
  CHECK_FALSE(holds("norms", "layer_neighbour", batch.by_neighbour));
  CHECK_FALSE(holds("norms", "layer_padding", batch.by_padding));
  CHECK_FALSE(holds("norms", "batch_neighbour", layer.by_neighbour));
  CHECK_FALSE(holds("norms", "batch_padding", layer.by_padding));
  CHECK_FALSE(holds("norms", "difference", 0));
  // Encoders do not attend to padding.
  for (bool of_batch : {false, true}) {
    const Tensor ids = random_integers({1, 6}, 1, 50, {24, 1});
    auto logits = [&](const Tensor& sentence) {
      seed(24);
      return norms::fresh_logits(of_batch, sentence);
    };
    const Tensor padded = concatenate(std::vector<Tensor>{ids, zeros({1, 3}, ids.dtype())}, 1);
    CHECK(max(abs(sub(logits(ids), logits(padded)))).item() < 1e-5);
  }
}

TEST_CASE("bottleneck: a model that loses nothing is refused, and one that has learned nothing",
          "[study]") {
  CHECK_FALSE(holds("bottleneck", "vector", 0));
  for (const char* name : {"vector", "attention", "transformer"}) {
    seed(25);
    const auto model = bottleneck::model_of(name);
    model->eval();
    const double guess = token_accuracy(*model, symbol_pairs(SymbolTask::Copy, 8, 8, 20, {25, 1}));
    CHECK_FALSE(holds("bottleneck", "vector_short", guess));
    CHECK_FALSE(holds("bottleneck", "attention_long", guess));
    CHECK_FALSE(holds("bottleneck", "transformer_long", guess));
  }
  CHECK(bottleneck::model_of("vector")->parameters().size() <
        bottleneck::model_of("attention")->parameters().size());
}

TEST_CASE("hunger: digits differ, and equal models are refused", "[study]") {
  const hunger::Digits a = hunger::draw_digits(40, {26, 1}), b = hunger::draw_digits(40, {26, 4});
  CHECK(same_bits(a.images, hunger::draw_digits(40, {26, 1}).images));
  CHECK_FALSE(same_bits(a.images, b.images));
  CHECK(a.images.at<float>({0, 0, 0, 0}) != b.images.at<float>({0, 0, 0, 0}));  // noise
  CHECK(a.images.shape() == Shape{40, 1, 12, 12});
  CHECK(max(a.classes.to(DType::Float64)).item() == 9);
  CHECK_FALSE(holds("hunger", "few", 0));
  CHECK_FALSE(holds("hunger", "many", 0.1));
  for (const char* key : {"cnn_learned", "vit_learned"}) CHECK_FALSE(holds("hunger", key, 0.4));
}

TEST_CASE("modern: both blocks have as many parameters, and learn the same text", "[study]") {
  GptConfig old;
  old.vocab = 69, old.d_ff = 512;
  GptConfig c = modern::modern_of(old);
  auto parameters = [](const GptConfig& sizes) { return double(Gpt(sizes).parameter_count()); };
  CHECK(parameters(old) == 804608);  // models/gpt/gpt.md
  CHECK(parameters(c) == 804096);
  CHECK(c.d_ff == 389);
  CHECK(holds("modern", "parameters", parameters(c) / parameters(old)));
  c.kv_heads = 4;
  CHECK_FALSE(holds("modern", "parameters", parameters(c) / parameters(old)));
  CHECK_FALSE(holds("modern", "lower", 0.002));  // another seed
  CHECK_FALSE(holds("modern", "learned", 1));
  const Measurement m = study_of("modern").measure(1, true);
  const Series before = m.points("loss", "2017"), after = m.points("loss", "modern");
  CHECK(before.x == after.x);
  CHECK(before.y != after.y);
  CHECK(m.values.at("lower") == before.y.back() - after.y.back());
  CHECK(holds("modern", "parameters", m.values.at("parameters")));
}

TEST_CASE("exposure: steps that need the source alone are refused for spoilt ones", "[study]") {
  using namespace exposure;
  Rule copy(copied), sum(added);
  const auto same = symbol_pairs(SymbolTask::Copy, 6, 6, 10, {27, 1}),
             sums = symbol_pairs(SymbolTask::Sum, 6, 6, 10, {27, 1});
  CHECK(errors_by_step(copy, same, 2) == std::vector<double>{0, 0, 1, 0, 0, 0});
  CHECK(errors_by_step(sum, sums, 2) == std::vector<double>{0, 0, 1, 1, 1, 1});
  CHECK(errors_by_step(sum, sums, 99) == std::vector<double>(6, 0));
  CHECK(mean_after({1, 1, 0, 0.5, 1}, 2) == 0.75);
  CHECK(holds("exposure", "sum", mean_after(errors_by_step(sum, sums, 2), 2)));
  CHECK_FALSE(holds("exposure", "sum", mean_after(errors_by_step(copy, same, 2), 2)));
  CHECK_FALSE(holds("exposure", "sum_sampling", mean_after(errors_by_step(sum, sums, 2), 2)));
  CHECK_FALSE(holds("exposure", "sum_alone", 0.5));
}

TEST_CASE("bf16: numbers are rounded to the nearest, ties to even", "[study]") {
  using bf16::rounded;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  CHECK(rounded(1 + 0x1p-8F, 7) == 1);                // a tie: to the even neighbour below
  CHECK(rounded(1 + 3 * 0x1p-8F, 7) == 1 + 0x1p-6F);  // and above
  CHECK(rounded(1 + 0x1p-8F + 0x1p-20F, 7) == 1 + 0x1p-7F);
  CHECK(rounded(-3.14159265F, 7) == -3.140625F);
  CHECK(rounded(3.14159265F, 23) == 3.14159265F);
  CHECK(rounded(0.1F, 10) == 0.0999755859375F);  // as IEEE half
  CHECK(rounded(std::numeric_limits<float>::max(), 7) == kInfinity);
  CHECK(rounded(-kInfinity, 7) == -kInfinity);
  CHECK(std::isnan(rounded(std::nanf(""), 7)));
  CHECK_FALSE(holds("bf16", "worse", 0.06));
  CHECK_FALSE(holds("bf16", "first", 0.9));
  CHECK_FALSE(holds("bf16", "first", std::nan("")));  // nothing was rounded
}

TEST_CASE("the studies of symbols compare what they say", "[study]") {
  auto small = [](const char* name) { return study_of(name).measure(1, true); };
  auto differ = [](const Measurement& m, const std::string& plot, const std::string& a,
                   const std::string& b) {
    INFO(plot << ": " << a << " and " << b);
    const Series one = m.points(plot, a), other = m.points(plot, b);
    REQUIRE(one.y.size() > 0);
    CHECK(one.x == other.x);
    CHECK(one.y != other.y);
  };
  SECTION("order") {
    const Measurement m = small("order");
    differ(m, "gpt", "with positions", "without positions");
    differ(m, "first", "with positions", "without positions");
    CHECK(m.values.at("reverse_with") != m.values.at("reverse_without"));
  }
  SECTION("length") {
    const Measurement m = small("length");
    for (const std::string kind : {"learned", "rotary", "alibi", "none"}) {
      differ(m, "copy", "sinusoidal", kind);
      differ(m, "reverse", "sinusoidal", kind);
      const Series c = m.points("copy", kind);  // shares of four sentences of each length
      for (std::size_t i = 0; i < c.x.size(); ++i) {
        const double right = 4 * c.x[i] * c.y[i];
        CHECK(right == Approx(std::round(right)));
      }
      CHECK(m.values.at("copy_next_" + kind) == m.points("copy", kind).y.at(1));
    }
    CHECK(m.points("copy", "none").x == std::vector<double>{4, 5, 6, 8, 12, 16});
    CHECK(m.points("copy", "none").y != m.points("reverse", "none").y);
    CHECK(m.values.at("copy_double") == m.points("copy", "sinusoidal").y.at(3));
  }
  SECTION("fixed-or-learned") {
    const Measurement m = small("fixed-or-learned");
    for (const std::string task : {"copy", "reverse", "sum"}) {
      differ(m, "draws", task + ", learned", task + ", sinusoidal");
      const auto y = m.points("draws", task + ", learned").y;
      CHECK(y.at(0) != y.at(1));
    }
    differ(m, "draws", "copy, learned", "reverse, learned");
    differ(m, "draws", "copy, learned", "sum, learned");
  }
  SECTION("base") {
    std::map<std::string, double> v = small("base").values;
    double best = kInf;
    for (int power = 1; power <= 6; ++power) {
      const double loss = v.at("loss_1e" + std::to_string(power));
      CHECK((power == 4 || loss != v["loss_1e4"]));
      best = std::min(best, loss);
    }
    CHECK(v["behind"] == v["loss_1e4"] - best);
    CHECK(v["smaller"] == std::abs(v["loss_1e3"] - v["loss_1e4"]));
    CHECK(v["larger"] == std::abs(v["loss_1e5"] - v["loss_1e4"]));
  }
  SECTION("query-is-key") {
    const Measurement m = small("query-is-key");
    std::map<std::string, double> v = m.values;
    differ(m, "loss", "apart", "shared");
    CHECK(v["fresh"] == v["fresh_shared"] / v["fresh_apart"]);
    CHECK(v["fresh"] > 1.5);
    CHECK(v["fresh_apart"] == Approx(1.0 / 11).epsilon(0.2));
    CHECK(v["worse"] == v["loss_shared"] / v["loss_apart"]);
    CHECK(v["trained_shared"] != v["fresh_shared"]);
  }
  SECTION("heads") {
    const Measurement m = small("heads");
    CHECK(m.values.at("spread_4") ==
          m.points("spread", "trained").y.at(1) / m.points("spread", "fresh").y.at(1));
    CHECK(m.values.at("parameters") == 1);
    CHECK(m.values.at("products") == 1);
    CHECK(m.values.at("loss_1") != m.values.at("loss_8"));
  }
  SECTION("norms") {
    const Measurement m = small("norms");
    differ(m, "accuracy", "layer norm", "batch norm");
    CHECK(m.values.at("difference") == m.values.at("layer") - m.values.at("batch"));
    CHECK(m.values.at("layer_own") == m.values.at("layer"));  // no running statistics
  }
  SECTION("hunger") {
    const Measurement m = small("hunger");
    differ(m, "accuracy", "cnn", "vit");
    CHECK(m.points("accuracy", "cnn").y != m.points("learned", "cnn").y);
    const auto by_amount = m.points("accuracy", "vit").y;
    CHECK(by_amount.at(0) != by_amount.at(1));
    for (const char* name : {"few", "many"}) {
      const std::size_t i = name == std::string("many");
      CHECK(m.values.at(name) ==
            m.points("accuracy", "cnn").y.at(i) - m.points("accuracy", "vit").y.at(i));
    }
    for (const std::string kind : {"cnn", "vit"}) {
      const auto y = m.points("learned", kind).y;
      CHECK(m.values.at(kind + "_learned") == std::min(y.at(0), y.at(1)));
    }
  }
  SECTION("bottleneck") {
    const Measurement m = small("bottleneck");
    for (const std::string kind : {"vector", "attention", "transformer"}) {
      const auto y = m.points("accuracy", kind).y;
      CHECK(m.values.at(kind) == y.front() - y.back());
      CHECK(m.values.at(kind + "_long") == y.back());
    }
    CHECK(m.points("accuracy", "vector").x == std::vector<double>{2, 4, 6});
  }
  SECTION("exposure") {
    const Measurement m = small("exposure");
    differ(m, "sum", "wrong third step", "wrong third step, scheduled sampling");
    for (const std::string task : {"sum", "copy"}) {
      CHECK(m.points(task, "wrong third step").y.at(2) == 1);
      CHECK(m.points(task, "wrong third step").y.at(0) == m.points(task, "undisturbed").y.at(0));
    }
  }
  SECTION("bf16") {
    const Measurement m = small("bf16");
    std::map<std::string, double> v = m.values;
    differ(m, "loss", "float32", "bfloat16");
    for (const std::string kind : {"scores", "norms", "embeddings", "matrices"}) {
      const auto y = m.points("errors", kind).y;
      CHECK(y.back() < y.front() / 4);
      CHECK(v[kind] == y.at(3));
    }
    CHECK(v["first"] == v["scores"] / std::max({v["norms"], v["embeddings"], v["matrices"]}));
    CHECK(v["worse"] == v["loss_rounded"] - v["loss"]);
  }
}

}  // namespace test_symbols

// What studies measure with, on cases whose answer is known; and each study at small sizes.
#include "tools/study/study.hpp"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "autograd/magnification.hpp"
#include "nn/linear.hpp"
#include "tensor/elementwise.hpp"
#include "tensor/error.hpp"
#include "tensor/index.hpp"
#include "tensor/matmul.hpp"
#include "tensor/random.hpp"
#include "tensor/reduce.hpp"
#include "tests/catch.hpp"
#include "tools/inspect/rollout.hpp"
#include "tools/study/features.hpp"
#include "tools/study/measures.hpp"
#include "tools/study/statistics.hpp"
#include "tools/text/utf8.hpp"

using namespace glim;

namespace {

constexpr DType kDouble = DType::Float64;

Criterion criterion(const char* study, const std::string& key) {
  for (const Criterion& c : study_of(study).criteria)
    if (c.key == key) return c;
  throw ValueError("criterion", key);
}

double largest_difference(const Tensor& a, const Tensor& b) { return max(abs(sub(a, b))).item(); }

}  // namespace

TEST_CASE("lines and power laws are found again", "[study]") {
  Line line = fit_line({0, 1, 2, 5}, {3, 5, 7, 13});
  CHECK(line.slope == Approx(2));
  CHECK(line.intercept == Approx(3));
  CHECK(line.r2 == Approx(1));
  // By hand: Σ(x - x̄)(y - ȳ) = 1, Σ(x - x̄)² = 2, Σ(y - ȳ)² = 2/3.
  CHECK(fit_line({0, 1, 2}, {0, 1, 1}).slope == Approx(0.5));
  CHECK(fit_line({0, 1, 2}, {0, 1, 1}).r2 == Approx(0.75));
  std::vector<double> x{2, 4, 8, 16, 32}, y;
  for (double v : x) y.push_back(5 * std::pow(v, -0.5));
  CHECK(fit_power_law(x, y).slope == Approx(-0.5).epsilon(1e-12));
  CHECK(std::exp(fit_power_law(x, y).intercept) == Approx(5));
  CHECK_THROWS_AS(fit_line({1, 2}, {1}), ValueError);
  CHECK_THROWS_AS(fit_line({1, 1}, {1, 2}), ValueError);
  CHECK_THROWS_AS(fit_power_law({1, 2}, {1, 0}), ValueError);
}

TEST_CASE("ranks share their mean where values are equal", "[study]") {
  CHECK(ranks_of({30, 10, 20, 10}) == std::vector<double>{4, 1.5, 3, 1.5});
  CHECK(spearman({1, 2, 3, 4}, {1, 8, 27, 64}) == Approx(1));
  CHECK(spearman({1, 2, 3, 4}, {9, 7, 5, 3}) == Approx(-1));
  // Without ties 1 - 6 Σd²/(n (n² - 1)): differences of ranks 1, 1, 0, 1, 1 give 1 - 24/120.
  CHECK(spearman({1, 2, 3, 4, 5}, {2, 1, 3, 5, 4}) == Approx(0.8));
  CHECK(std::isnan(spearman({1, 2, 3}, {4, 4, 4})));
  CHECK(deviation_of({1, 2, 3, 4}) == Approx(std::sqrt(5.0 / 3)));
}

TEST_CASE("the spectral norm is the largest singular value", "[study]") {
  Tensor d = zeros({3, 2}, kDouble);
  d.select(0, 1).copy_(tensor({0, -4}, kDouble));
  d.select(0, 2).copy_(tensor({3, 0}, kDouble));
  CHECK(spectral_norm(d) == Approx(4));
  CHECK(spectral_norm(zeros({2, 2}, kDouble)) == 0);
  Tensor u = normal({5, 1}, 0, 1, {1, 2}, kDouble), v = normal({1, 7}, 0, 1, {1, 3}, kDouble);
  CHECK(spectral_norm(matmul(u, v)) == Approx(frobenius_norm(u) * frobenius_norm(v)));
}

TEST_CASE("the residual is what is left beside the mean token", "[study]") {
  Tensor token = normal({1, 4}, 0, 1, {2, 1}, kDouble);
  CHECK(relative_residual(token.expand({8, 4})) == 0);
  Tensor x = from_vector<double>({1, 0, -1, 0}, {2, 2});  // mean 0: all of it is residual
  CHECK(relative_residual(x) == Approx(1));
  Tensor y = from_vector<double>({1, 2, 3, 2}, {2, 2});
  CHECK(largest_difference(token_residual(y), neg(x)) == 0);
}

TEST_CASE("rollout multiplies attention, half of it the residual's", "[study]") {
  Tensor i = eye(3, kDouble), uniform_rows = full({3, 3}, 1.0 / 3, kDouble);
  CHECK(largest_difference(rollout({i, i}), i) == 0);
  // ½ U + ½ I twice: U U = U gives ¾ U + ¼ I.
  Tensor twice = add(mul(uniform_rows, 0.75), mul(i, 0.25));
  CHECK(largest_difference(rollout({uniform_rows, uniform_rows}), twice) < 1e-15);
  // Order: what the first layer moved from 0 to 1, the second moves on to 2.
  Tensor first = i.clone(), second = i.clone();
  first.select(0, 1).copy_(tensor({1, 0, 0}, kDouble));
  second.select(0, 2).copy_(tensor({0, 1, 0}, kDouble));
  CHECK(rollout({first, second}).at<double>({2, 0}) == 0.25);
  CHECK(rollout({second, first}).at<double>({2, 0}) == 0);
  CHECK(rollout_by_layer({first, second}).front().at<double>({1, 0}) == 0.5);
  // Heads count as their mean.
  Tensor heads = stack(std::vector<Tensor>{first, i}, 0);
  CHECK(rollout({heads}).at<double>({1, 0}) == 0.25);
  // Rows sum to 1, also one that attends to nothing.
  Tensor probs = softmax(normal({2, 5, 5}, 0, 2, {3, 1}, kDouble));
  probs.select(1, 4).fill_(0);
  CHECK(largest_difference(sum(rollout({probs, probs, probs}), {-1}), ones({5}, kDouble)) < 1e-14);
  CHECK_THROWS_AS(rollout({}), ValueError);
  CHECK_THROWS_AS(rollout({eye(3), eye(4)}), ShapeError);
  CHECK_THROWS_AS(rollout({ones({2, 3})}), ShapeError);
}

TEST_CASE("scores have variance d_k, and 1 after the division", "[study]") {
  for (Index d_k : {8, 128}) {
    INFO("d_k " << d_k);
    seed(5);
    ScorePair s = score_statistics(8, 64, d_k);
    // 512 queries and keys: the lengths alone leave a deviation of √(4/(512 d_k)), 3 % at 8.
    CHECK(s.raw.variance == Approx(static_cast<double>(d_k)).epsilon(0.12));
    CHECK(s.divided.variance == Approx(s.raw.variance / static_cast<double>(d_k)).epsilon(1e-4));
    CHECK(s.divided.entropy > s.raw.entropy);
    CHECK(s.divided.entropy < std::log(64.0));
    CHECK(s.raw.gradient_norm > 0);
  }
}

TEST_CASE("identical tokens: query and key gradients are zero to the bit, others are not",
          "[study]") {
  seed(6);
  for (Magnification how : {Magnification::Fused, Magnification::Explicit}) {
    Magnify magnify(how);
    MultiheadAttention attention(16, 1);
    attention.to(kDouble);
    for (const Var& p : attention.parameters()) p.value().copy_(eighths(p.shape()));
    Tensor x = eighths({2, 1, 16}).expand({2, 4, 16}).contiguous(), dy = eighths({2, 4, 16});
    ProjectionGradients same = projection_gradients(attention, x, dy);
    CHECK(same.largest == 0);
    CHECK(same.query == 0);
    CHECK(same.key == 0);
    CHECK(same.value > 1);
    ProjectionGradients apart = projection_gradients(attention, eighths({2, 4, 16}), dy);
    CHECK(apart.largest > 0);
    CHECK(apart.query > 1e-3);
  }
  Tensor e = eighths({1000});
  Tensor whole = mul(e, 8);
  CHECK(same_bits(whole, whole.to(DType::Int64).to(kDouble)));
  CHECK(max(abs(e)).item() == 1);
}

TEST_CASE("the entropy bound is reached by the extremal logits, and by nothing else below",
          "[study]") {
  // T = 16, worked out from the formula by hand.
  CHECK(entropy_bound(16, 1) == Approx(2.717).epsilon(1e-3));
  CHECK(entropy_bound(16, 4) == Approx(1.018).epsilon(1e-3));
  CHECK(entropy_bound(16, 8) == Approx(0.0357).epsilon(2e-3));
  CHECK(entropy_bound(5, 0) == Approx(std::log(5.0)));
  for (double sigma : {0.5, 3.0, 10.0}) {
    std::vector<double> u = extremal_logits(7, sigma);
    double total = 0, squares = 0;
    for (double v : u) {
      total += v;
      squares += v * v;
    }
    CHECK(std::abs(total) < 1e-12);
    CHECK(std::sqrt(squares) == Approx(sigma));
    CHECK(attention_entropies(from_vector(u, {1, 7}))[0] ==
          Approx(entropy_bound(7, sigma)).epsilon(1e-12));
  }
  CHECK_THROWS_AS(entropy_bound(1, 1), ValueError);
  CHECK_THROWS_AS(entropy_bound(4, -1), ValueError);
  CHECK_THROWS_AS(entropy_bound(4, std::nan("")), ValueError);
}

TEST_CASE("the gradient of smoothed losses is p - q, in both magnifications", "[study]") {
  Tensor logits = normal({6, 5}, 0, 2, {8, 1}, kDouble);
  Tensor target = from_vector<std::int64_t>({4, 1, 0, 2, 3, 1}, {6});  // the third is padding
  for (Magnification how : {Magnification::Fused, Magnification::Explicit}) {
    Magnify magnify(how);
    for (double smoothing : {0.0, 0.1, 0.3})
      CHECK(smoothing_gradient_error(logits, target, smoothing, smoothing, 0) < 1e-15);
  }
}

TEST_CASE("clusters: within over between", "[study]") {
  // Classes at ±2 with points 1 off: within 4·1, between 4·4. The last row's class is too small.
  Tensor x = from_vector<double>({1, 3, -1, -3, 50}, {5, 1});
  CHECK(cluster_spread({x, {0, 0, 1, 1, 2}}, 2) == Approx(0.25));
  Tensor points = from_vector<double>({2, 2, -2, -2}, {4, 1});
  CHECK(cluster_spread({points, {7, 7, 9, 9}}, 1) == 0);
  CHECK(cluster_spread({mul(x, 10), {0, 0, 1, 1, 2}}, 2) == Approx(0.25));  // any scale
  CHECK_THROWS_AS(cluster_spread({points, {7, 7, 9, 9}}, 3), ValueError);
}

TEST_CASE("a perturbation is as large as it says, and of matrices alone", "[study]") {
  seed(9);
  Linear layer(40, 50);
  Tensor weight = layer.weight.value().clone(), bias = layer.bias.value().clone();
  perturb(layer, 0.01);
  double moved = frobenius_norm(sub(layer.weight.value(), weight));
  CHECK(moved / frobenius_norm(weight) == Approx(0.01).epsilon(0.08));  // 2,000 draws
  CHECK(same_bits(layer.bias.value(), bias));
}

TEST_CASE("the verb agrees with the subject's head", "[study]") {
  using A = AgreementSentence;
  int plural = 0;
  for (std::uint64_t i = 0; i < 300; ++i) {
    AgreementSentence s = agreement_sentence({10, i});
    CHECK(s.ids.front() == A::kCls);
    CHECK(s.ids.back() == A::kVerb);
    CHECK(s.ids.size() <= 32);
    // The head is the first noun behind the comma of a phrase in front, or the first of all.
    std::size_t from = 1;
    for (std::size_t t = 0; t < s.ids.size(); ++t) {
      CHECK(s.ids[t] < A::kVocabulary);
      if (s.ids[t] == A::kComma) from = t;
    }
    while (s.ids[from] < A::kFirstNoun) ++from;
    CHECK((s.ids[from] - A::kFirstNoun) % 2 == s.number);
    plural += static_cast<int>(s.number);
  }
  CHECK(plural > 110);
  CHECK(plural < 190);
}

TEST_CASE("a claim holds where every criterion that decides does, for each seed", "[study]") {
  Study s;
  s.name = "made-up";
  s.criteria = {{"a", "a", 0, 1, "because"}, {"b", "b", 5, 5, "beside", false}};
  s.plots = {{"p", "title", "x", "y"}};
  s.measure = [](std::uint64_t seed, bool) {
    Measurement m;
    auto v = static_cast<double>(seed);
    m.values = {{"a", v / 2}, {"b", v}};
    m.curve("p", "line", 1, v);
    m.curve("p", "line", 2, 10 * v);
    return m;
  };
  StudyResult two = run_study(s, {.first_seed = 1, .seeds = 2});
  CHECK(two.holds());
  StudyResult three = run_study(s, {.first_seed = 1, .seeds = 3});
  CHECK_FALSE(three.holds());
  CHECK(three.holds(1));
  CHECK_FALSE(three.holds(2));
  CHECK(three.series.at(0).mean == std::vector<double>{2, 20});
  CHECK(three.series.at(0).low == std::vector<double>{1, 10});
  CHECK(three.series.at(0).high == std::vector<double>{3, 30});
  CHECK(to_text(three).find("does not hold as stated (seed 3)") != std::string::npos);
  CHECK(to_text(two).find("the claim holds for each seed") != std::string::npos);

  s.measure = [](std::uint64_t, bool) {
    Measurement m;
    m.values = {{"a", std::nan("")}, {"b", 5}};
    return m;
  };
  CHECK_FALSE(run_study(s, {}).holds());  // no number is within an interval when it is none
  s.measure = [](std::uint64_t, bool) { return Measurement{}; };
  CHECK_THROWS_AS(run_study(s, {}), StateError);
  CHECK_THROWS_AS(run_study(s, {.seeds = 0}), ValueError);
}

// ---- Criteria can fail: each refuses what a wrong set-up gives. ----

TEST_CASE("norm-placement: either norm's slope is refused for the other's", "[study]") {
  seed(11);
  auto slope = [](NormPlacement norm) {
    std::vector<double> depths{6, 24}, gradients;
    for (double layers : depths) {
      double total = 0;
      for (int i = 0; i < 12; ++i) total += last_layer_gradient(static_cast<Index>(layers), norm);
      gradients.push_back(total / 12);
    }
    return fit_power_law(depths, gradients).slope;
  };
  const Criterion &flat = criterion("norm-placement", "post_slope"),
                  &falls = criterion("norm-placement", "pre_slope");
  double post = slope(NormPlacement::Post), pre = slope(NormPlacement::Pre);
  INFO("post " << post << " pre " << pre);
  CHECK(flat.holds(post));
  CHECK(falls.holds(pre));
  CHECK_FALSE(flat.holds(pre));
  CHECK_FALSE(falls.holds(post));
}

TEST_CASE("norm-placement: growth leaves Lemma 2's bounds with other weights than its own",
          "[study]") {
  seed(12);
  const Criterion &low = criterion("norm-placement", "growth_low"),
                  &high = criterion("norm-placement", "growth_high");
  auto rate = [](double gain) {  // of the first two layers, before tokens have much in common
    return (pre_norm_growth(2, 16, gain).back() - 1) / 2;
  };
  CHECK(low.holds(rate(1)));
  CHECK(high.holds(rate(1)));
  CHECK_FALSE(low.holds(rate(0.5)));  // ¼ of the feed-forward network's d/2
  CHECK_FALSE(high.holds(rate(2)));   // four times
}

TEST_CASE("warm-up: a rate counts where one placement alone fails without it", "[study]") {
  constexpr double kDiverged = std::numeric_limits<double>::infinity();
  CHECK(only_post_needs_warm_up({2, 0.1, 0.1, 0.1}, 1));
  CHECK(only_post_needs_warm_up({kDiverged, 0.1, 0.1, 5}, 1));
  CHECK(only_pre_needs_warm_up({0.1, 0.1, 2, 0.1}, 1));
  for (WarmUpLosses other : {WarmUpLosses{0.1, 0.1, 0.1, 0.1},
                             {2, 2, 0.1, 0.1},
                             {2, 0.1, 2, 0.1},
                             {0.1, 0.1, 2, 2},
                             {2, 2, 2, 2}}) {
    CHECK_FALSE(only_post_needs_warm_up(other, 1));
    CHECK_FALSE(only_pre_needs_warm_up(other, 1));
  }
  CHECK_FALSE(only_post_needs_warm_up({std::nan(""), std::nan(""), 0.1, 0.1}, 1));
  CHECK_FALSE(criterion("warm-up", "post_needs").holds(0));
  CHECK_FALSE(criterion("warm-up", "pre_needs").holds(1));
}

TEST_CASE("scaling: scores that are divided are refused where raw ones are wanted", "[study]") {
  seed(13);
  ScorePair narrow = score_statistics(8, 64, 256), wide = score_statistics(8, 64, 4096);
  auto slope = [](const ScoreStatistics& a, const ScoreStatistics& b) {
    return fit_power_law({256, 4096}, {a.gradient_norm, b.gradient_norm}).slope;
  };
  auto holds = [](const char* key, double value) { return criterion("scaling", key).holds(value); };
  double divided = slope(narrow.divided, wide.divided), raw = slope(narrow.raw, wide.raw);
  CHECK(holds("scaled_slope", divided));
  CHECK_FALSE(holds("scaled_slope", raw));
  CHECK(holds("raw_slope", raw));
  CHECK_FALSE(holds("raw_slope", divided));
  CHECK(holds("variance_low", wide.raw.variance / 4096));
  CHECK_FALSE(holds("variance_low", wide.divided.variance / 4096));
  CHECK(holds("raw_entropy", wide.raw.entropy / std::log(64)));
  CHECK_FALSE(holds("raw_entropy", wide.divided.entropy / std::log(64)));
  CHECK(holds("median_ratio", wide.raw.median_row / wide.divided.median_row));
  CHECK_FALSE(holds("median_ratio", narrow.raw.median_row / narrow.divided.median_row));
}

TEST_CASE("rank-collapse: a collapse that is merely exponential is refused, and none at all",
          "[study]") {
  const Criterion& growth = criterion("rank-collapse", "growth");
  std::vector<double> exponential, doubly;
  for (int l = 0; l < 4; ++l) {
    exponential.push_back(std::exp(-2 * l));
    doubly.push_back(std::exp(-(std::pow(3, l) - 1) / 2));
  }
  CHECK(step_growth(exponential, 1e-13) == Approx(1));
  CHECK(step_growth(doubly, 1e-13) == Approx(3));
  CHECK_FALSE(growth.holds(step_growth(exponential, 1e-13)));
  CHECK(growth.holds(step_growth(doubly, 1e-13)));
  // What is below the floor is rounding, and does not count.
  CHECK(step_growth({1, 1e-2, 1e-8, 1e-16, 1e-16}, 1e-13) == Approx(3));
  Measurement m = study_of("rank-collapse").measure(1, true);
  auto holds = [](const char* key, double value) {
    return criterion("rank-collapse", key).holds(value);
  };
  CHECK(holds("collapse", m.values.at("collapse")));
  CHECK_FALSE(holds("collapse", m.values.at("skips_relative")));
  CHECK_FALSE(holds("layer_norm", m.values.at("all")));
  CHECK(holds("skips_keep", m.values.at("skips_keep")));
  CHECK_FALSE(holds("skips_keep", m.values.at("attention_keeps")));
}

TEST_CASE("identical-tokens: tokens that differ in one bit of one token are refused", "[study]") {
  seed(14);
  MultiheadAttention attention(16, 1);
  attention.to(kDouble);
  for (const Var& p : attention.parameters()) p.value().copy_(eighths(p.shape()));
  Tensor x = eighths({1, 1, 16}).expand({1, 4, 16}).contiguous(), dy = eighths({1, 4, 16});
  const Criterion& zero = criterion("identical-tokens", "exact_query_key");
  CHECK(zero.holds(projection_gradients(attention, x, dy).largest));
  x.data<double>()[0] += 1.0 / 8;
  ProjectionGradients apart = projection_gradients(attention, x, dy);
  CHECK_FALSE(zero.holds(apart.largest));
  CHECK_FALSE(criterion("identical-tokens", "float_query").holds(apart.query / apart.value));
}

TEST_CASE("entropy: a bound with a spread one per cent too small is refused", "[study]") {
  double sigma = 3, wrong = 0.99 * sigma;
  double reached = attention_entropies(from_vector(extremal_logits(16, sigma), {1, 16}))[0];
  auto holds = [](const char* key, double value) { return criterion("entropy", key).holds(value); };
  CHECK(holds("extremal", std::abs(reached - entropy_bound(16, sigma))));
  CHECK_FALSE(holds("extremal", std::abs(reached - entropy_bound(16, wrong))));
  CHECK_FALSE(holds("ratio", reached / entropy_bound(16, wrong)));
  CHECK_FALSE(holds("slack", reached - entropy_bound(16, wrong)));
  CHECK_FALSE(holds("search_below", reached - entropy_bound(16, wrong)));
  CHECK_FALSE(holds("search_above", reached - entropy_bound(16, 1.1 * sigma)));
}

TEST_CASE("dependence: post-norm does not pass for log N, nor pre-norm for N", "[study]") {
  std::vector<double> depths{2, 4, 8, 16}, logarithms;
  for (double n : depths) logarithms.push_back(std::log(n));
  auto advantage_of_line = [&](NormPlacement norm) {  // R² over N less R² over ln N
    seed(15);
    std::vector<double> shifts;
    for (double n : depths) {
      double total = 0;
      for (int i = 0; i < 12; ++i) total += output_shifts(static_cast<Index>(n), norm).random;
      shifts.push_back(total);
    }
    return fit_line(depths, shifts).r2 - fit_line(logarithms, shifts).r2;
  };
  const Criterion &post = criterion("dependence", "post_better"),
                  &pre = criterion("dependence", "pre_better");
  double of_post = advantage_of_line(NormPlacement::Post),
         of_pre = advantage_of_line(NormPlacement::Pre);
  INFO("post " << of_post << " pre " << of_pre);
  CHECK(post.holds(of_post));
  CHECK(pre.holds(-of_pre));
  CHECK_FALSE(post.holds(of_pre));
  CHECK_FALSE(pre.holds(-of_post));
}

TEST_CASE("label-smoothing: another ε, or clusters as loose as before, are refused", "[study]") {
  Tensor logits = normal({6, 5}, 0, 2, {8, 1}, kDouble);
  Tensor target = from_vector<std::int64_t>({4, 1, 0, 2, 3, 1}, {6});
  auto holds = [](const char* key, double value) {
    return criterion("label-smoothing", key).holds(value);
  };
  CHECK(holds("gradient", smoothing_gradient_error(logits, target, 0.1, 0.1, 0)));
  CHECK_FALSE(holds("gradient", smoothing_gradient_error(logits, target, 0.1, 0.1001, 0)));
  CHECK_FALSE(holds("classifier_train_ratio", 1));
  CHECK_FALSE(holds("train_ratio", 1));
}

TEST_CASE("rollout: what is no better than raw attention is refused", "[study]") {
  for (const char* key : {"last", "layers", "ablation"}) {
    CHECK_FALSE(criterion("rollout", key).holds(0));
    CHECK_FALSE(criterion("rollout", key).holds(std::nan("")));
  }
}

TEST_CASE("the list of studies fits a terminal of 96 columns", "[study]") {
  std::string text = to_text(studies());
  for (const Study& s : studies()) CHECK(text.find(s.name) != std::string::npos);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) CHECK(display_width(line) <= 96);
}

TEST_CASE("an unknown study is answered with the nearest", "[study]") {
  try {
    study_of("norm-placment");
    FAIL("no error");
  } catch (const ValueError& e) {
    CHECK(std::string(e.what()).find("norm-placement") != std::string::npos);
  }
}

TEST_CASE("each study runs at small sizes, and its text and JSON agree", "[study]") {
  std::vector<StudyResult> results;
  for (const Study& s : studies()) {
    INFO(s.name);
    CHECK_FALSE(s.claim.empty());
    CHECK_FALSE(s.source.empty());
    for (const Criterion& c : s.criteria) CHECK_FALSE(c.reason.empty());
    results.push_back(run_study(s, {.first_seed = 1, .seeds = 1, .small = true}));
    StudyResult again = run_study(s, {.first_seed = 1, .seeds = 1, .small = true});
    for (const Criterion& c : s.criteria) {
      INFO(c.key);
      double value = again.values(c).at(0);
      bool same = value == results.back().values(c).at(0);
      CHECK((same || std::isnan(value)));  // the same seed, the same bits
    }
  }
  for (const StudyResult& r : results) {
    auto j = nlohmann::json::parse(to_json(r));
    std::string text = to_text(r);
    INFO(r.study->name << "\n" << text);
    CHECK(j.at("name") == r.study->name);
    CHECK(j.at("holds") == r.holds());
    CHECK(j.at("small") == true);
    CHECK(text.find("SMALL") != std::string::npos);
    for (std::size_t k = 0; k < r.study->criteria.size(); ++k) {
      const Criterion& c = r.study->criteria[k];
      auto value = j.at("criteria")[k].at("values")[0];
      CHECK(text.find(c.quantity) != std::string::npos);
      if (value.is_null()) continue;
      CHECK(value.get<double>() == r.values(c)[0]);
      char shown[32];
      std::snprintf(shown, sizeof shown, "%.4g", value.get<double>());
      CHECK(text.find(shown) != std::string::npos);
    }
    for (const SeriesOfSeeds& s : r.series) CHECK(s.x.size() == s.mean.size());
    std::vector<Picture> drawn = pictures(r);
    CHECK(drawn.size() == r.study->plots.size());
    for (const Picture& p : drawn) CHECK(p.svg.find("<svg") != std::string::npos);
  }
}

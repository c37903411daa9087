// The measurements of studies, on cases whose answer is known; and each study at small sizes.
#include "tools/study/study.hpp"

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "autograd/op_form.hpp"
#include "models/tokenizers/utf8.hpp"
#include "nn/linear.hpp"
#include "tensor/error.hpp"
#include "tensor/matmul/matmul.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tensor/random.hpp"
#include "tests/catch.hpp"
#include "tests/sanitized.hpp"
#include "tools/common/folder.hpp"
#include "tools/measure/rollout.hpp"
#include "tools/study/features.hpp"
#include "tools/study/measures.hpp"
#include "tools/study/statistics.hpp"

namespace test_study {

using namespace glim;
using namespace glim::dependence;
using namespace glim::entropy;
using namespace glim::identical_tokens;
using namespace glim::label_smoothing;
using namespace glim::rollout_study;
using namespace glim::scaling;
namespace {

constexpr DType kDouble = DType::Float64;

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
  CHECK(std::isnan(fit_line({1, 1}, {1, 1}).slope));
  CHECK_FALSE(std::isfinite(fit_power_law({1, 2}, {1, 0}).slope));
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
  select(d, 0, 1).copy_(tensor({0, -4}, kDouble));
  select(d, 0, 2).copy_(tensor({3, 0}, kDouble));
  CHECK(spectral_norm(d) == Approx(4));
  CHECK(spectral_norm(zeros({2, 2}, kDouble)) == 0);
  Tensor u = normal({5, 1}, 0, 1, {1, 2}, kDouble), v = normal({1, 7}, 0, 1, {1, 3}, kDouble);
  CHECK(spectral_norm(matmul(u, v)) == Approx(norm(u) * norm(v)));
}

TEST_CASE("the residual is what is left beside the mean token", "[study]") {
  Tensor token = normal({1, 4}, 0, 1, {2, 1}, kDouble);
  CHECK(relative_residual(broadcast_to(token, {8, 4})) == 0);
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
  select(first, 0, 1).copy_(tensor({1, 0, 0}, kDouble));
  select(second, 0, 2).copy_(tensor({0, 1, 0}, kDouble));
  CHECK(rollout({first, second}).at<double>({2, 0}) == 0.25);
  CHECK(rollout({second, first}).at<double>({2, 0}) == 0);
  CHECK(rollout_by_layer({first, second}).front().at<double>({1, 0}) == 0.5);
  // Heads count as their mean.
  Tensor heads = stack(std::vector<Tensor>{first, i}, 0);
  CHECK(rollout({heads}).at<double>({1, 0}) == 0.25);
  // Rows sum to 1, also one that attends to nothing.
  Tensor probs = softmax(normal({2, 5, 5}, 0, 2, {3, 1}, kDouble));
  select(probs, 1, 4).fill_(0);
  CHECK(largest_difference(sum(rollout({probs, probs, probs}), {-1}), ones({5}, kDouble)) < 1e-14);
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
  for (OpForm how : {OpForm::Fused, OpForm::Explicit}) {
    UseForm use(how);
    MultiheadAttention attention(16, 1);
    attention.to(kDouble);
    for (const Var& p : attention.parameters()) p.value().copy_(eighths(p.shape()));
    Tensor x = broadcast_to(eighths({2, 1, 16}), {2, 4, 16}).contiguous(), dy = eighths({2, 4, 16});
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
}

TEST_CASE("the gradient of smoothed losses is p - q, in both forms", "[study]") {
  Tensor logits = normal({6, 5}, 0, 2, {8, 1}, kDouble);
  Tensor target = from_vector<std::int64_t>({4, 1, 0, 2, 3, 1}, {6});  // the third is padding
  for (OpForm how : {OpForm::Fused, OpForm::Explicit}) {
    UseForm use(how);
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
  double moved = norm(sub(layer.weight.value(), weight));
  CHECK(moved / norm(weight) == Approx(0.01).epsilon(0.08));  // 2,000 draws
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
  CHECK(two.verdict() == Verdict::Holds);
  StudyResult three = run_study(s, {.first_seed = 1, .seeds = 3});
  CHECK(three.verdict() == Verdict::Fails);
  CHECK(three.verdict(1) == Verdict::Holds);
  CHECK(three.verdict(2) == Verdict::Fails);
  CHECK(three.series.at(0).y == std::vector<double>{2, 20});
  CHECK(three.series.at(0).low == std::vector<double>{1, 10});
  CHECK(three.series.at(0).high == std::vector<double>{3, 30});
  CHECK(to_text(three).find("does not hold as stated (seed 3)") != std::string::npos);
  CHECK(to_text(two).find("the claim holds for each seed") != std::string::npos);

  s.measure = [](std::uint64_t, bool) {
    Measurement m;
    m.values = {{"a", std::nan("")}, {"b", 5}};
    return m;
  };
  CHECK(run_study(s, {}).verdict() ==
        Verdict::Fails);  // no number is within an interval when it is none
  s.measure = [](std::uint64_t, bool) { return Measurement{}; };
  CHECK_THROWS_AS(run_study(s, {}), StateError);
  CHECK_THROWS_AS(run_study(s, {.seeds = 0}), ValueError);
}

TEST_CASE("a seed whose control fails decides nothing", "[study]") {
  Study s;
  s.name = "made-up";
  s.criteria = {{"a", "a", 0, 1, "because"}, {"set-up", "set-up", 0, 2, "control", true, true}};
  s.measure = [](std::uint64_t seed, bool) {
    Measurement m;
    m.values = {{"a", seed == 2 ? 5 : 0.5}, {"set-up", static_cast<double>(seed)}};
    return m;
  };
  auto of = [&](std::uint64_t first, int seeds) {
    return run_study(s, {.first_seed = first, .seeds = seeds});
  };
  auto holds = [](const StudyResult& r) { return nlohmann::json::parse(to_json(r)).at("holds"); };
  CHECK(of(1, 1).verdict() == Verdict::Holds);
  CHECK(holds(of(1, 1)) == true);
  CHECK(of(3, 1).verdict() == Verdict::Undecided);
  CHECK(holds(of(3, 1)).is_null());
  CHECK(verdict_text(of(3, 2)) == "undecided, because a control fails (seed 3, 4)");
  CHECK(to_text(of(3, 1)).find("control: does not hold") != std::string::npos);
  // One seed against the claim is enough, whatever another leaves undecided.
  CHECK(verdict_text(of(1, 3)) == "the claim does not hold as stated (seed 2)");
  CHECK(nlohmann::json::parse(to_json(of(1, 3))).at("holds_by_seed").dump() == "[true,false,null]");
}

TEST_CASE("criteria of a file take the place of the study's own", "[study]") {
  const TemporaryFolder folder;
  const std::string file = (folder.path / "mine.toml").string();
  auto written = [&](const std::string& text) {
    std::ofstream(file) << text;
    return criteria_in(file, study_of("identical-tokens"));
  };
  const std::vector<Criterion> own = study_of("identical-tokens").criteria;
  const auto mine = written("# mine\n" + own[0].key +
                            " = [beside, \"in words\", -inf, 0.5, \"because\", \"of this\"]\n");
  REQUIRE(mine.size() == 1);
  CHECK(mine[0].key == own[0].key);
  CHECK(mine[0].quantity == "in words");
  CHECK(interval_text(mine[0]) == "≤ 0.5");
  CHECK(mine[0].reason == "because of this");
  CHECK_FALSE(mine[0].decides);
  auto refused = [&](const std::string& text, const std::string& words) {
    try {
      written(text);
      return false;
    } catch (const ValueError& e) {
      return std::string(e.what()).find(words) != std::string::npos;
    }
  };
  CHECK(refused("nonsense = [\"a\", 0, 1, \"b\"]", "does not measure nonsense (nearest: "));
  CHECK(refused(own[0].key + " = [\"a\", 0, \"b\"]", own[0].key + " is a quantity in words"));
  CHECK(refused(own[0].key + " = [\"a\", zero, 1, \"b\"]", "is a quantity in words"));
  CHECK(refused(own[0].key + " = [\"a\", 2, 1, \"b\"]",
                file + ": " + own[0].key + ": no number is in [2, 1]"));
  CHECK_THROWS_AS(written(own[0].key + " = [\"\xe9\", 0, 1, \"b\"]"), FileError);
  Study undecided = study_of("identical-tokens");
  undecided.criteria = written("");
  CHECK_THROWS_AS(run_study(undecided, {}), ValueError);
  CHECK_THROWS_AS(plot_of("loss", {"title", "x"}), ValueError);
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

TEST_CASE("each study runs at small sizes, and its text and JSON agree", "[study][slow]") {
  std::vector<StudyResult> results;
  std::size_t at = 0;
  for (const Study& s : studies()) {
    INFO(s.name);
    if (at++ % kEvery != 0) continue;
    CHECK_FALSE(s.claim.empty());
    CHECK_FALSE(s.source.empty());
    for (const Criterion& c : s.criteria) CHECK_FALSE(c.reason.empty());
    results.push_back(run_study(s, {.first_seed = 1, .seeds = 1, .small = true}));
    for (const Criterion& c : s.criteria) CHECK(std::isfinite(results.back().values(c).at(0)));
    if (kSanitized) continue;
    StudyResult again = run_study(s, {.first_seed = 1, .seeds = 1, .small = true});
    for (const Criterion& c : s.criteria) {
      INFO(c.key);
      CHECK(again.values(c).at(0) ==
            results.back().values(c).at(0));  // the same seed, the same bits
    }
  }
  for (const StudyResult& r : results) {
    auto j = nlohmann::json::parse(to_json(r));
    std::string text = to_text(r);
    INFO(r.study->name << "\n" << text);
    CHECK(j.at("name") == r.study->name);
    CHECK(j.at("holds").is_null());
    CHECK(j.at("small") == true);
    CHECK(text.find("verdict   too small to judge (") != std::string::npos);
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
    for (const Curve& s : r.series) CHECK(s.x.size() == s.y.size());
    std::vector<Picture> drawn = pictures(r);
    CHECK(drawn.size() == r.study->plots.size());
    for (const Picture& p : drawn) CHECK(p.svg().find("<svg") != std::string::npos);
  }
}

}  // namespace test_study

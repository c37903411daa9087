// Criteria can fail: each study's refuse what a wrong set-up gives.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tensor/random.hpp"
#include "tests/catch.hpp"
#include "tools/study/measures.hpp"
#include "tools/study/sequences.hpp"
#include "tools/study/statistics.hpp"
#include "tools/study/study.hpp"

namespace test_criteria {

using namespace glim;
using namespace glim::dependence;
using namespace glim::entropy;
using namespace glim::identical_tokens;
using namespace glim::label_smoothing;
using namespace glim::norm_placement;
using namespace glim::rank_collapse;
using namespace glim::scaling;
using namespace glim::warm_up;
namespace {

constexpr DType kDouble = DType::Float64;

Criterion criterion(const char* study, const std::string& key) {
  for (const Criterion& c : study_of(study).criteria)
    if (c.key == key) return c;
  throw ValueError("criterion", key);
}

}  // namespace

TEST_CASE("norm-placement: either norm's slope is refused for the other's", "[study][slow]") {
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
  CHECK(alone_needs_warm_up(2, 0.1, 0.1, 1));
  CHECK(alone_needs_warm_up(kDiverged, 0.1, 0.1, 1));
  CHECK_FALSE(alone_needs_warm_up(0.1, 0.1, 0.1, 1));
  CHECK_FALSE(alone_needs_warm_up(2, 2, 0.1, 1));
  CHECK_FALSE(alone_needs_warm_up(2, 0.1, 2, 1));
  CHECK_FALSE(alone_needs_warm_up(2, 0.1, kDiverged, 1));
  CHECK_FALSE(alone_needs_warm_up(std::nan(""), std::nan(""), 0.1, 1));
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
  // Numbers below the floor are rounding, and do not count.
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
  Tensor x = broadcast_to(eighths({1, 1, 16}), {1, 4, 16}).contiguous(), dy = eighths({1, 4, 16});
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

TEST_CASE("dependence: post-norm does not pass for log N, nor pre-norm for N", "[study][slow]") {
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

TEST_CASE("edge: a level that stays below the threshold, or is found once, is refused", "[study]") {
  std::vector<double> below(50, 0.8), once = below, there = below;
  once.back() = 1;
  for (std::size_t i = 20; i < there.size(); ++i)
    there[i] = 0.98 + 0.01 * static_cast<double>(i % 5);
  CHECK_FALSE(criterion("edge", "adam_1").holds(edge::level_of(below)));
  CHECK_FALSE(criterion("edge", "adam_1").holds(edge::level_of(once)));
  CHECK(edge::level_of(there) == Approx(1));
  CHECK_FALSE(criterion("edge", "descent_3").holds(1.3));
}

TEST_CASE("least-squares: Γ⁻¹ has the least risk, and what is not learned is refused", "[study]") {
  const Tensor best = least_squares::optimum();
  for (std::uint64_t k = 0; k < 8; ++k)
    CHECK(least_squares::risk(best + normal({4, 4}, 0, 0.01, {10, k}, kDouble)) >
          least_squares::risk(best));
  const Tensor a = least_squares::learned(1, true, 20);
  CHECK_FALSE(criterion("least-squares", "merged_distance").holds(norm(a - best) / norm(best)));
  CHECK_FALSE(criterion("least-squares", "merged_risk")
                  .holds(least_squares::risk(a) / least_squares::risk(best)));
  // The best multiple of I is refused, too.
  const double diagonal[] = {select(select(best, 0, 0), 0, 0).item(),
                             select(select(best, 0, 3), 0, 3).item()};
  CHECK(diagonal[1] > 2 * diagonal[0]);
}

TEST_CASE("logits: a model that bears no higher rate than another is refused", "[study]") {
  const std::vector<double> rates{1e-3, 1e-2, 0.1}, losses{0.5, 0.1, 2}, better{0.5, 0.1, 0.12};
  CHECK(logits::sensitivity(losses) == Approx((0.4 + 1.9) / 3));
  CHECK(logits::highest(rates, losses) == 1e-2);
  CHECK(logits::highest(rates, better) == 0.1);
  CHECK_FALSE(criterion("logits", "sensitivity").holds(1));
  CHECK_FALSE(criterion("logits", "gain").holds(1));
  CHECK(criterion("logits", "gain").holds(0.1 / 1e-2));
}

TEST_CASE("information: a parent's overlap is its χ², and gradients of other orders are refused",
          "[study]") {
  const std::vector<Index> parents = information::forest(1, 20);
  const information::Pairs pairs = information::expected(parents, 1, 5);
  const std::size_t n = parents.size();
  Index children = 0;
  for (std::size_t i = 0; i < n; ++i) {
    CHECK(parents[i] < static_cast<Index>(i));
    CHECK(pairs.chi_square[i * n + i] == Approx(4));  // a token says all about itself
    if (parents[i] < 0) continue;
    const std::size_t cell = i * n + static_cast<std::size_t>(parents[i]);
    CHECK(pairs.overlap[cell] == Approx(pairs.chi_square[cell]));
    ++children;
  }
  CHECK(children > 10);
  // Others with the order of χ², of the overlap, and of neither.
  auto judged = [&](const std::vector<double>& gradient) {
    return information::compare(parents, gradient, pairs.chi_square);
  };
  CHECK(criterion("information", "order").holds(judged(pairs.chi_square).spearman));
  CHECK_FALSE(criterion("information", "order").holds(judged(pairs.overlap).spearman));
  CHECK(criterion("information", "parent").holds(judged(pairs.overlap).parents_largest));
  CHECK_FALSE(criterion("information", "parent").holds(judged(pairs.chi_square).parents_largest));
  CHECK_FALSE(
      criterion("information", "parent")
          .holds(
              judged(normal({20, 20}, 0, 1, {3, 1}, kDouble).to_vector<double>()).parents_largest));
}

TEST_CASE("why-adam: words are as frequent as said, and a cause that changes nothing is refused",
          "[study]") {
  for (const bool uniform : {false, true}) {
    const Successions text = successions(32, 400, 10, {1, 5}, 2, uniform);
    std::vector<double> counts(32);
    for (Index t : text.targets.to_vector<Index>()) ++counts[static_cast<std::size_t>(t)];
    std::ranges::sort(counts);
    const double share = (counts[31] + counts[30] + counts[29] + counts[28]) / 4000;
    CHECK(share > (uniform ? 0.12 : 0.4));  // of the four most frequent
    CHECK(share < (uniform ? 0.3 : 0.7));
  }
  for (const char* key : {"by_block", "uniform", "small_batch", "rare", "blocks"})
    CHECK_FALSE(criterion("why-adam", key).holds(1));
}

TEST_CASE("sinks: triggers copy, and uniform attention is no sink", "[study]") {
  const Tensor ids = sinks::backcopy(64, {1, 5}, 2);
  const auto tokens = ids.to_vector<Index>();
  const auto length = static_cast<std::size_t>(ids.size(1));
  auto is_trigger = [](Index token) { return token >= 1 && token <= sinks::kTriggers; };
  double triggers = 0;
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    CHECK((tokens[i] == 0) == (i % length == 0));
    triggers += is_trigger(tokens[i]);
    if (is_trigger(tokens[i]) && i % length > 0 && (i + 1) % length > 0)
      CHECK(tokens[i + 1] == tokens[i - 1]);
  }
  CHECK(triggers / static_cast<double>(tokens.size()) == Approx(0.25).margin(0.1));

  GptConfig c;
  c.vocab = 1 + sinks::kTriggers + sinks::kOthers, c.context = sinks::kLength + 1, c.d_model = 8;
  c.heads = 1, c.layers = 2;
  Gpt model(c);
  for (EncoderLayer& layer : model.transformer.layers)
    narrow(layer.self_attn.in_proj.weight.value(), 0, 0, 8).fill_(0);  // all scores are 0
  const sinks::Extremes even = sinks::extremes(model, ids);
  CHECK(even.sink() > 1.0 / 32);
  CHECK(even.sink() < 1.0 / 9);
  CHECK(even.shares.back() == Approx(even.sink()));
  CHECK_FALSE(criterion("sinks", "adam_sink").holds(even.sink()));
  CHECK_FALSE(criterion("sinks", "adam_peak").holds(even.peak));
  // <s> with an embedding a hundred times as large is a peak.
  Tensor first = narrow(model.wte.weight.value(), 0, 0, 1);
  first.copy_(mul(first, 100));
  CHECK(criterion("sinks", "adam_peak").holds(sinks::extremes(model, ids).peak));
}

TEST_CASE("width: the least loss lies between rates, and a change that grows is found", "[study]") {
  // Losses that are a parabola over ln η with its vertex at ln η = -3.3.
  std::vector<double> rates{0.01, 0.02, 0.04, 0.08}, losses;
  for (const double rate : rates) losses.push_back(std::pow(std::log(rate) + 3.3, 2));
  CHECK(width::optimum(rates, losses) == Approx(-3.3));
  CHECK(width::optimum(rates, {1, 2, 3, 4}) == std::log(0.01));
  // Both are one model at the smallest width.
  const auto standard = width::changes(1, 16, false), mup = width::changes(1, 16, true);
  CHECK(standard == mup);
  CHECK(width::changes(1, 64, false).back() > 2 * width::changes(1, 64, true).back());
  CHECK_FALSE(criterion("width", "mup_slope").holds(1));
  CHECK_FALSE(criterion("width", "mup_shift").holds(2));
}

TEST_CASE("output-layer: a random subspace loses 1 - √(D/V), the best one less", "[study]") {
  const Tensor g = normal({200, 64}, 0, 1, {9, 1}, kDouble),
               w = normal({64, 16}, 0, 1, {9, 2}, kDouble);
  const double lost = output_layer::lost_in(g, w);
  CHECK(lost == Approx(0.5).margin(0.02));
  CHECK(output_layer::lost_at_best(g, 16) < lost - 0.05);
  CHECK_FALSE(criterion("output-layer", "trained_gap").holds(std::abs(lost - 0.5)));
  // Rows that are columns of w lose nothing.
  CHECK(output_layer::lost_in(transpose(w), w) == Approx(0).margin(1e-7));
  CHECK(output_layer::lost_at_best(transpose(w), 16) == Approx(0).margin(1e-5));
}

}  // namespace test_criteria

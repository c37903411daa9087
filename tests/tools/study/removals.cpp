// Scores of examples beside trainings without them, on a case whose answer is known.
#include "tools/study/removals.hpp"

#include <cmath>

#include "optim/sgd.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tests/catch.hpp"
#include "tools/study/measures.hpp"
#include "tools/study/statistics.hpp"
#include "tools/study/study.hpp"

namespace test_removals {

using namespace glim;

// ℓ_i = c_i w: every gradient is c_i, whatever w is, so that w after the training is -η Σ c_i and the query w² is known.
struct Linear {
  Var w = Var::leaf(tensor({0.5}, DType::Float64), "w");
  std::vector<double> c{1, -2, 3, 0.5};
  Sgd sgd{{{"w", w}}, {.rate = 0.1}};
  TrainingTrace trace{sgd,
                      {.losses =
                           [this](const std::vector<Index>& rows) {
                             std::vector<double> list;
                             for (Index i : rows) list.push_back(c[static_cast<std::size_t>(i)]);
                             return w * from_vector(list, {static_cast<Index>(list.size())});
                           },
                       .examples = 4,
                       .batches = {{0, 1}, {2, 3}}}};
  TrainingTrace::Query query = [this] { return w * w; };
};

TEST_CASE("scores of a training whose gradients are constant", "[study]") {
  Linear t;
  const double end = 0.5 - 0.1 * 2.5;  // w at the end
  CHECK(t.w.value().at<double>({0}) == Approx(end));
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(exact_scores(t.trace, t.query)[0][i] == Approx(-0.1 * 2 * end * t.c[i]));
    CHECK(dot_scores(t.trace, t.query)[0][i] == Approx(-2 * end * t.c[i]));
    // Kept are the states after 0 and, of two updates, the last: TracIn reads the first.
    CHECK(tracin_scores(t.trace, t.query)[0][i] == Approx(-0.1 * 2 * 0.5 * t.c[i]));
  }
}

TEST_CASE("removals are measured, and ranked by exact scores", "[study]") {
  Linear t;
  const Removals r = removals(t.trace, t.query, 0.25, 8, 1);
  REQUIRE(r.left_out.size() == 8);
  for (std::size_t k = 0; k < 8; ++k) {
    REQUIRE(r.left_out[k].size() == 1);
    const double w = 0.5 - 0.1 * (2.5 - t.c[static_cast<std::size_t>(r.left_out[k][0])]);
    CHECK(r.measured[k][0] == Approx(w * w - 0.0625));
  }
  CHECK(r.correlations(exact_scores(t.trace, t.query))[0] == Approx(1));
  Scores turned = exact_scores(t.trace, t.query);
  for (double& x : turned[0]) x = -x;
  CHECK(r.correlations(turned)[0] == Approx(-1));
  CHECK_THROWS_AS(removals(t.trace, t.query, 0.1, 8, 1), ValueError);
  CHECK_THROWS_AS(removals(t.trace, t.query, 1, 8, 1), ValueError);
}

TEST_CASE("ranks of what is no number end, and correlate with nothing", "[study]") {
  const double none = std::nan("");
  CHECK(std::isnan(spearman({1, none, 2}, {1, 2, 3})));
  CHECK(ranks_of({none, none}).size() == 2);
}

TEST_CASE("BM25 by hand", "[study]") {
  // Two examples of three and one word; "a" is in both, "b" in the first alone, twice.
  const Scores s = bm25_scores({{"a"}, {"b"}}, {{"a", "b", "b"}, {"a"}});
  const double common = std::log(1 + 0.5 / 2.5), rare = std::log(1 + 1.5 / 1.5);
  CHECK(s[0][0] == Approx(-common * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 1.5))));
  CHECK(s[0][1] == Approx(-common * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 0.5))));
  CHECK(s[1][0] == Approx(-rare * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 1.5))));
  CHECK(s[1][1] == 0);
}

TEST_CASE(
    "influence: a grammar whose measure word is the noun's, and what is no prediction is refused",
    "[study]") {
  const std::vector<TokenPair> all = influence_study::sentences(1);
  CHECK(all.size() == 4 * 6 * 5 * 18);
  for (const TokenPair& a : all)
    for (const TokenPair& b : {all[0], all[1]})
      if (a.source[3] == b.source[3]) CHECK(a.target[2] == b.target[2]);
  const Study study = study_of("influence");
  auto holds = [&](const std::string& key, double value) {
    for (const Criterion& c : study.criteria)
      if (c.key == key) return c.holds(value);
    return false;
  };
  CHECK(holds("rho_own", 0.9));
  CHECK_FALSE(holds("rho_own", 0.5));
  CHECK_FALSE(holds("lead", 0));
  CHECK_FALSE(holds("gap", 0.5));
}

}  // namespace test_removals

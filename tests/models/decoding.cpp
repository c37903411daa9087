// Search against the definition: all sequences tried on a small vocabulary.
#include "models/decoding.hpp"

#include <cmath>
#include <functional>
#include <limits>

#include "tensor/error.hpp"
#include "tensor/random.hpp"
#include "tensor/reduce.hpp"
#include "tests/catch.hpp"

using namespace glim;

namespace {

// A language model by table: the next token's distribution is a function of the whole prefix.
class TableDecoder final : public StepDecoder {
 public:
  TableDecoder(Index rows, Index classes, std::uint64_t seed, double sharpness = 2)
      : classes_(classes),
        seed_(seed),
        sharpness_(sharpness),
        prefixes_(static_cast<std::size_t>(rows)) {
    for (std::size_t i = 0; i < prefixes_.size(); ++i)
      prefixes_[i].push_back(static_cast<Index>(i) + 100);
  }
  std::vector<double> next(const std::vector<Index>& prefix) const {
    std::uint64_t hash = seed_;
    for (Index t : prefix) hash = hash * 1000003 + static_cast<std::uint64_t>(t) + 17;
    Tensor scores = normal({classes_}, 0, sharpness_, {hash, 5}, DType::Float64);
    return log_softmax(scores).to_vector<double>();
  }
  Tensor step(const std::vector<Index>& tokens) override {
    std::vector<double> rows;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      prefixes_[i].push_back(tokens[i]);
      auto row = next(prefixes_[i]);
      rows.insert(rows.end(), row.begin(), row.end());
    }
    ++steps;
    return from_vector(rows, {static_cast<Index>(tokens.size()), classes_});
  }
  void select_rows(const std::vector<Index>& rows) override {
    std::vector<std::vector<Index>> picked;
    for (Index r : rows) picked.push_back(prefixes_[static_cast<std::size_t>(r)]);
    prefixes_ = picked;
  }
  int steps = 0;

 private:
  Index classes_;
  std::uint64_t seed_;
  double sharpness_;
  std::vector<std::vector<Index>> prefixes_;
};

struct Best {
  std::vector<Index> tokens;
  double score = -std::numeric_limits<double>::infinity();
};

// The best of all sequences that end within `limit` tokens, END included.
Best exhaustive(const TableDecoder& model, Index sentence, Index classes, Index limit,
                double alpha) {
  Best best;
  std::vector<Index> prefix{sentence + 100, 1}, tokens;
  std::function<void(double)> extend = [&](double log_prob) {
    auto p = model.next(prefix);
    auto length = static_cast<Index>(tokens.size()) + 1;
    double score = (log_prob + p[2]) / length_penalty(length, alpha);
    if (score > best.score) best = {tokens, score};
    if (length == limit) return;
    for (Index v = 3; v < classes; ++v) {
      prefix.push_back(v);
      tokens.push_back(v);
      extend(log_prob + p[static_cast<std::size_t>(v)]);
      prefix.pop_back();
      tokens.pop_back();
    }
  };
  extend(0);
  return best;
}

}  // namespace

TEST_CASE("a wide beam finds what exhaustive search finds", "[beam]") {
  constexpr Index kClasses = 7, kLimit = 5;  // 4 words, at most 4 of them: 341 sequences
  for (double alpha : {0.0, 0.6, 1.0, 2.0, -0.5}) {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      TableDecoder decoder(3, kClasses, seed);
      TableDecoder model(3, kClasses, seed);
      SearchOptions o;
      o.beam = 256;
      o.length_penalty = alpha;
      auto found = search(decoder, {kLimit, kLimit, kLimit}, o);
      for (Index s = 0; s < 3; ++s) {
        Best best = exhaustive(model, s, kClasses, kLimit, alpha);
        const Hypothesis& h = found[static_cast<std::size_t>(s)].at(0);
        INFO("seed " << seed << " alpha " << alpha << " sentence " << s);
        CHECK(h.finished);
        CHECK(h.tokens == best.tokens);
        CHECK(h.score == Approx(best.score).epsilon(1e-12));
      }
    }
  }
}

TEST_CASE("greedy takes the likeliest token until END", "[greedy]") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    TableDecoder decoder(1, 9, seed), model(1, 9, seed);
    Hypothesis h = search(decoder, {8}, {})[0][0];
    std::vector<Index> prefix{100, 1}, expected;
    bool ended = false;
    for (int i = 0; i < 8 && !ended; ++i) {
      auto p = model.next(prefix);
      Index best = 2;
      for (Index v = 3; v < 9; ++v)
        if (p[static_cast<std::size_t>(v)] > p[static_cast<std::size_t>(best)]) best = v;
      ended = best == 2;
      if (!ended) {
        expected.push_back(best);
        prefix.push_back(best);
      }
    }
    CHECK(h.tokens == expected);
    CHECK(h.finished == ended);
  }
}

TEST_CASE("a hypothesis that ends early does not stop a better one", "[beam]") {
  // END now: p = 0.5. Going on: 0.4, then END for certain; with a length penalty it is better.
  class Late final : public StepDecoder {
   public:
    Tensor step(const std::vector<Index>& tokens) override {
      std::vector<double> all;
      for (Index t : tokens) {
        double end = t == 1 ? 0.5 : 1 - 3e-9, word = t == 1 ? 0.4 : 1e-9;
        for (double p : {1e-9, 1e-9, end, word}) all.push_back(std::log(p));
      }
      return from_vector(all, {static_cast<Index>(tokens.size()), 4});
    }
    void select_rows(const std::vector<Index>&) override {}
  };
  SearchOptions o;
  o.beam = 2;
  o.length_penalty = 2;
  Late late;
  CHECK(search(late, {6}, o)[0][0].tokens == std::vector<Index>{3});
  o.length_penalty = 0;
  CHECK(search(late, {6}, o)[0][0].tokens.empty());
}

TEST_CASE("n-best lists are sorted, distinct and honest about their probability", "[beam]") {
  TableDecoder decoder(2, 8, 3), model(2, 8, 3);
  SearchOptions o;
  o.beam = 6;
  o.n_best = 4;
  o.length_penalty = 1;
  auto found = search(decoder, {6, 2}, o);
  for (Index s = 0; s < 2; ++s) {
    auto& list = found[static_cast<std::size_t>(s)];
    REQUIRE(list.size() == 4);
    for (std::size_t i = 0; i < 4; ++i) {
      std::vector<Index> prefix{s + 100, 1};
      double log_prob = 0;
      for (Index t : list[i].tokens) {
        log_prob += model.next(prefix)[static_cast<std::size_t>(t)];
        prefix.push_back(t);
      }
      if (list[i].finished) log_prob += model.next(prefix)[2];
      CHECK(list[i].log_prob == Approx(log_prob));
      CHECK(list[i].tokens.size() + (list[i].finished ? 1 : 0) <= (s == 0 ? 6u : 2u));
      for (std::size_t j = 0; j < i; ++j) CHECK(list[i].tokens != list[j].tokens);
      if (i > 0 && list[i].finished) CHECK(list[i].score <= list[i - 1].score);
    }
  }
}

TEST_CASE("search refuses options that make no sense", "[beam]") {
  TableDecoder d(1, 6, 1);
  SearchOptions o;
  o.beam = 0;
  CHECK_THROWS_AS(search(d, {3}, o), ValueError);
  o.beam = 2;
  o.n_best = 3;
  CHECK_THROWS_AS(search(d, {3}, o), ValueError);
  o.n_best = 1;
  CHECK_THROWS_AS(search(d, {0}, o), ValueError);
  CHECK(search(d, {}, o).empty());
}

TEST_CASE("END among the tokens never generated is never taken, by greedy search or beam",
          "[search]") {
  // END is the likeliest token everywhere.
  struct Ends final : StepDecoder {
    Tensor step(const std::vector<Index>& tokens) override {
      Tensor row = tensor({-9.0, -9.0, -0.1, -3.0, -4.0}).to(DType::Float32);
      return row.unsqueeze(0).expand({static_cast<Index>(tokens.size()), 5});
    }
    void select_rows(const std::vector<Index>&) override {}
  };
  for (int beam : {1, 3}) {
    Ends decoder;
    SearchOptions o;
    o.beam = beam;
    o.never = {0, 1, 2};
    auto found = search(decoder, {6}, o);
    CHECK(found[0][0].tokens == std::vector<Index>{3, 3, 3, 3, 3, 3});
    CHECK_FALSE(found[0][0].finished);
  }
}

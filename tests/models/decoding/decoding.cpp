// Search against the definition: all sequences tried on a small vocabulary.
#include "models/decoding/decoding.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tensor/random.hpp"
#include "tests/catch.hpp"

namespace test_decoding {

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

// Beam search by its definition: all continuations of all prefixes are sorted, none is kept from step
// to step but as a list of tokens. α = 0.
std::vector<Best> plain_beam(const TableDecoder& model, Index sentence, Index classes, Index limit,
                             std::size_t width) {
  std::vector<Best> open{{{}, 0.0}}, ended;
  auto best_first = [](const Best& a, const Best& b) { return a.score > b.score; };
  for (Index length = 1; length <= limit && !open.empty(); ++length) {
    std::vector<Best> next;
    for (const Best& o : open) {
      std::vector<Index> prefix{sentence + 100, 1};
      prefix.insert(prefix.end(), o.tokens.begin(), o.tokens.end());
      auto p = model.next(prefix);
      ended.push_back({o.tokens, o.score + p[2]});
      for (Index v = 3; v < classes; ++v) {
        next.push_back({o.tokens, o.score + p[static_cast<std::size_t>(v)]});
        next.back().tokens.push_back(v);
      }
    }
    std::stable_sort(next.begin(), next.end(), best_first);
    if (next.size() > width) next.resize(width);
    open = next;
  }
  std::stable_sort(ended.begin(), ended.end(), best_first);
  return ended;
}

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

TEST_CASE("a narrow beam is beam search by its definition", "[beam]") {
  constexpr Index kClasses = 9, kLimit = 7;
  for (int width : {2, 3, 5})
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      TableDecoder decoder(2, kClasses, seed, 1), model(2, kClasses, seed, 1);
      SearchOptions o;
      o.beam = o.n_best = width;
      auto found = search(decoder, {kLimit, kLimit}, o);
      for (Index s = 0; s < 2; ++s) {
        auto expected = plain_beam(model, s, kClasses, kLimit, static_cast<std::size_t>(width));
        auto& list = found[static_cast<std::size_t>(s)];
        INFO("width " << width << " seed " << seed << " sentence " << s);
        REQUIRE(list.size() == static_cast<std::size_t>(width));
        for (std::size_t i = 0; i < list.size(); ++i) {
          CHECK(list[i].finished);
          CHECK(list[i].tokens == expected[i].tokens);
          CHECK(list[i].log_prob == Approx(expected[i].score).epsilon(1e-12));
        }
      }
    }
}

TEST_CASE("a prefix goes on in its row, so that what is kept for it need not move", "[beam]") {
  struct Watching final : StepDecoder {
    Tensor step(const std::vector<Index>& tokens) override { return inner.step(tokens); }
    void select_rows(const std::vector<Index>& rows) override {
      inner.select_rows(rows);
      if (rows.size() != before) {
        before = rows.size();
        return;
      }
      for (std::size_t i = 0; i < rows.size(); ++i) {
        auto origin = static_cast<std::size_t>(rows[i]);
        CHECK(rows[origin] == rows[i]);  // who has descendants stays
        stayed += origin == i;
        moved += origin != i;
      }
    }
    TableDecoder inner{2, 12, 7, 1};
    std::size_t before = 2;
    int stayed = 0, moved = 0;
  };
  Watching decoder;
  SearchOptions o;
  o.beam = 4;
  o.never = {0, 1, 2};  // both sentences go on to the end
  search(decoder, {20, 20}, o);
  CHECK(decoder.moved > 0);
  CHECK(decoder.stayed > 0);
}

TEST_CASE("a hypothesis has the attention of its own prefixes", "[beam]") {
  // Attention that tells prefixes apart: the sum of the tokens so far, weighed by position.
  auto mark = [](const std::vector<Index>& prefix) {
    double sum = 0;
    for (std::size_t i = 0; i < prefix.size(); ++i)
      sum += static_cast<double>(prefix[i] * static_cast<Index>(3 * i + 1));
    return sum;
  };
  struct Marking final : StepDecoder {
    explicit Marking(std::function<double(const std::vector<Index>&)> m) : mark(std::move(m)) {}
    Tensor step(const std::vector<Index>& tokens) override {
      for (std::size_t i = 0; i < tokens.size(); ++i) prefixes[i].push_back(tokens[i]);
      return inner.step(tokens);
    }
    void select_rows(const std::vector<Index>& rows) override {
      inner.select_rows(rows);
      std::vector<std::vector<Index>> picked;
      for (Index r : rows) picked.push_back(prefixes[static_cast<std::size_t>(r)]);
      prefixes = picked;
    }
    Tensor attention() const override {
      std::vector<double> marks;
      for (auto& p : prefixes) marks.push_back(mark(p));
      return from_vector(marks, {static_cast<Index>(marks.size()), 1});
    }
    std::function<double(const std::vector<Index>&)> mark;
    TableDecoder inner{2, 9, 11, 1};
    std::vector<std::vector<Index>> prefixes{{100}, {101}};
  };
  for (bool ends : {true, false}) {
    Marking decoder(mark);
    SearchOptions o;
    o.beam = o.n_best = 5;
    o.keep_attention = true;
    if (!ends) o.never = {0, 1, 2};
    auto found = search(decoder, {12, 9}, o);
    for (Index s = 0; s < 2; ++s)
      for (const Hypothesis& h : found[static_cast<std::size_t>(s)]) {
        CHECK(h.finished == ends);
        REQUIRE(h.attention.size() == h.tokens.size() + (h.finished ? 1 : 0));
        std::vector<Index> prefix{100 + s, 1};
        for (std::size_t t = 0; t < h.attention.size(); ++t) {
          CHECK(h.attention[t] == std::vector<double>{mark(prefix)});
          if (t < h.tokens.size()) prefix.push_back(h.tokens[t]);
        }
      }
  }
}

TEST_CASE("logits of any height are the same distribution", "[search]") {
  // The table's log-probabilities, each row with a number of its own added.
  struct Raised final : StepDecoder {
    Tensor step(const std::vector<Index>& tokens) override {
      Tensor rows = inner.step(tokens);
      std::vector<double> raise;
      for (std::size_t i = 0; i < tokens.size(); ++i)
        raise.push_back(300 * static_cast<double>((i + static_cast<std::size_t>(inner.steps)) % 3) -
                        200);
      return add(rows, from_vector(raise, {static_cast<Index>(raise.size()), 1}));
    }
    void select_rows(const std::vector<Index>& rows) override { inner.select_rows(rows); }
    TableDecoder inner{2, 9, 4};
  };
  for (int beam : {1, 4}) {
    Raised raised;
    TableDecoder plain(2, 9, 4);
    SearchOptions o;
    o.beam = beam;
    auto found = search(raised, {6, 6}, o), expected = search(plain, {6, 6}, o);
    for (std::size_t s = 0; s < 2; ++s) {
      CHECK(found[s][0].tokens == expected[s][0].tokens);
      CHECK(found[s][0].log_prob == Approx(expected[s][0].log_prob).epsilon(1e-11));
    }
  }
}

TEST_CASE("logits of which none is finite, or one not a number, end a search", "[search]") {
  struct Broken final : StepDecoder {
    explicit Broken(double first) : first_(first) {}
    Tensor step(const std::vector<Index>& tokens) override {
      double never = -std::numeric_limits<double>::infinity();
      Tensor row = tensor({first_, never, never, never, never}).to(DType::Float32);
      return row.unsqueeze(0).expand({static_cast<Index>(tokens.size()), 5});
    }
    void select_rows(const std::vector<Index>&) override {}

   private:
    double first_;
  };
  for (double first :
       {-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(),
        std::numeric_limits<double>::quiet_NaN(), 0.0})
    for (int beam : {1, 3}) {
      Broken decoder(first);
      SearchOptions o;
      o.beam = beam;
      CHECK_THROWS_AS(search(decoder, {6}, o), NonFiniteError);
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
        double padding = t == 1 ? 0.1 : 1e-9;  // never taken
        for (double p : {padding, 1e-9, end, word}) all.push_back(std::log(p));
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

}  // namespace test_decoding

// Beam search against the definition: all sequences tried on a small vocabulary.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tests/models/decoding/table_decoder.hpp"

namespace test_beam {

using namespace glim;

namespace {

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

}  // namespace test_beam

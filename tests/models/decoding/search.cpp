// Every search uses a decoder's logits so, greedy or with a beam.
#include <limits>

#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tests/models/decoding/table_decoder.hpp"

namespace test_search {

using namespace glim;

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
      return broadcast_to(unsqueeze(row, 0), {static_cast<Index>(tokens.size()), 5});
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

TEST_CASE("a row that breaks later ends a search, too", "[search]") {
  // From the second step on the last of two prefixes has NaN, though END is finished by then.
  struct Later final : StepDecoder {
    Tensor step(const std::vector<Index>& tokens) override {
      const bool first = steps++ == 0;
      const Tensor logits = zeros({std::ssize(tokens) + extra, 5}, DType::Float64);
      double* last = logits.data<double>() + 5 * (tokens.size() - 1);
      first ? last[2] = -5 : last[4] = std::nan("");
      return logits;
    }
    void select_rows(const std::vector<Index>&) override {}
    int steps = 0;
    Index extra = 0;
  };
  for (int beam : {1, 2}) {
    Later decoder;
    SearchOptions o;
    o.beam = beam;
    o.never = {2};
    CHECK_THROWS_AS(search(decoder, {6}, o), NonFiniteError);
    o.never = {};
    if (beam == 2) CHECK_THROWS_AS(search(decoder = {}, {6}, o), NonFiniteError);
  }
  Later more;
  more.extra = 1;
  CHECK_THROWS_AS(search(more, {6}, {}), ShapeError);
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
      return broadcast_to(unsqueeze(row, 0), {static_cast<Index>(tokens.size()), 5});
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

}  // namespace test_search

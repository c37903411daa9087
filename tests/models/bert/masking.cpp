// Which tokens a masked language model is asked for.
#include <cmath>
#include <set>

#include "models/bert/bert.hpp"
#include "tests/models/common.hpp"

namespace test_masking {

using namespace glim;

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
  // Tokens that were not chosen stay.
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
  Tensor ids = reshape(tensor({1, 7, 2, 0, 1, 2, 0, 0, 1, 3, 3, 2}, DType::Int64), {3, 4});
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

}  // namespace test_masking

// Names that are nearly right.
#include "tools/common/nearest.hpp"

#include "tests/catch.hpp"
#include "tools/common/counted.hpp"

namespace test_nearest {

using namespace glim;

TEST_CASE("edit distance counts insertions, deletions, replacements and swaps") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("probs", "porbs") == 1);
  CHECK(edit_distance("Probs", "probs") == 0);
}

TEST_CASE("the nearest names come first, those that begin with it before others") {
  std::vector<std::string> known{"warm-up", "scaling", "rollout", "rank-collapse"};
  CHECK(nearest_names("warmup", known) == " (nearest: warm-up, rollout, scaling)");
  CHECK(nearest_names("r", known).starts_with(" (nearest: rollout, rank-collapse"));
  CHECK(nearest_names("x", {}).empty());
  const std::vector<std::string> modules{"norm", "encoder.layers.0.self_attn", "attns"};
  CHECK(nearest_names("attn", modules) == " (nearest: attns, encoder.layers.0.self_attn, norm)");
}

TEST_CASE("one is singular") {
  CHECK(counted(1, "line") == "1 line");
  CHECK(counted(0, "line") == "0 lines");
  CHECK(counted(std::size_t{2}, "more event") == "2 more events");
}

}  // namespace test_nearest

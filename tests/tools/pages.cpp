// Names that are nearly right, and pages that hold everything within them.
#include "tensor/error.hpp"
#include "tests/catch.hpp"
#include "tools/cli/nearest.hpp"
#include "tools/inspect/page/page.hpp"

namespace test_pages {

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
}

TEST_CASE("a page loads nothing, and its data cannot end its script") {
  PageParts parts;
  parts.title = "a < b & \"c\"";
  parts.data = R"({"text":"</script><b>"})";
  std::string page = html_page(parts);
  CHECK(page.find("<title>a &lt; b &amp; &quot;c&quot;</title>") != std::string::npos);
  CHECK(page.find(R"("\u003c/script>\u003cb>")") != std::string::npos);
  CHECK(page.find("default-src 'none'") != std::string::npos);
  CHECK(page.find("src=\"http") == std::string::npos);
  CHECK(page.find("d3js.org") != std::string::npos);  // D3's own head
}

TEST_CASE("a page larger than allowed says what helps") {
  PageParts parts;
  parts.title = "large";
  parts.data = "\"" + std::string(1000, 'x') + "\"";
  parts.most_bytes = 500;
  parts.advice = "a shorter sentence";
  CHECK_THROWS_AS(html_page(parts), ValueError);
  try {
    html_page(parts);
  } catch (const ValueError& e) {
    CHECK(std::string(e.what()).find("a shorter sentence") != std::string::npos);
  }
}

}  // namespace test_pages

// Pages hold everything within them.
#include "tools/inspect/page/page.hpp"

#include "tensor/error.hpp"
#include "tests/catch.hpp"

namespace test_page {

using namespace glim;

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

}  // namespace test_page

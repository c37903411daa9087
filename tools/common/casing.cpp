#include "tools/common/casing.hpp"

#include <string_view>
#include <utf8proc.h>
#include <vector>

#include "models/tokenizers/utf8.hpp"

namespace glim {
namespace {

constexpr std::uint32_t kCapitalSigma = 0x3A3, kSigma = 0x3C3, kFinalSigma = 0x3C2;

utf8proc_int32_t point(const CodePoint& c) { return static_cast<utf8proc_int32_t>(c.value); }

// Case_Ignorable of the Unicode Standard: marks, modifiers, and what may be within a word.
bool case_ignorable(const CodePoint& c) {
  static constexpr std::u32string_view kWithinWords =
      U"'.:·\u0387\u055F\u05F4‘’\u2024\u2027"
      U"\uFE13\uFE52\uFE55\uFF07\uFF0E\uFF1A";
  switch (utf8proc_category(point(c))) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return kWithinWords.find(c.value) != kWithinWords.npos;
  }
}

bool cased(const CodePoint& c) {
  auto category = utf8proc_category(point(c));
  return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL ||
         category == UTF8PROC_CATEGORY_LT || utf8proc_tolower(point(c)) != point(c) ||
         utf8proc_toupper(point(c)) != point(c);
}

// True if the nearest character that casing does not ignore is cased; `step` is -1 or +1.
bool cased_neighbour(const std::vector<CodePoint>& points, std::size_t i, int step) {
  for (auto j = static_cast<std::ptrdiff_t>(i) + step;
       j >= 0 && j < static_cast<std::ptrdiff_t>(points.size()); j += step) {
    const CodePoint& c = points[static_cast<std::size_t>(j)];
    if (!case_ignorable(c)) return cased(c);
  }
  return false;
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  const std::vector<CodePoint> points = code_points(text);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::uint32_t c = points[i].value;
    if (c == kCapitalSigma) {
      const bool final = cased_neighbour(points, i, -1) && !cased_neighbour(points, i, +1);
      append_utf8(out, final ? kFinalSigma : kSigma);
    } else if (c == 0x130) {
      out += "i\xCC\x87";
    } else {
      append_utf8(out, static_cast<std::uint32_t>(utf8proc_tolower(point(points[i]))));
    }
  }
  return out;
}

}  // namespace glim

#include "tools/data/tokenizers/casing.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "tools/data/tokenizers/unicode_tables.hpp"
#include "tools/data/tokenizers/utf8.hpp"

namespace glim {
namespace {

constexpr std::uint32_t kCapitalSigma = 0x3A3, kSigma = 0x3C3, kFinalSigma = 0x3C2;

bool in(std::span<const CodePointRange> table, std::uint32_t c) {
  return std::ranges::any_of(table,
                             [c](const CodePointRange& r) { return r.first <= c && c <= r.last; });
}

std::uint32_t simple_lower(std::uint32_t c) {
  if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + 32 : c;
  for (const CodePointRun& run : lower_table()) {
    if (c < run.first) break;
    const auto step = static_cast<std::uint32_t>(run.step);
    if (c <= run.last && (c - run.first) % step == 0) {
      return static_cast<std::uint32_t>(static_cast<std::int64_t>(c) + run.delta);
    }
  }
  return c;
}

// Whether the nearest character that casing does not ignore is cased; `step` is -1 or +1.
bool cased_neighbour(const std::vector<CodePoint>& points, std::size_t i, int step) {
  for (auto j = static_cast<std::ptrdiff_t>(i) + step;
       j >= 0 && j < static_cast<std::ptrdiff_t>(points.size()); j += step) {
    const std::uint32_t c = points[static_cast<std::size_t>(j)].value;
    if (!in(case_ignorable_table(), c)) return in(cased_table(), c);
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
      append_utf8(out, simple_lower(c));
    }
  }
  return out;
}

}  // namespace glim

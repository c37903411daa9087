#include "tools/data/corpus/split.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <unordered_map>

#include "tensor/error.hpp"
#include "tools/common/counted.hpp"
#include "tools/data/corpus/random.hpp"

namespace glim {
namespace {

constexpr std::size_t kLeastSentences = 20;

double usual_share(std::size_t n) {
  constexpr double kTenth = 0.1, kMost = 1000;
  return n < kLeastSentences ? 0 : std::min(kTenth, kMost / static_cast<double>(n));
}

}  // namespace

std::size_t held_out_end(std::size_t n, double share) {
  return static_cast<std::size_t>(std::ceil((share < 0 ? 0.1 : share) * static_cast<double>(n)));
}

std::string describe_held_out(const std::vector<std::int64_t>& lines, std::size_t n, double share,
                              const std::string& noun, const std::string& numbered) {
  if (share == 0) return "";
  if (lines.empty())
    return "  nothing is held out to validate on: " +
           (n < kLeastSentences ? counted(n, noun) + (n == 1 ? " is" : " are") + " too few"
                                : counted(n, noun) + " have too few different sentences");
  constexpr std::size_t kShown = 3;
  const std::vector<std::int64_t> first(
      lines.begin(), lines.begin() + std::min<std::ptrdiff_t>(std::ssize(lines), kShown));
  return fmt::format("  held out to validate on: {} of {} {}s, drawn with --seed ({} {}{})",
                     lines.size(), n, noun, numbered, fmt::join(first, ", "),
                     lines.size() > kShown ? ", …" : "");
}

std::vector<bool> validation_rows(const std::vector<std::string>& sentences, double share,
                                  Index seed) {
  std::unordered_map<std::string_view, std::size_t> group_of;
  std::vector<std::vector<std::size_t>> groups;  // rows of one sentence
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    auto [group, fresh] = group_of.emplace(sentences[i], groups.size());
    if (fresh) groups.emplace_back();
    groups[group->second].push_back(i);
  }
  const bool usual = share < 0;
  if (usual) {
    share = usual_share(sentences.size());
    if (share == 0 || groups.size() < 2) return std::vector<bool>(sentences.size(), false);
  }
  if (groups.size() < 2)
    throw ValueError("--valid-share", "the data have only one sentence, which is trained on");
  constexpr std::uint64_t kStream = 0x5eed;  // apart from the shuffles of the epochs
  SplitMix64 random(static_cast<std::uint64_t>(seed), kStream);
  shuffle(groups, random);
  auto target =
      static_cast<std::size_t>(std::llround(share * static_cast<double>(sentences.size())));
  std::vector<bool> kept(sentences.size(), false);
  std::size_t count = 0;
  for (std::size_t g = 0; g + 1 < groups.size() && count < std::max<std::size_t>(target, 1); ++g) {
    if (usual && count + groups[g].size() > target) continue;
    for (std::size_t i : groups[g]) {
      kept[i] = true;
      ++count;
    }
  }
  return kept;
}

}  // namespace glim

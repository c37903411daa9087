#include "tools/data/corpus/split.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "tensor/error.hpp"
#include "tools/data/corpus/random.hpp"

namespace glim {

std::vector<bool> validation_rows(const std::vector<std::string>& sentences, double share,
                                  Index seed) {
  std::unordered_map<std::string_view, std::size_t> group_of;
  std::vector<std::vector<std::size_t>> groups;  // rows of one sentence
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    auto [at, fresh] = group_of.emplace(sentences[i], groups.size());
    if (fresh) groups.emplace_back();
    groups[at->second].push_back(i);
  }
  if (groups.size() < 2)
    throw ValueError("--valid-share", "the data have only one sentence, which is trained on");
  constexpr std::uint64_t kStream = 0x5eed;  // apart from the shuffles of the epochs
  SplitMix64 random(static_cast<std::uint64_t>(seed), kStream);
  shuffle(groups, random);
  auto wanted =
      static_cast<std::size_t>(std::llround(share * static_cast<double>(sentences.size())));
  std::vector<bool> kept(sentences.size(), false);
  std::size_t count = 0;
  for (std::size_t g = 0; g + 1 < groups.size() && count < std::max<std::size_t>(wanted, 1); ++g)
    for (std::size_t i : groups[g]) {
      kept[i] = true;
      ++count;
    }
  return kept;
}

}  // namespace glim

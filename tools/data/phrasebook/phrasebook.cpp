#include "tools/data/phrasebook/phrasebook.hpp"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "tools/data/corpus/random.hpp"

namespace glim {
namespace {

constexpr std::size_t kLongest = 14;
constexpr std::uint64_t kSeed = 2017;

Part part_of(const std::vector<std::string>& combinations) {
  Part part = Part::Train;
  for (const std::string& name : combinations) {
    const std::uint64_t slot = text_hash(name) % 24;
    if (slot == 0) return Part::Test;
    if (slot == 1) part = Part::Valid;
  }
  return part;
}

DrawnPairs make_phrasebook() {
  DrawnPairs book{{6500, 500, 1000}};
  SplitMix64 random(kSeed);
  std::unordered_set<std::string> sentences;
  while (!book.full()) {
    phrasebook::Sentence s = phrasebook::draw_sentence(random);
    const auto words = static_cast<std::size_t>(std::ranges::count(s.english, ' ')) + 1;
    if (words > kLongest || !sentences.insert(s.english).second) continue;
    const Part part = part_of(s.combinations);
    if (!book.full(part)) book[part].push_back({std::move(s.english), std::move(s.chinese)});
  }
  return book;
}

}  // namespace

const std::vector<SentencePair>& phrasebook_pairs(Part part) {
  static DrawnPairs book = make_phrasebook();
  return book[part];
}

}  // namespace glim

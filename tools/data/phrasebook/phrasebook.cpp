#include "tools/data/phrasebook/phrasebook.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "tools/data/corpus/random.hpp"

namespace glim {
namespace {

constexpr std::size_t kTrain = 6500, kValid = 500, kTest = 1000, kLongest = 14;
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

struct Phrasebook {
  std::vector<SentencePair> train, valid, test;
  std::unordered_map<std::string, std::vector<std::string>> combinations;
};

Phrasebook make_phrasebook() {
  Phrasebook book;
  SplitMix64 random(kSeed);
  std::unordered_set<std::string> seen;
  while (book.train.size() < kTrain || book.valid.size() < kValid || book.test.size() < kTest) {
    phrasebook::Sentence s = phrasebook::draw_sentence(random);
    const auto words = static_cast<std::size_t>(std::ranges::count(s.english, ' ')) + 1;
    if (words > kLongest || !seen.insert(s.english).second) continue;
    const Part part = part_of(s.combinations);
    auto& pairs = part == Part::Train ? book.train : part == Part::Valid ? book.valid : book.test;
    const std::size_t room = part == Part::Train ? kTrain : part == Part::Valid ? kValid : kTest;
    if (pairs.size() == room) continue;
    book.combinations.emplace(s.english, std::move(s.combinations));
    pairs.push_back({std::move(s.english), std::move(s.chinese)});
  }
  return book;
}

const Phrasebook& phrasebook_data() {
  static const Phrasebook book = make_phrasebook();
  return book;
}

}  // namespace

const std::vector<SentencePair>& phrasebook_train() { return phrasebook_data().train; }
const std::vector<SentencePair>& phrasebook_valid() { return phrasebook_data().valid; }
const std::vector<SentencePair>& phrasebook_test() { return phrasebook_data().test; }

std::vector<std::string> phrasebook_combinations(const std::string& english) {
  const auto& all = phrasebook_data().combinations;
  const auto found = all.find(english);
  return found == all.end() ? std::vector<std::string>{} : found->second;
}

}  // namespace glim

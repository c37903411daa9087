#include "tools/data/phrasebook/names.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "models/tokenizers/by_vocabulary.hpp"
#include "models/tokenizers/utf8.hpp"
#include "tests/catch.hpp"
#include "tools/data/tokenizers/training.hpp"

namespace test_names {

using namespace glim;

namespace {

bool latin(const std::string& token) {
  return std::ranges::all_of(token, [](unsigned char c) { return c < 0x80; });
}

TokenizerPtr mixed() {
  TokenizerOptions o;
  o.kind = "mixed";
  return train_tokenizer(o, std::vector<std::string>{"我"});
}

// The words in Latin letters of a Chinese sentence: its names.
std::vector<std::string> names_of(const SentencePair& pair) {
  static const TokenizerPtr t = mixed();
  std::vector<std::string> names;
  for (std::string& token : dynamic_cast<const VocabularyTokenizer&>(*t).tokens(pair.target))
    if (latin(token)) names.push_back(std::move(token));
  return names;
}

}  // namespace

TEST_CASE("each sentence about a name has it on both sides", "[names][slow]") {
  CHECK(names_pairs(Part::Train).size() == 6000);
  CHECK(names_pairs(Part::Valid).size() == 500);
  CHECK(names_pairs(Part::Test).size() == 1000);
  std::size_t two = 0;
  for (const auto* part :
       {&names_pairs(Part::Train), &names_pairs(Part::Valid), &names_pairs(Part::Test)})
    for (const SentencePair& p : *part) {
      INFO(p.source << " / " << p.target);
      auto names = names_of(p);
      REQUIRE(!names.empty());
      two += std::set<std::string>(names.begin(), names.end()).size() > 1;
      auto words = split_spaces(p.source);
      for (const std::string& name : names)
        CHECK(std::ranges::find(words, std::string_view(name)) != words.end());
      CHECK(p.target.find("汤姆") == std::string::npos);
      CHECK(p.target.find("安娜") == std::string::npos);
    }
  CHECK(two > 200);  // a copied word must be the right one of two
}

TEST_CASE("no name and no sentence of the test occurs in training", "[names][slow]") {
  std::map<std::string, int> trained;
  std::set<std::string> frames;
  auto frame = [](const SentencePair& p) {
    std::string text = p.target;
    for (const std::string& name : names_of(p)) text.replace(text.find(name), name.size(), "·");
    return p.source.substr(p.source.find(' ') + 1) + text;
  };
  for (const SentencePair& p : names_pairs(Part::Train)) {
    for (const std::string& name : names_of(p)) ++trained[name];
    frames.insert(frame(p));
  }
  std::size_t seen = 0;
  for (const auto* part : {&names_pairs(Part::Valid), &names_pairs(Part::Test)})
    for (const SentencePair& p : *part) {
      for (const std::string& name : names_of(p)) CHECK(trained.count(name) == 0);
      seen += frames.count(frame(p));
    }
  CHECK(seen == 0);
  // Rare: no vocabulary of frequent words holds them.
  auto often = std::ranges::count_if(trained, [](const auto& n) { return n.second >= 5; });
  CHECK(trained.size() > 3000);
  CHECK(often < 20);
}

TEST_CASE("names are the same everywhere", "[names]") {
  SplitMix64 a(3), b(3);
  for (int i = 0; i < 20; ++i) {
    std::string name = made_up_name(a);
    CHECK(name == made_up_name(b));
    CHECK((name.size() >= 4 && name[0] >= 'A' && name[0] <= 'Z'));
  }
}

}  // namespace test_names

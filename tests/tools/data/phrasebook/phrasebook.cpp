#include "tools/data/phrasebook/phrasebook.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "models/tokenizers/tokenizer.hpp"
#include "models/tokenizers/utf8.hpp"
#include "tensor/error.hpp"
#include "tests/catch.hpp"
#include "tools/data/phrasebook/grammar.hpp"

namespace test_phrasebook {

using namespace glim;

namespace {

std::vector<SentencePair> everything() {
  std::vector<SentencePair> all = phrasebook_pairs(Part::Train);
  for (const auto* part : {&phrasebook_pairs(Part::Valid), &phrasebook_pairs(Part::Test)}) {
    all.insert(all.end(), part->begin(), part->end());
  }
  return all;
}

// The combinations in a sentence of the phrasebook, which is drawn again.
const std::vector<std::string>& combinations_of(const std::string& english) {
  static const auto all = [] {
    std::set<std::string> wanted;
    for (const SentencePair& pair : everything()) wanted.insert(pair.source);
    std::map<std::string, std::vector<std::string>> drawn;
    for (SplitMix64 random(2017); drawn.size() < wanted.size();) {
      const auto s = phrasebook::draw_sentence(random);
      if (wanted.contains(s.english)) drawn.emplace(s.english, s.combinations);
    }
    return drawn;
  }();
  return all.at(english);
}

// Chinese noun and measure word, by English singular and plural; written down apart from the grammar.
struct Entry {
  std::string_view singular, plural, chinese, measure;
};
constexpr Entry kNouns[] = {
    {"cat", "cats", "猫", "只"},
    {"dog", "dogs", "狗", "只"},
    {"bird", "birds", "鸟", "只"},
    {"rabbit", "rabbits", "兔子", "只"},
    {"fish", "fish", "鱼", "条"},
    {"snake", "snakes", "蛇", "条"},
    {"horse", "horses", "马", "匹"},
    {"cow", "cows", "牛", "头"},
    {"book", "books", "书", "本"},
    {"dictionary", "dictionaries", "词典", "本"},
    {"magazine", "magazines", "杂志", "本"},
    {"novel", "novels", "小说", "本"},
    {"newspaper", "newspapers", "报纸", "份"},
    {"letter", "letters", "信", "封"},
    {"map", "maps", "地图", "张"},
    {"ticket", "tickets", "票", "张"},
    {"table", "tables", "桌子", "张"},
    {"bed", "beds", "床", "张"},
    {"chair", "chairs", "椅子", "把"},
    {"knife", "knives", "刀", "把"},
    {"umbrella", "umbrellas", "雨伞", "把"},
    {"key", "keys", "钥匙", "把"},
    {"car", "cars", "汽车", "辆"},
    {"bicycle", "bicycles", "自行车", "辆"},
    {"boat", "boats", "船", "条"},
    {"shirt", "shirts", "衬衫", "件"},
    {"coat", "coats", "大衣", "件"},
    {"skirt", "skirts", "裙子", "条"},
    {"scarf", "scarves", "围巾", "条"},
    {"hat", "hats", "帽子", "顶"},
    {"watch", "watches", "手表", "块"},
    {"pen", "pens", "钢笔", "支"},
    {"computer", "computers", "电脑", "台"},
    {"phone", "phones", "手机", "部"},
    {"apple", "apples", "苹果", "个"},
    {"banana", "bananas", "香蕉", "根"},
    {"flower", "flowers", "花", "朵"},
    {"tree", "trees", "树", "棵"},
    {"song", "songs", "歌", "首"},
    {"film", "films", "电影", "部"},
    {"child", "children", "孩子", "个"},
    {"teacher", "teachers", "老师", "位"},
};

const std::map<std::string_view, std::string_view> kCounts = {
    {"two", "两"},   {"three", "三"}, {"four", "四"}, {"five", "五"}, {"six", "六"},
    {"seven", "七"}, {"eight", "八"}, {"nine", "九"}, {"ten", "十"}};

const Entry* entry(std::string_view word) {
  for (const Entry& e : kNouns) {
    if (e.singular == word || e.plural == word) return &e;
  }
  return nullptr;
}

const std::set<std::string_view> kAdjectives = {
    "big",       "small",       "new",   "old",  "good",  "expensive", "cheap",
    "beautiful", "interesting", "heavy", "long", "cute",  "delicious", "fast",
    "red",       "black",       "white", "blue", "green", "yellow"};

}  // namespace

TEST_CASE("the phrasebook's size, and that each sentence occurs once", "[phrasebook]") {
  CHECK(phrasebook_pairs(Part::Train).size() == 6500);
  CHECK(phrasebook_pairs(Part::Valid).size() == 500);
  CHECK(phrasebook_pairs(Part::Test).size() == 1000);
  std::set<std::string> sources;
  for (const auto& pair : everything()) sources.insert(pair.source);
  CHECK(sources.size() == 8000);
}

TEST_CASE("every draw of a sentence has the same translation", "[phrasebook][slow]") {
  std::map<std::string, std::string> seen;
  for (const auto& pair : everything()) seen[pair.source] = pair.target;
  SplitMix64 random(99);
  for (int i = 0; i < 200000; ++i) {
    const auto s = phrasebook::draw_sentence(random);
    const auto [at, fresh] = seen.emplace(s.english, s.chinese);
    if (!fresh && at->second != s.chinese)
      FAIL(s.english << ": " << at->second << ", " << s.chinese);
  }
  CHECK(seen.size() > 100000);
}

// Trained weights and golden hashes depend on them.
TEST_CASE("the same seed draws the same sentences and combinations", "[phrasebook]") {
  SplitMix64 random(1);
  std::string all;
  for (int i = 0; i < 10000; ++i) {
    const auto s = phrasebook::draw_sentence(random);
    all += s.english + '\t' + s.chinese;
    for (const std::string& c : s.combinations) all += '\t' + c;
    all += '\n';
  }
  CHECK(text_hash(all) == 0xa4e973fb7afeb21au);
}

TEST_CASE("a grammar names what it does not know", "[phrasebook]") {
  using phrasebook::read_grammar;
  const std::string words = "tags small\ntable noun: english zh tags*\n  cat  猫  small\n";
  CHECK_NOTHROW(read_grammar(words + "sentence\n  n: noun where n & small\n  a {n} / {n}\n"));
  CHECK_THROWS_AS(read_grammar(words + "  dog  狗  big\n"), ValueError);
  CHECK_THROWS_AS(read_grammar(words + "sentence\n  n: verb\n"), ValueError);
  CHECK_THROWS_AS(read_grammar(words + "sentence\n  a {n} / 一\n"), ValueError);
  CHECK_THROWS_AS(read_grammar(words + "sentence\n  [n.plural] a / 一\n"), ValueError);
}

TEST_CASE("sentences are short, clean text", "[phrasebook]") {
  for (const auto& pair : everything()) {
    INFO(pair.source << " | " << pair.target);
    const auto words = split_spaces(pair.source);
    REQUIRE(words.size() >= 3);
    REQUIRE(words.size() <= 14);
    REQUIRE(normalize_spaces(pair.source) == pair.source);
    REQUIRE(std::isupper(static_cast<unsigned char>(pair.source[0])));
    for (const CodePoint& c : code_points(pair.target)) {
      REQUIRE(c.value >= 0x4E00);
      REQUIRE(c.value <= 0x9FFF);
    }
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      const bool vowel = std::string_view("aeiou").find(words[i + 1][0]) != std::string_view::npos;
      if (words[i] == "a") REQUIRE_FALSE(vowel);
      if (words[i] == "an") REQUIRE(vowel);
      REQUIRE(words[i] != words[i + 1]);
    }
  }
}

TEST_CASE("held-out sentences are made of known words in new combinations", "[phrasebook]") {
  std::set<std::string> trained, words, characters;
  std::set<std::string> held[2];
  for (const auto& pair : phrasebook_pairs(Part::Train)) {
    const auto& combinations = combinations_of(pair.source);
    trained.insert(combinations.begin(), combinations.end());
    for (std::string_view w : split_spaces(pair.source)) words.insert(std::string(w));
    for (const CodePoint& c : code_points(pair.target)) {
      characters.insert(pair.target.substr(c.offset, c.length));
    }
  }
  int part = 0;
  for (const auto* pairs : {&phrasebook_pairs(Part::Valid), &phrasebook_pairs(Part::Test)}) {
    for (const auto& pair : *pairs) {
      INFO(pair.source);
      int unseen = 0;
      for (const std::string& c : combinations_of(pair.source)) {
        if (trained.contains(c)) continue;
        ++unseen;
        held[part].insert(c);
      }
      REQUIRE(unseen > 0);
      for (std::string_view w : split_spaces(pair.source)) REQUIRE(words.contains(std::string(w)));
      for (const CodePoint& c : code_points(pair.target)) {
        REQUIRE(characters.contains(pair.target.substr(c.offset, c.length)));
      }
    }
    ++part;
  }
  CHECK(held[0].size() > 50);
  CHECK(held[1].size() > 50);
  // An example of such a combination, and that its words alone are trained on.
  const std::string& one =
      *std::ranges::find_if(held[1], [](const auto& c) { return c.starts_with("D:"); });
  INFO(one);
  for (const auto& pair : phrasebook_pairs(Part::Train)) {
    REQUIRE_FALSE(std::ranges::count(combinations_of(pair.source), one));
  }
}

TEST_CASE("numbers come with the noun's measure word", "[phrasebook]") {
  int checked = 0;
  for (const auto& pair : everything()) {
    const auto words = split_spaces(pair.source);
    for (std::size_t i = 0; i < words.size(); ++i) {
      std::string expected;
      if (const auto n = kCounts.find(words[i]); n != kCounts.end()) expected = n->second;
      if (words[i] == "this" || words[i] == "This") expected = "这";
      if (words[i] == "that" || words[i] == "That") expected = "那";
      std::size_t j = i + 1;
      while (j < words.size() && kAdjectives.contains(words[j])) ++j;
      const Entry* noun = j < words.size() && !expected.empty() ? entry(words[j]) : nullptr;
      if (noun == nullptr) continue;
      INFO(pair.source << " | " << pair.target);
      const std::size_t at = pair.target.find(expected + std::string(noun->measure));
      REQUIRE(at != std::string::npos);
      REQUIRE(contains(std::string_view(pair.target).substr(at), noun->chinese));
      ++checked;
    }
  }
  CHECK(checked > 1500);
}

TEST_CASE("what is denied is not counted, what is said to be there is", "[phrasebook]") {
  int denied = 0, counted = 0;
  for (const auto& pair : everything()) {
    INFO(pair.source << " | " << pair.target);
    CHECK_FALSE(contains(pair.target, "二"));
    if (contains(pair.source, " not have ")) {
      REQUIRE(contains(pair.target, "没有"));
      REQUIRE_FALSE(contains(pair.target, "没有一"));
      ++denied;
    }
    if (contains(pair.source, "did not")) REQUIRE(contains(pair.target, "没有"));
    if (contains(pair.source, "will not")) REQUIRE(contains(pair.target, "不会"));
    if (contains(pair.source, "not want to")) REQUIRE(contains(pair.target, "不想"));
    if (pair.source.starts_with("There is a ")) {
      REQUIRE(contains(pair.target, "有一"));
      ++counted;
    }
    for (const char* opening : {"Do ", "Does ", "Did ", "Will ", "Is ", "Are "}) {
      if (pair.source.starts_with(opening)) REQUIRE(pair.target.ends_with("吗"));
    }
    if (pair.source.starts_with("How many ")) REQUIRE(contains(pair.target, "几"));
  }
  CHECK(denied > 50);
  CHECK(counted > 50);
}

TEST_CASE("sentences whose translation anybody can check", "[phrasebook][slow]") {
  const std::pair<std::string, std::string> examples[] = {
      {"I have a cat", "我有一只猫"},
      {"I have two dogs", "我有两只狗"},
      {"She has three books", "她有三本书"},
      {"We do not have a car", "我们没有汽车"},
      {"Do you have any cats", "你有猫吗"},
      {"He likes tea", "他喜欢茶"},
      {"They do not like coffee", "他们不喜欢咖啡"},
      {"I am very tired", "我非常累"},
      {"This is my book", "这是我的书"},
      {"Is this your umbrella", "这是你的雨伞吗"},
      {"She is a teacher", "她是老师"},
      {"They are students", "他们是学生"},
      {"Is Tom taller than Anna", "汤姆比安娜高吗"},
      {"This car is red", "这辆汽车是红色的"},
      {"The cat is under the bed", "猫在床下面"},
      {"Where is my key", "我的钥匙在哪里"},
      {"What is she drawing", "她正在画什么"},
      {"When will they go to school", "他们什么时候去学校"},
  };
  // Sentences that are not in the book are drawn from its grammar until they come.
  std::map<std::string, std::string> found;
  for (const auto& [english, chinese] : examples) found[english] = "";
  std::size_t missing = found.size();
  const auto note = [&](const std::string& english, const std::string& chinese) {
    const auto at = found.find(english);
    if (at == found.end() || !at->second.empty()) return;
    at->second = chinese;
    --missing;
  };
  for (const auto& pair : everything()) note(pair.source, pair.target);
  SplitMix64 random(1);
  for (int i = 0; i < 3000000 && missing > 0; ++i) {
    const auto s = phrasebook::draw_sentence(random);
    note(s.english, s.chinese);
  }
  for (const auto& [english, chinese] : examples) {
    INFO(english);
    CHECK(found[english] == chinese);
  }
}

TEST_CASE("longer sentences move time, place and clause", "[phrasebook]") {
  const auto all = everything();
  const auto check_all = [&](auto chosen, auto holds, int at_least) {
    int n = 0;
    for (const auto& pair : all) {
      if (!chosen(pair.source)) continue;
      INFO(pair.source << " | " << pair.target);
      REQUIRE(holds(pair.target));
      ++n;
    }
    CHECK(n >= at_least);
  };
  // Time is last in English and before the verb in Chinese.
  check_all([](const auto& s) { return s.ends_with(" yesterday"); },
            [](const auto& t) { return contains(t, "昨天") && !t.ends_with("昨天"); }, 50);
  check_all([](const auto& s) { return s.starts_with("Tomorrow "); },
            [](const auto& t) { return t.starts_with("明天"); }, 3);
  // The place comes before the verb.
  check_all(
      [](const auto& s) {
        return s.find(" bought ") != s.npos && s.find("at the market") != s.npos;
      },
      [](const auto& t) { return t.find("在市场上") < t.find("买"); }, 3);
  // Relative clauses are before the noun.
  check_all([](const auto& s) { return s.starts_with("The books that "); },
            [](const auto& t) { return t.find("的书") != t.npos && !t.starts_with("书"); }, 1);
  // Colour before size and age.
  for (const auto& [english, size] :
       {std::pair{" big ", "大"}, {" small ", "小"}, {" new ", "新"}, {" old ", "旧"}}) {
    check_all([e = std::string(english) + "red "](const auto& s) { return s.find(e) != s.npos; },
              [z = "红色的" + std::string(size)](const auto& t) { return t.find(z) != t.npos; }, 1);
  }
  check_all([](const auto& s) { return s.find(" put ") != s.npos; },
            [](const auto& t) { return t.find("把") < t.find("放在"); }, 30);
  check_all([](const auto& s) { return s.find(" on foot") != s.npos; },
            [](const auto& t) { return t.find("走路") < t.rfind("去"); }, 5);
}

}  // namespace test_phrasebook

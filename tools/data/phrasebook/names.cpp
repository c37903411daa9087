#include "tools/data/phrasebook/names.hpp"

#include <array>
#include <optional>
#include <string_view>
#include <unordered_set>

#include "tools/common/ascii.hpp"
#include "tools/data/phrasebook/phrasebook.hpp"

namespace glim {
namespace {

constexpr std::uint64_t kNamesSeed = 2017, kStream = 7;

Part part_of(std::string_view text) {
  const std::uint64_t slot = text_hash(text) % 10;
  return slot == 0 ? Part::Test : slot == 1 ? Part::Valid : Part::Train;
}

// The people of the phrasebook who give their places to names.
struct Person {
  std::string_view english, chinese;
};
constexpr std::array<Person, 8> kPeople = {{{"Tom", "汤姆"},
                                            {"Anna", "安娜"},
                                            {"my mother", "我妈妈"},
                                            {"your father", "你爸爸"},
                                            {"her older sister", "她姐姐"},
                                            {"my younger brother", "我弟弟"},
                                            {"our teacher", "我们的老师"},
                                            {"his friend", "他的朋友"}}};

// Where `words` are in a text: in English as whole words, with a capital at its start or without.
std::vector<std::size_t> places_of(std::string_view words, std::string text, bool english) {
  if (english && words[0] >= 'a') text[0] = lower(text[0]);
  std::vector<std::size_t> found;
  for (std::size_t i = text.find(words); i != text.npos; i = text.find(words, i + 1)) {
    const std::size_t end = i + words.size();
    if (!english || ((i == 0 || text[i - 1] == ' ') && (end == text.size() || text[end] == ' ')))
      found.push_back(i);
  }
  return found;
}

void replace(std::string& text, const std::vector<std::size_t>& places, std::size_t length,
             std::string_view new_name) {
  for (auto i = places.rbegin(); i != places.rend(); ++i) text.replace(*i, length, new_name);
}

// The sentence with every person's words replaced by name(), or nothing if the two languages do not
// name the same people.
template <class F>
std::optional<SentencePair> renamed(const phrasebook::Sentence& s, F name) {
  SentencePair pair{s.english, s.chinese};
  bool somebody = false;
  for (const Person& p : kPeople) {
    const auto english = places_of(p.english, pair.source, true);
    const auto chinese = places_of(p.chinese, pair.target, false);
    if (english.size() != chinese.size()) return std::nullopt;
    if (english.empty()) continue;
    somebody = true;
    const std::string new_name = name();
    replace(pair.source, english, p.english.size(), new_name);
    replace(pair.target, chinese, p.chinese.size(), new_name);
  }
  if (!somebody) return std::nullopt;
  return pair;
}

DrawnPairs make_names() {
  DrawnPairs names{{6000, 500, 1000}};
  SplitMix64 random(kNamesSeed, kStream);
  std::unordered_set<std::string> frames;
  while (!names.full()) {
    const phrasebook::Sentence s = phrasebook::draw_sentence(random);
    const auto frame = renamed(s, [] { return std::string("somebody"); });
    if (!frame || !frames.insert(frame->source).second) continue;
    const Part part = part_of(frame->source);
    if (names.full(part)) continue;
    names[part].push_back(*renamed(s, [&] {
      std::string name = made_up_name(random);
      while (part_of(name) != part) name = made_up_name(random);
      return name;
    }));
  }
  return names;
}

}  // namespace

const std::vector<SentencePair>& names_pairs(Part part) {
  static DrawnPairs names = make_names();
  return names[part];
}

std::string made_up_name(SplitMix64& random) {
  static constexpr std::array<std::string_view, 20> kFirst = {
      "Be", "Ca", "Da",  "Fe", "Go", "Ha", "Jo", "Ka", "Li", "Mi",
      "No", "Pe", "Qui", "Ro", "Sa", "Ti", "Va", "We", "Ya", "Zo"};
  static constexpr std::array<std::string_view, 30> kMiddle = {
      "ba",  "bel", "ci", "da",  "den", "fi", "ga",  "gor", "ki",  "la",
      "len", "lo",  "ma", "mel", "mi",  "na", "nel", "no",  "ra",  "ren",
      "ri",  "ro",  "sa", "sel", "so",  "ta", "til", "va",  "ven", "vi"};
  static constexpr std::array<std::string_view, 24> kLast = {
      "bo", "da", "dan", "do",  "la",  "lan", "lin", "lo", "ma",  "mir", "na",  "nar",
      "ne", "no", "ra",  "ren", "ris", "ro",  "sa",  "ta", "ton", "va",  "van", "za"};
  std::string name(kFirst[random.below(kFirst.size())]);
  if (random.below(30) > 0) name += kMiddle[random.below(kMiddle.size())];
  return name + std::string(kLast[random.below(kLast.size())]);
}

}  // namespace glim

#include "tools/data/phrasebook/clauses.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

#include "tools/data/phrasebook/patterns.hpp"
#include "tools/data/phrasebook/phrases.hpp"

namespace glim::phrasebook {
namespace {

struct Weighted {
  Pattern pattern;
  std::uint64_t weight;
};

// How often each pattern is drawn.
constexpr Weighted kPatterns[] = {
    {past_action, 12},  {future_action, 10}, {habit, 14},  {progressive, 9}, {wish, 8},
    {possession, 11},   {liking, 8},         {need, 6},    {looking_for, 3}, {wearing, 3},
    {person_action, 5}, {giving, 6},         {putting, 3}, {going, 10},      {identity, 6},
    {profession, 12},   {quality, 9},        {mood, 7},    {comparison, 10}, {existence, 10},
    {location, 5},      {how_many, 6},       {which, 4},   {what, 4},        {relative, 5},
    {request, 4},
};

// "Which letter do I like": grammatical, but nobody asks so.
bool asks_about_me(std::string_view english) {
  static constexpr std::string_view kOpenings[] = {"do",  "did",   "will", "am",
                                                   "how", "which", "what", "when"};
  const std::string_view first = english.substr(0, english.find(' '));
  return english.find(" I ") != std::string_view::npos &&
         std::ranges::find(kOpenings, first) != std::end(kOpenings);
}

}  // namespace

Sentence draw_sentence(SplitMix64& random) {
  std::uint64_t total = 0;
  for (const Weighted& w : kPatterns) total += w.weight;
  for (;;) {
    std::uint64_t at = random.below(total);
    const Weighted* chosen = kPatterns;
    while (at >= chosen->weight) at -= (chosen++)->weight;
    Draw d(random);
    Phrase p = chosen->pattern(d);
    if (asks_about_me(p.english)) continue;
    p.english[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(p.english[0])));
    return {std::move(p.english), std::move(p.chinese), d.combinations()};
  }
}

}  // namespace glim::phrasebook

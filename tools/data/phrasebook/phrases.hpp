// Phrases in two languages at once: each rule of the grammar writes the English and the Chinese together, and
// draws each choice from a SplitMix64.
//
//   a red book         一本红色的书       number 1 and measure word
//   two red books      两本红色的书       两, not 二, before a measure word
//   these books        这些书             no measure word beside 些
//   these two books    这两本书
//   a big black dog    一只黑色的大狗     colour before size
//   a cup of tea       一杯茶
//   (not) a book       (没有) 书          no number after "not"
//
// `Draw` also notes which words were combined. These combinations decide the split into training and held-out
// sentences (phrasebook.hpp).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/data/corpus/random.hpp"
#include "tools/data/phrasebook/lexicon.hpp"

namespace glim::phrasebook {

class Draw {
 public:
  explicit Draw(SplitMix64& random) : random_(random) {}

  template <class T>
  const T& pick(std::span<const T> items) {
    return items[random_.below(items.size())];
  }
  // A noun (place, spot …) with one of these tags.
  const Noun& noun(std::uint64_t tags);
  // Whether noun phrases get adjectives: not where the sentence is about one.
  bool describe = true;
  bool percent(std::uint64_t p) { return random_.below(100) < p; }
  std::uint64_t below(std::uint64_t n) { return random_.below(n); }

  // "D:three|cat". Kinds: D determiner, A adjective, V verb, P place with a noun; S subject, verb.
  void note(char kind, std::string_view a, std::string_view b);
  // "V:buy|cat", unless the verb has so few objects that one of them is much of what it can say.
  void note_object(const Verb& v, const Noun& n);
  const std::vector<std::string>& combinations() const { return combinations_; }

 private:
  SplitMix64& random_;
  std::vector<std::string> combinations_;
};

struct Phrase {
  std::string english, chinese;
  bool plural = false;
};

struct Subject {
  Phrase phrase;
  bool first_or_second = false;
  std::string_view be() const, was() const, have() const, do_() const;
  bool third_singular() const { return !phrase.plural && !first_or_second; }
  std::string_view verb(const Verb& v) const { return third_singular() ? v.third : v.base; }
};

Subject subject(Draw& d);
// Somebody else than `who`, as an object: "her", "my mother".
Phrase other_person(Draw& d, const Subject& who);

// Noun phrases.
Phrase article(Draw& d, const Noun& n, bool counted = true);  // a red book; uncounted: 红色的书
Phrase number(Draw& d, const Noun& n);                        // three red books
Phrase quantity(Draw& d, const Noun& n);                      // many books, some books
Phrase demonstrative(Draw& d, const Noun& n);                 // this book, those two books
Phrase possessive(Draw& d, const Noun& n);                    // my book, their three books
Phrase generic(const Noun& n);                                // books, tea
Phrase any(const Noun& n);                                    // any books, any tea
Phrase indefinite(Draw& d, const Noun& n);                    // article, number or quantity
Phrase definite(Draw& d, const Noun& n);                      // demonstrative or possessive
Phrase denied(Draw& d, const Noun& n);  // after "not": a book, any books, this book

// The words with one space between them; empty ones are left out.
std::string words(std::initializer_list<std::string_view> parts);
std::string join(std::initializer_list<std::string_view> parts);  // without spaces

}  // namespace glim::phrasebook

#include "tools/data/phrasebook/phrases.hpp"

#include <algorithm>

namespace glim::phrasebook {
namespace {

struct Attributes {
  std::string english, chinese;
};

// Adjectives that are before the noun without 的: size, age, 好.
bool is_short(const Adjective& a) { return !a.attribute.ends_with("的"); }

bool fits(const Adjective& a, const Noun& n) {
  if ((a.tags & n.tags) == 0) return false;
  const bool odd = a.english == "black" || a.english == "white" || a.english == "blue";
  return !(odd && a.colour && (n.tags & kFood));  // no blue apples
}

enum class Kind { Any, Short, Colour };

const Adjective* fitting(Draw& d, const Noun& n, Kind kind) {
  std::vector<const Adjective*> choice;
  for (const Adjective& a : adjectives()) {
    if (!fits(a, n)) continue;
    if (kind == Kind::Any || (kind == Kind::Short ? is_short(a) : a.colour)) choice.push_back(&a);
  }
  return choice.empty() ? nullptr : choice[d.below(choice.size())];
}

// None, one, or size or age with a colour. After a possessive 的 only short ones sound right.
Attributes attributes(Draw& d, const Noun& n, bool only_short = false) {
  if (!d.describe || !d.percent(35)) return {};
  const Adjective* a = fitting(d, n, only_short ? Kind::Short : Kind::Any);
  if (a == nullptr) return {};
  d.note('A', a->english, n.singular);
  if (!only_short && is_short(*a) && a->english != "good" && d.percent(40)) {
    const Adjective* b = fitting(d, n, Kind::Colour);
    if (b != nullptr) {
      d.note('A', b->english, n.singular);
      return {words({a->english, b->english}), join({b->attribute, a->attribute})};
    }
  }
  return {std::string(a->english), std::string(a->attribute)};
}

// The noun, counted ("cup of tea", "red books") or not, with its adjectives.
std::string head(const Noun& n, const Attributes& a, bool plural) {
  if (!n.unit.empty()) return words({plural ? n.units : n.unit, "of", a.english, n.singular});
  return words({a.english, plural ? n.plural : n.singular});
}

std::string with_article(const std::string& phrase) {
  const bool vowel = std::string_view("aeiou").find(phrase[0]) != std::string_view::npos;
  return (vowel ? "an " : "a ") + phrase;
}

// "shoes" and "noodles" are plural, "tea" is not.
bool plural_alone(const Noun& n) { return n.unit.empty() || n.singular.ends_with('s'); }

}  // namespace

const Noun& Draw::noun(std::uint64_t tags) {
  std::vector<const Noun*> choice;
  for (const Noun& n : nouns()) {
    if (n.tags & tags) choice.push_back(&n);
  }
  return *choice[below(choice.size())];
}

void Draw::note(char kind, std::string_view a, std::string_view b) {
  combinations_.push_back(join({std::string_view(&kind, 1), ":", a, "|", b}));
}

void Draw::note_object(const Verb& v, const Noun& n) {
  const auto objects =
      std::ranges::count_if(nouns(), [&](const Noun& o) { return o.tags & v.objects; });
  if (objects >= 6) note('V', v.base, n.singular);
}

std::string_view Subject::be() const {
  if (phrase.english == "I") return "am";
  return third_singular() ? "is" : "are";
}
std::string_view Subject::was() const {
  return third_singular() || phrase.english == "I" ? "was" : "were";
}
std::string_view Subject::have() const { return third_singular() ? "has" : "have"; }
std::string_view Subject::do_() const { return third_singular() ? "does" : "do"; }

Subject subject(Draw& d) {
  const Person& p = d.percent(60) ? d.pick(pronouns()) : d.pick(people());
  return {{std::string(p.subject), std::string(p.chinese), p.plural}, p.first_or_second};
}

Phrase other_person(Draw& d, const Subject& who) {
  for (;;) {
    const Person& p = d.percent(50) ? d.pick(pronouns()) : d.pick(people());
    const bool same = p.subject == who.phrase.english ||
                      (p.subject == "I" && who.phrase.english == "we") ||
                      (p.subject == "we" && who.phrase.english == "I");
    if (!same) return {std::string(p.object), std::string(p.chinese), p.plural};
  }
}

Phrase article(Draw& d, const Noun& n, bool counted) {
  const Attributes a = attributes(d, n);
  d.note('D', "a", n.singular);
  return {with_article(head(n, a, false)),
          join({counted ? "一" : "", counted ? n.measure : "", a.chinese, n.chinese})};
}

Phrase number(Draw& d, const Noun& n) {
  const Attributes a = attributes(d, n);
  const Number& k = d.pick(numbers());
  d.note('D', k.english, n.singular);
  return {words({k.english, head(n, a, true)}), join({k.chinese, n.measure, a.chinese, n.chinese}),
          true};
}

Phrase quantity(Draw& d, const Noun& n) {
  const Attributes a = attributes(d, n);
  const bool many = d.percent(50);
  d.note('D', many ? "many" : "some", n.singular);
  return {words({many ? "many" : "some", head(n, a, true)}),
          join({many ? "很多" : "一些", a.chinese, n.chinese}), true};
}

Phrase demonstrative(Draw& d, const Noun& n) {
  const Attributes a = attributes(d, n);
  const bool near = d.percent(50);
  const std::string_view here = near ? "这" : "那";
  const std::uint64_t form = d.below(4);
  if (form < 2) {
    const std::string_view that = near ? "this" : "that";
    d.note('D', that, n.singular);
    return {words({that, head(n, a, false)}), join({here, n.measure, a.chinese, n.chinese})};
  }
  const std::string_view those = near ? "these" : "those";
  d.note('D', those, n.singular);
  if (form == 2 && n.unit.empty()) {
    return {words({those, head(n, a, true)}), join({here, "些", a.chinese, n.chinese}), true};
  }
  const Number& k = d.pick(numbers().first(4));
  d.note('D', k.english, n.singular);
  return {words({those, k.english, head(n, a, true)}),
          join({here, k.chinese, n.measure, a.chinese, n.chinese}), true};
}

Phrase possessive(Draw& d, const Noun& n) {
  const Attributes a = attributes(d, n, /*only_short=*/true);
  const Person& owner = d.pick(pronouns());
  d.note('D', owner.possessive, n.singular);
  if (!n.unit.empty()) {
    return {words({owner.possessive, a.english, n.singular}),
            join({owner.possessive_chinese, a.chinese, n.chinese}), plural_alone(n)};
  }
  const std::uint64_t form = d.below(4);
  if (form < 3) {
    const bool plural = form == 2;
    return {words({owner.possessive, head(n, a, plural)}),
            join({owner.possessive_chinese, a.chinese, n.chinese}), plural};
  }
  const Number& k = d.pick(numbers().first(4));
  d.note('D', k.english, n.singular);
  return {words({owner.possessive, k.english, head(n, a, true)}),
          join({owner.possessive_chinese, k.chinese, n.measure, a.chinese, n.chinese}), true};
}

Phrase generic(const Noun& n) {
  return {std::string(n.plural), std::string(n.chinese), plural_alone(n)};
}

Phrase any(const Noun& n) {
  return {words({"any", n.plural}), std::string(n.chinese), plural_alone(n)};
}

Phrase indefinite(Draw& d, const Noun& n) {
  const std::uint64_t form = d.below(100);
  if (form < 40) return article(d, n);
  if (form < 85 || !n.unit.empty()) return number(d, n);
  return quantity(d, n);
}

Phrase definite(Draw& d, const Noun& n) {
  return d.percent(60) ? demonstrative(d, n) : possessive(d, n);
}

Phrase denied(Draw& d, const Noun& n) {
  const std::uint64_t form = d.below(100);
  if (form < 40) return definite(d, n);
  if (form < 60 || !n.unit.empty()) return any(n);
  return article(d, n, /*counted=*/false);
}

std::string words(std::initializer_list<std::string_view> parts) {
  std::string out;
  for (std::string_view part : parts) {
    if (part.empty()) continue;
    if (!out.empty()) out += ' ';
    out += part;
  }
  return out;
}

std::string join(std::initializer_list<std::string_view> parts) {
  std::string out;
  for (std::string_view part : parts) out += part;
  return out;
}

}  // namespace glim::phrasebook

#include "tools/data/phrasebook/patterns.hpp"

namespace glim::phrasebook {
namespace {

std::string_view is(const Phrase& p) { return p.plural ? "are" : "is"; }

// "very", none, or "too", and how Chinese frames its adjective: a bare 很 stands where English has
// nothing.
struct Degree {
  std::string_view english, before, after;
};
constexpr Degree kDegrees[] = {{"", "很", ""}, {"very", "非常", ""}, {"too", "太", "了"}};

struct Described {
  const Noun* noun;
  const Adjective* adjective;
};

// An adjective, each as likely as the other, and a noun that it fits.
Described described(Draw& d, bool colours) {
  for (;;) {
    const Adjective& a = d.pick(adjectives());
    const Noun& n = d.noun(a.tags);
    if (a.colour && (!colours || (n.tags & kFood))) continue;
    d.note('A', a.english, n.singular);
    return {&n, &a};
  }
}

struct Placed {
  const Noun* noun;
  const Spot* spot;
};

Placed placed(Draw& d, std::uint64_t nouns) {
  for (;;) {
    const Spot& s = d.pick(spots());
    const Noun& n = d.noun(s.holds);
    const bool itself = s.english.ends_with(n.singular);  // no bag in the bag
    if (itself || (n.tags & nouns) == 0) continue;
    d.note('P', s.english, n.singular);
    return {&n, &s};
  }
}

}  // namespace

Phrase possession(Draw& d) {
  const Subject s = subject(d);
  const Noun& n = d.noun(~std::uint64_t{0});
  d.note('V', "have", n.singular);
  const std::string_view who = s.phrase.english, wer = s.phrase.chinese;
  const std::uint64_t form = d.below(100);
  if (form < 40) {
    const Phrase o = indefinite(d, n);
    return {words({who, s.have(), o.english}), join({wer, "有", o.chinese})};
  }
  if (form < 65) {
    const Noun& other = d.noun(~std::uint64_t{0});
    const Phrase a = d.percent(50) ? article(d, n) : number(d, n);
    const Phrase b = d.percent(50) ? article(d, other) : number(d, other);
    return {words({who, s.have(), a.english, "and", b.english}),
            join({wer, "有", a.chinese, "和", b.chinese})};
  }
  const Phrase o = d.percent(50) && n.unit.empty() ? article(d, n, false) : any(n);
  if (form < 82) {
    return {words({who, s.do_(), "not have", o.english}), join({wer, "没有", o.chinese})};
  }
  return {words({s.do_(), who, "have", o.english}), join({wer, "有", o.chinese, "吗"})};
}

Phrase liking(Draw& d) {
  const Subject s = subject(d);
  const Noun& n = d.noun(~std::uint64_t{0});
  d.note('V', "like", n.singular);
  const Phrase o = d.percent(45) ? generic(n) : definite(d, n);
  const std::string_view who = s.phrase.english, wer = s.phrase.chinese;
  const std::uint64_t form = d.below(100);
  if (form < 60) {
    const TimeWord adverbs[] = {{"", ""}, {"", ""}, {"also", "也"}, {"really", "真的"}};
    const TimeWord& a = adverbs[d.below(4)];
    return {words({who, a.english, s.third_singular() ? "likes" : "like", o.english}),
            join({wer, a.chinese, "喜欢", o.chinese})};
  }
  if (form < 80) {
    return {words({who, s.do_(), "not like", o.english}), join({wer, "不喜欢", o.chinese})};
  }
  return {words({s.do_(), who, "like", o.english}), join({wer, "喜欢", o.chinese, "吗"})};
}

Phrase need(Draw& d) {
  const Subject s = subject(d);
  const Noun& n = d.noun(kThing | kTrade | kDrink | kFood | kPerson);
  const bool wants = d.percent(50);
  d.note('V', wants ? "want" : "need", n.singular);
  const std::string base = wants ? "want" : "need", chinese = wants ? "想要" : "需要";
  const std::string_view who = s.phrase.english, wer = s.phrase.chinese;
  const std::uint64_t form = d.below(100);
  if (form < 60) {
    const Phrase o = d.percent(75) ? indefinite(d, n) : definite(d, n);
    const bool also = d.percent(20);
    return {words({who, also ? "also" : "", s.third_singular() ? base + "s" : base, o.english}),
            join({wer, also ? "也" : "", chinese, o.chinese})};
  }
  if (form < 80) {
    const Phrase o = denied(d, n);
    return {words({who, s.do_(), "not", base, o.english}), join({wer, "不", chinese, o.chinese})};
  }
  const Phrase o = d.percent(60) ? indefinite(d, n) : definite(d, n);
  return {words({s.do_(), who, base, o.english}), join({wer, chinese, o.chinese, "吗"})};
}

Phrase identity(Draw& d) {
  const Noun& n = d.noun(kThing | kPet | kTrade | kVehicle);
  const bool near = d.percent(50);
  if (d.percent(15) && n.unit.empty()) {
    const std::string_view that = near ? "this" : "that";
    return {words({"whose", n.singular, "is", that}),
            join({near ? "这" : "那", "是谁的", n.chinese})};
  }
  const bool own = d.percent(60);
  const Phrase o = own ? possessive(d, n) : article(d, n);
  const std::string_view that = o.plural ? (near ? "these" : "those") : (near ? "this" : "that");
  const std::string there = join({near ? "这" : "那", o.plural ? "些" : ""});
  const std::uint64_t form = d.below(100);
  if (form < 55) return {words({that, is(o), o.english}), join({there, "是", o.chinese})};
  if (form < 75 && own) {
    return {words({that, is(o), "not", o.english}), join({there, "不是", o.chinese})};
  }
  return {words({is(o), that, o.english}), join({there, "是", o.chinese, "吗"})};
}

Phrase profession(Draw& d) {
  const Subject s = subject(d);
  const Noun* job = &d.pick(professions());
  while (s.phrase.english.find(job->singular) != std::string::npos) job = &d.pick(professions());
  const Noun& n = *job;  // the doctor is no news as a doctor
  const std::string_view who = s.phrase.english, wer = s.phrase.chinese;
  const std::string plain = s.phrase.plural ? std::string(n.plural) : words({"a", n.singular});
  d.note('S', who, n.singular);
  switch (d.below(5)) {
    case 0:
      return {words({who, s.be(), "not", plain}), join({wer, "不是", n.chinese})};
    case 1:
      return {words({s.be(), who, plain}), join({wer, "是", n.chinese, "吗"})};
    case 2:
    case 3: {
      if (s.phrase.plural) break;
      const bool young = d.percent(50);
      return {words({who, s.be(), "a", young ? "young" : "good", n.singular}),
              join({wer, "是一", n.measure, young ? "年轻的" : "好", n.chinese})};
    }
    default:
      break;
  }
  return {words({who, s.be(), plain}), join({wer, "是", n.chinese})};
}

Phrase quality(Draw& d) {
  const auto [noun, adjective] = described(d, true);
  const Adjective& a = *adjective;
  d.describe = false;
  const Phrase o = definite(d, *noun);
  const std::uint64_t form = d.below(100);
  if (a.colour) {
    if (form < 60)
      return {words({o.english, is(o), a.english}), join({o.chinese, "是", a.attribute})};
    if (form < 80) {
      return {words({o.english, is(o), "not", a.english}), join({o.chinese, "不是", a.attribute})};
    }
    return {words({is(o), o.english, a.english}), join({o.chinese, "是", a.attribute, "吗"})};
  }
  if (form < 60) {
    const Degree& k = kDegrees[d.below(3)];
    return {words({o.english, is(o), k.english, a.english}),
            join({o.chinese, k.before, a.predicate, k.after})};
  }
  if (form < 80) {
    const bool very = d.percent(40);
    return {words({o.english, is(o), "not", very ? "very" : "", a.english}),
            join({o.chinese, very ? "不太" : "不", a.predicate})};
  }
  return {words({is(o), o.english, a.english}), join({o.chinese, a.predicate, "吗"})};
}

Phrase mood(Draw& d) {
  const Subject s = subject(d);
  const Adjective& a = d.pick(moods());
  const std::string_view who = s.phrase.english, wer = s.phrase.chinese;
  d.note('S', who, a.english);
  const std::uint64_t form = d.below(100);
  if (form < 30 && !a.comparative.empty()) {
    const Phrase other = other_person(d, s);
    if (d.percent(30)) {
      return {words({s.be(), who, a.comparative, "than", other.english}),
              join({wer, "比", other.chinese, a.predicate, "吗"})};
    }
    return {words({who, s.be(), a.comparative, "than", other.english}),
            join({wer, "比", other.chinese, a.predicate})};
  }
  if (form < 65) {
    const Degree& k = kDegrees[d.below(3)];
    return {words({who, s.be(), k.english, a.english}),
            join({wer, k.before, a.predicate, k.after})};
  }
  if (form < 80) return {words({who, s.be(), "not", a.english}), join({wer, "不", a.predicate})};
  return {words({s.be(), who, a.english}), join({wer, a.predicate, "吗"})};
}

Phrase comparison(Draw& d) {
  const auto [noun, adjective] = described(d, false);
  const Noun& n = *noun;
  const Adjective& a = *adjective;
  d.describe = false;
  for (;;) {
    const Phrase x = definite(d, n), y = definite(d, n);
    if (x.english == y.english || x.plural || y.plural) continue;
    const std::string chinese = join({x.chinese, "比", y.chinese, a.predicate});
    if (d.percent(25)) {
      return {words({"is", x.english, a.comparative, "than", y.english}), chinese + "吗"};
    }
    return {words({x.english, "is", a.comparative, "than", y.english}), chinese};
  }
}

Phrase existence(Draw& d) {
  const auto [noun, spot] = placed(d, ~std::uint64_t{0});
  const Noun& n = *noun;
  const Spot& at = *spot;
  const std::uint64_t form = d.below(100);
  if (form < 60) {
    const Phrase o = indefinite(d, n);
    return {words({"there", is(o), o.english, at.english}), join({at.chinese, "有", o.chinese})};
  }
  const bool plural = generic(n).plural;
  if (form < 75) {
    return {words({"there", plural ? "are" : "is", "no", n.plural, at.english}),
            join({at.chinese, "没有", n.chinese})};
  }
  if (form < 85 || !n.unit.empty()) {
    return {words({plural ? "are" : "is", "there any", n.plural, at.english}),
            join({at.chinese, "有", n.chinese, "吗"})};
  }
  const Phrase o = article(d, n, false);
  return {words({"is there", o.english, at.english}), join({at.chinese, "有", o.chinese, "吗"})};
}

Phrase location(Draw& d) {
  if (d.percent(20)) {
    const Phrase o = definite(d, d.noun(kThing | kPet));
    return {words({"where", is(o), o.english}), join({o.chinese, "在哪里"})};
  }
  const auto [noun, spot] = placed(d, kThing | kPet | kWater);
  const Noun& n = *noun;
  const Spot& at = *spot;
  const bool plural = d.percent(40);
  const Phrase o = d.percent(50) ? Phrase{words({"the", plural ? n.plural : n.singular}),
                                          std::string(n.chinese), plural}
                                 : definite(d, n);
  const std::uint64_t form = d.below(100);
  if (form < 60) {
    return {words({o.english, is(o), at.english}), join({o.chinese, "在", at.chinese})};
  }
  if (form < 80) {
    return {words({o.english, is(o), "not", at.english}), join({o.chinese, "不在", at.chinese})};
  }
  return {words({is(o), o.english, at.english}), join({o.chinese, "在", at.chinese, "吗"})};
}

namespace {

std::string counted(const Noun& n) {
  return n.unit.empty() ? std::string(n.plural) : words({n.units, "of", n.singular});
}

}  // namespace

Phrase how_many(Draw& d) {
  const Subject s = subject(d);
  const std::string_view who = s.phrase.english, wer = s.phrase.chinese;
  const std::uint64_t form = d.below(100);
  if (form < 25) {
    const auto [n, at] = placed(d, ~std::uint64_t{0});
    return {words({"how many", counted(*n), "are there", at->english}),
            join({at->chinese, "有几", n->measure, n->chinese})};
  }
  if (form < 50) {
    const Noun& n = d.noun(~std::uint64_t{0});
    d.note('V', "have", n.singular);
    return {words({"how many", counted(n), s.do_(), who, "have"}),
            join({wer, "有几", n.measure, n.chinese})};
  }
  const Verb* v = &d.pick(verbs());
  while (v->result) v = &d.pick(verbs());
  const Noun& n = d.noun(v->objects);
  d.note_object(*v, n);
  const std::string asked = words({"how many", counted(n)});
  const std::string what = join({"几", n.measure, n.chinese});
  if (form < 75) {
    const TimeWord& t = d.pick(past_times());
    return {words({asked, "did", who, v->base, t.english}),
            join({wer, t.chinese, v->chinese, "了", what})};
  }
  return {words({asked, s.do_(), who, "want to", v->base}), join({wer, "想", v->chinese, what})};
}

Phrase which(Draw& d) {
  const Subject s = subject(d);
  const std::string_view who = s.phrase.english, wer = s.phrase.chinese;
  const Verb* v = &d.pick(verbs());
  while (v->result) v = &d.pick(verbs());
  const Noun& n = d.noun(v->objects);
  const std::string asked =
      words({"which", n.unit.empty() ? "" : n.unit, n.unit.empty() ? "" : "of", n.singular});
  const std::string what = join({"哪", n.measure, n.chinese});
  switch (d.below(3)) {
    case 0:
      d.note('V', "like", n.singular);
      return {words({asked, s.do_(), who, "like"}), join({wer, "喜欢", what})};
    case 1: {
      d.note_object(*v, n);
      const TimeWord& t = d.pick(past_times());
      return {words({asked, "did", who, v->base, t.english}),
              join({wer, t.chinese, v->chinese, "了", what})};
    }
    default:
      d.note_object(*v, n);
      return {words({asked, s.do_(), who, "want to", v->base}),
              join({wer, "想", v->chinese, what})};
  }
}

Phrase what(Draw& d) {
  const Subject s = subject(d);
  const std::string_view who = s.phrase.english, wer = s.phrase.chinese;
  const Verb* v = &d.pick(verbs());
  const std::uint64_t form = d.below(5);
  while (v->result && form != 0) v = &d.pick(verbs());
  d.note('S', who, v->base);
  if (form == 4) {  // who did it
    const Noun& n = d.noun(v->objects);
    d.note_object(*v, n);
    const Phrase o = definite(d, n);
    const TimeWord& t = d.pick(past_times());
    return {words({"who", v->past, o.english, t.english}),
            join({"谁", t.chinese, v->chinese, "了", o.chinese})};
  }
  if (form == 0) {
    const TimeWord& t = d.pick(past_times());
    return {words({"what did", who, v->base, t.english}),
            join({wer, t.chinese, v->chinese, "了什么"})};
  }
  if (form == 1) {
    const TimeWord& t = d.pick(future_times());
    return {words({"what will", who, v->base, t.english}),
            join({wer, t.chinese, "会", v->chinese, "什么"})};
  }
  if (form == 2) {
    return {words({"what", s.be(), who, v->ing}), join({wer, "正在", v->chinese, "什么"})};
  }
  return {words({"what", s.do_(), who, "want to", v->base}), join({wer, "想", v->chinese, "什么"})};
}

Phrase relative(Draw& d) {
  const Subject s = subject(d);
  for (;;) {
    const Verb& v = d.pick(verbs());
    const Noun& n = d.noun(v.objects);
    const Adjective& a = d.pick(adjectives());
    if ((n.tags & a.tags) == 0 || (a.colour && (n.tags & kFood)) || !n.unit.empty()) continue;
    d.note_object(v, n);
    d.note('A', a.english, n.singular);
    const TimeWord& t = d.pick(past_times());
    const bool plural = d.percent(35);
    const Degree& k = kDegrees[d.below(2)];
    return {words({"the", plural ? n.plural : n.singular, "that", s.phrase.english, v.past,
                   t.english, plural ? "are" : "is", a.colour ? "" : k.english, a.english}),
            join({s.phrase.chinese, t.chinese, v.chinese, "的", n.chinese,
                  a.colour ? "是" : k.before, a.colour ? a.attribute : a.predicate})};
  }
}

}  // namespace glim::phrasebook

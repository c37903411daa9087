#include "tools/data/phrasebook/patterns.hpp"

namespace glim::phrasebook {
namespace {

enum class Form { Statement, Denial, Question };

Form form(Draw& d, std::uint64_t statements) {
  if (d.percent(statements)) return Form::Statement;
  return d.percent(50) ? Form::Denial : Form::Question;
}

// A verb and a noun that it fits.
struct Action {
  const Verb* verb;
  const Noun* noun;
};

Action action(Draw& d, const Subject& s, bool results) {
  for (;;) {
    const Verb& v = d.pick(verbs());
    if (v.result && !results) continue;
    const Noun& n = d.noun(v.objects);
    d.note_object(v, n);
    d.note('S', s.phrase.english, v.base);
    return {&v, &n};
  }
}

// Where the verb may happen, or nothing.
Phrase place(Draw& d, const Verb& v, std::uint64_t chance) {
  if (v.places == 0 || !d.percent(chance)) return {};
  for (;;) {
    const Place& p = d.pick(places());
    if (p.tags & v.places) return {std::string(p.english), std::string(p.chinese)};
  }
}

std::string at(const Phrase& place) { return place.chinese.empty() ? "" : "在" + place.chinese; }

Phrase said(Form f, std::string statement, std::string denial, std::string question,
            std::string chinese) {
  if (f == Form::Question) return {std::move(question), chinese + "吗"};
  return {f == Form::Denial ? std::move(denial) : std::move(statement), std::move(chinese)};
}

}  // namespace

Phrase past_action(Draw& d) {
  const Subject s = subject(d);
  const auto [v, n] = action(d, s, true);
  const Form f = form(d, 60);
  const TimeWord& t = d.pick(past_times());
  const Phrase where = place(d, *v, 35);
  const Phrase o = f == Form::Denial     ? denied(d, *n)
                   : f == Form::Question ? (d.percent(50) ? definite(d, *n) : number(d, *n))
                                         : (d.percent(60) ? indefinite(d, *n) : definite(d, *n));
  if (f == Form::Statement && d.percent(30)) {
    return {words({t.english, s.phrase.english, v->past, o.english, where.english}),
            join({t.chinese, s.phrase.chinese, at(where), v->chinese, "了", o.chinese})};
  }
  const std::string rest = words({o.english, where.english, t.english});
  return said(f, words({s.phrase.english, v->past, rest}),
              words({s.phrase.english, "did not", v->base, rest}),
              words({"did", s.phrase.english, v->base, rest}),
              join({s.phrase.chinese, t.chinese, f == Form::Denial ? "没有" : "", at(where),
                    v->chinese, f == Form::Denial ? "" : "了", o.chinese}));
}

Phrase future_action(Draw& d) {
  const Subject s = subject(d);
  const auto [v, n] = action(d, s, false);
  const Form f = form(d, 55);
  const TimeWord& t = d.pick(future_times());
  const Phrase where = place(d, *v, 35);
  const Phrase o =
      f == Form::Denial ? denied(d, *n) : (d.percent(60) ? indefinite(d, *n) : definite(d, *n));
  if (f == Form::Statement && d.percent(30)) {
    return {words({t.english, s.phrase.english, "will", v->base, o.english, where.english}),
            join({t.chinese, s.phrase.chinese, "会", at(where), v->chinese, o.chinese})};
  }
  const std::string rest = words({v->base, o.english, where.english, t.english});
  return said(f, words({s.phrase.english, "will", rest}),
              words({s.phrase.english, "will not", rest}), words({"will", s.phrase.english, rest}),
              join({s.phrase.chinese, t.chinese, f == Form::Denial ? "不会" : "会", at(where),
                    v->chinese, o.chinese}));
}

Phrase habit(Draw& d) {
  const Subject s = subject(d);
  const auto [v, n] = action(d, s, false);
  const Phrase where = place(d, *v, 40);
  const std::string_view who = s.phrase.english, wer = s.phrase.chinese;
  const std::uint64_t kind = d.below(100);
  if (kind < 35) {
    const TimeWord& how_often = d.pick(frequencies());
    const Phrase o = generic(*n);
    return {words({who, how_often.english, s.verb(*v), o.english, where.english}),
            join({wer, how_often.chinese, at(where), v->chinese, o.chinese})};
  }
  if (kind < 55) {
    const Phrase o = generic(*n);
    return {words({who, s.do_(), "not", v->base, o.english, where.english}),
            join({wer, "不", at(where), v->chinese, o.chinese})};
  }
  const TimeWord& t = d.pick(habits());
  if (kind < 70) {
    const Phrase o = generic(*n);
    return {words({s.do_(), who, v->base, o.english, where.english, t.english}),
            join({wer, t.chinese, at(where), v->chinese, o.chinese, "吗"})};
  }
  const Phrase o = d.percent(50) ? generic(*n) : d.percent(50) ? article(d, *n) : number(d, *n);
  return {words({who, s.verb(*v), o.english, where.english, t.english}),
          join({wer, t.chinese, at(where), v->chinese, o.chinese})};
}

Phrase progressive(Draw& d) {
  const Subject s = subject(d);
  const auto [v, n] = action(d, s, false);
  const Phrase where = place(d, *v, 45);
  const Phrase o = d.percent(60) ? indefinite(d, *n) : definite(d, *n);
  const bool now = d.percent(25);
  const std::string rest = words({v->ing, o.english, where.english, now ? "now" : ""});
  // 正在 and the 在 of the place fall together.
  const std::string chinese =
      join({s.phrase.chinese, now ? "现在" : "", "正在", where.chinese, v->chinese, o.chinese});
  if (d.percent(25)) return {words({s.be(), s.phrase.english, rest}), chinese + "吗"};
  return {words({s.phrase.english, s.be(), rest}), chinese};
}

Phrase wish(Draw& d) {
  const Subject s = subject(d);
  const auto [v, n] = action(d, s, false);
  const Form f = form(d, 50);
  const TimeWord none{"", ""};
  const TimeWord& t = d.percent(40) ? d.pick(future_times()) : none;
  const Phrase where = place(d, *v, 15);
  const Phrase o =
      f == Form::Denial ? denied(d, *n) : (d.percent(65) ? indefinite(d, *n) : definite(d, *n));
  const std::string_view who = s.phrase.english;
  const std::string rest = words({"to", v->base, o.english, where.english, t.english});
  return said(f, words({who, s.third_singular() ? "wants" : "want", rest}),
              words({who, s.do_(), "not want", rest}), words({s.do_(), who, "want", rest}),
              join({s.phrase.chinese, t.chinese, f == Form::Denial ? "不想" : "想", at(where),
                    v->chinese, o.chinese}));
}

Phrase wearing(Draw& d) {
  const Subject s = subject(d);
  const Noun& n = d.noun(kClothes | kAccessory);
  const Phrase o = d.percent(75) || !n.unit.empty() ? article(d, n) : possessive(d, n);
  d.note('V', "wear", n.singular);
  const std::string chinese =
      join({s.phrase.chinese, n.tags & kClothes ? "穿着" : "戴着", o.chinese});
  if (d.percent(25))
    return {words({s.be(), s.phrase.english, "wearing", o.english}), chinese + "吗"};
  return {words({s.phrase.english, s.be(), "wearing", o.english}), chinese};
}

Phrase looking_for(Draw& d) {
  const Subject s = subject(d);
  const Noun& n = d.noun(kThing | kPet | kPerson);
  const Phrase o = d.percent(65) ? definite(d, n) : indefinite(d, n);
  d.note('V', "look", n.singular);
  const std::string chinese = join({s.phrase.chinese, "正在找", o.chinese});
  const std::string rest = words({"looking for", o.english});
  if (d.percent(30)) return {words({s.be(), s.phrase.english, rest}), chinese + "吗"};
  return {words({s.phrase.english, s.be(), rest}), chinese};
}

Phrase person_action(Draw& d) {
  struct Deed {
    std::string_view base, past, ing, before, verb;  // before the person, and after
  };
  static constexpr Deed kDeeds[] = {{"help", "helped", "helping", "帮助", ""},
                                    {"visit", "visited", "visiting", "看望", ""},
                                    {"wait for", "waited for", "waiting for", "等", ""},
                                    {"call", "called", "calling", "给", "打电话"}};
  const Subject s = subject(d);
  const Deed& deed = kDeeds[d.below(4)];
  const Phrase o = other_person(d, s);
  d.note('S', s.phrase.english, deed.base);
  const std::string_view who = s.phrase.english, wer = s.phrase.chinese;
  const auto chinese = [&](std::string_view t, std::string_view aux) {
    return join({wer, t, aux, deed.before, o.chinese, deed.verb});
  };
  switch (d.below(5)) {
    case 0: {
      const TimeWord& t = d.pick(past_times());
      return {words({who, "did not", deed.base, o.english, t.english}), chinese(t.chinese, "没有")};
    }
    case 1: {
      const TimeWord& t = d.pick(future_times());
      return {words({who, "will", deed.base, o.english, t.english}), chinese(t.chinese, "会")};
    }
    case 2: {
      const TimeWord& t = d.pick(future_times());
      return {words({"will", who, deed.base, o.english, t.english}),
              chinese(t.chinese, "会") + "吗"};
    }
    case 3:
      return {words({who, s.be(), deed.ing, o.english}), chinese("", "正在")};
    default:
      return {words({who, s.do_(), "not want to", deed.base, o.english}), chinese("", "不想")};
  }
}

Phrase giving(Draw& d) {
  const Subject s = subject(d);
  const Noun& n = d.noun(kSend);
  const Phrase to = other_person(d, s);
  const Phrase o = d.percent(80) ? indefinite(d, n) : number(d, n);
  d.note('V', "give", n.singular);
  const std::string_view who = s.phrase.english, wer = s.phrase.chinese;
  switch (d.below(5)) {
    case 0: {
      const TimeWord& t = d.pick(past_times());
      return {words({who, "gave", to.english, o.english, t.english}),
              join({wer, t.chinese, "给了", to.chinese, o.chinese})};
    }
    case 1: {
      const TimeWord& t = d.pick(future_times());
      return {words({who, "will give", to.english, o.english, t.english}),
              join({wer, t.chinese, "会给", to.chinese, o.chinese})};
    }
    case 2: {
      const TimeWord& t = d.pick(past_times());
      return {words({who, "bought", to.english, o.english, t.english}),
              join({wer, t.chinese, "给", to.chinese, "买了", o.chinese})};
    }
    case 3: {
      const TimeWord& t = d.pick(past_times());
      return {words({who, "showed", to.english, o.english, t.english}),
              join({wer, t.chinese, "给", to.chinese, "看了", o.chinese})};
    }
    default:
      return {words({who, s.third_singular() ? "wants" : "want", "to give", to.english, o.english}),
              join({wer, "想给", to.chinese, o.chinese})};
  }
}

Phrase putting(Draw& d) {
  const Noun& n = d.noun(kThing);
  const Phrase o = definite(d, n);
  static constexpr Spot kOnto[] = {{"on the table", "桌子上", 0},
                                   {"on the chair", "椅子上", 0},
                                   {"on the bed", "床上", 0},
                                   {"in the box", "箱子里", 0},
                                   {"in the bag", "包里", 0}};
  const Spot& spot = kOnto[d.below(n.singular == "bag" ? 4 : 5)];
  d.note('P', spot.english, n.singular);
  const std::string thing = join({"把", o.chinese, "放在"});
  if (d.percent(50)) {
    return {words({"please put", o.english, spot.english}), join({"请", thing, spot.chinese})};
  }
  const Subject s = subject(d);
  if (d.percent(50)) {
    const TimeWord& t = d.pick(future_times());
    return {words({s.phrase.english, "will put", o.english, spot.english, t.english}),
            join({s.phrase.chinese, t.chinese, "会", thing, spot.chinese})};
  }
  const TimeWord& t = d.pick(past_times());
  return {words({s.phrase.english, "put", o.english, spot.english, t.english}),
          join({s.phrase.chinese, t.chinese, thing, "了", spot.chinese})};
}

Phrase going(Draw& d) {
  const Subject s = subject(d);
  const Place* to = &d.pick(places());
  while (to->to.empty()) to = &d.pick(places());
  d.note('S', s.phrase.english, to->to);
  const std::string_view who = s.phrase.english, wer = s.phrase.chinese;
  Phrase with, by;
  if (d.percent(40)) {
    const Phrase other = other_person(d, s);
    with = {words({"with", other.english}), join({"和", other.chinese, "一起"})};
  }
  if (d.percent(60)) {
    const TimeWord& t = d.pick(transport());
    by = {std::string(t.english), std::string(t.chinese)};
  }
  const std::string manner = join({with.chinese, by.chinese});
  const auto rest = [&](std::string_view t) {
    return words({to->to, with.english, by.english, t});
  };
  switch (d.below(6)) {
    case 0: {
      const TimeWord& t = d.pick(past_times());
      return {words({who, "went", rest(t.english)}),
              join({wer, t.chinese, manner, "去了", to->destination})};
    }
    case 1: {
      const TimeWord& t = d.pick(past_times());
      return {words({who, "did not go", to->to, t.english}),
              join({wer, t.chinese, "没有去", to->destination})};
    }
    case 2: {
      const TimeWord& t = d.pick(future_times());
      return {words({who, "will go", rest(t.english)}),
              join({wer, t.chinese, "会", manner, "去", to->destination})};
    }
    case 3: {
      const TimeWord& t = d.pick(future_times());
      return {words({s.do_(), who, "want to go", rest(t.english)}),
              join({wer, t.chinese, "想", manner, "去", to->destination, "吗"})};
    }
    case 4: {
      const TimeWord& t = d.pick(habits());
      return {words({who, s.third_singular() ? "goes" : "go", rest(t.english)}),
              join({wer, t.chinese, manner, "去", to->destination})};
    }
    default:
      return {words({"when will", who, "go", to->to}), join({wer, "什么时候去", to->destination})};
  }
}

Phrase request(Draw& d) {
  if (d.percent(35)) {
    const Noun& n = d.noun(kSend | kFood | kDrink);
    const Subject hearer{{"you", "你"}, true};
    const Phrase to = other_person(d, hearer);
    const Phrase o = indefinite(d, n);
    d.note('V', "give", n.singular);
    return {words({"please give", to.english, o.english}), join({"请给", to.chinese, o.chinese})};
  }
  const Verb* v = &d.pick(verbs());
  while (v->result) v = &d.pick(verbs());
  const Noun& n = d.noun(v->objects);
  d.note_object(*v, n);
  const bool deny = d.percent(45);
  const Phrase o = deny || d.percent(50) ? definite(d, n) : indefinite(d, n);
  return {words({deny ? "please do not" : "please", v->base, o.english}),
          join({deny ? "请不要" : "请", v->chinese, o.chinese})};
}

}  // namespace glim::phrasebook

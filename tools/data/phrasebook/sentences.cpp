#include <algorithm>
#include <deque>

#include "tools/common/ascii.hpp"
#include "tools/data/phrasebook/grammar.hpp"
#include "tools/data/phrasebook/phrasebook.hpp"

namespace glim {

extern const std::string_view kPhrasebookGrammar;

namespace phrasebook {
namespace {

const Row kAgain;  // instead of a phrase: the rule is done again

// One sentence being drawn.
class Drawing {
 public:
  Drawing(const Grammar& grammar, SplitMix64& random) : grammar_(grammar), random_(random) {}

  // The phrase or row that the step makes, or null.
  const Row* run(const Step& step) {
    switch (step.kind) {
      case Step::Sequence:
        for (const Step& s : step.steps) {
          if (const Row* made = run(s)) return made;
        }
        return nullptr;
      case Step::Choice: {
        const std::uint64_t drawn = step.weight > 0 ? random_.below(step.weight) : 0;
        std::uint64_t end = 0;
        for (const Step& s : step.steps) {
          end += s.weight;
          if ((s.weight == 0 || drawn < end) && hold(s.conditions)) return run(s);
        }
        return nullptr;
      }
      case Step::Bind: {
        const std::size_t before = names_.size();
        const Row* made = run(step.steps[0]);
        names_.resize(before);
        names_.push_back({step.name, made});
        return nullptr;
      }
      case Step::Draw:
        return draw(step);
      case Step::Call:
        return call(step.name);
      case Step::Note:
        combinations.push_back(filled(step.english, kNone));
        return nullptr;
      case Step::Again:
        return hold(step.conditions) ? &kAgain : nullptr;
      case Step::Phrase:
        return phrase(step);
    }
    return nullptr;
  }

  std::vector<std::string> combinations;
  bool question = false;  // the last phrase

 private:
  const Row* draw(const Step& step) {
    const auto fits = [&](const Row& row) {
      names_.push_back({step.name, &row});
      const bool all = hold(step.conditions);
      names_.pop_back();
      return all;
    };
    std::vector<const Row*> rows;
    for (const Row& row : *step.rows) {
      if (step.until || fits(row)) rows.push_back(&row);
    }
    if (rows.empty()) return nullptr;
    const Row* row = rows[random_.below(rows.size())];
    while (step.until && !fits(*row)) row = rows[random_.below(rows.size())];
    return row;
  }

  const Row* call(Symbol name) {
    const Step* rule = find(grammar_.rules, name);
    if (!rule) return named(name);
    const std::size_t before = names_.size();
    const Row* made = run(*rule);
    while (made == &kAgain) {
      names_.resize(before);
      made = run(*rule);
    }
    return made;
  }

  const Row* phrase(const Step& step) {
    const std::string text = filled(step.english, kNone);
    std::string english;  // with one space between words, and "an"
    for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
      end = std::min(text.find(' ', begin), text.size());
      if (begin == end) continue;
      const bool vowel = std::string_view("aeiou").find(text[begin]) != std::string_view::npos;
      if (vowel && (english == "a" || english.ends_with(" a"))) english += 'n';
      if (!english.empty()) english += ' ';
      english.append(text, begin, end - begin);
    }
    question = step.question;
    Row& row = phrases_.emplace_back();
    row[kNone] = {english};
    row[kChinese] = {filled(step.chinese, kChinese)};
    row[kForm] = {"", 0, step.plural ? kBase : kThird};
    row[kTags] = {"", step.plural ? grammar_.tags.at(kPlural) : 0};
    return &row;
  }

  bool hold(const std::vector<Condition>& conditions) const {
    return std::ranges::all_of(conditions, [&](const Condition& c) {
      const Symbol usual = c.sign == '&' ? kTags : kNone;
      const Cell* left = cell(c.left, usual);
      const Cell* right = cell(c.right, usual);
      const std::uint64_t tags = right ? right->tags : c.tags;
      const bool holds = !left           ? false
                         : c.sign == '&' ? (left->tags & tags) != 0
                         : c.sign == '=' ? right && left->text == right->text
                                         : c.left.column == kNone || !left->text.empty();
      return holds == c.truth;
    });
  }

  const Row* named(Symbol name) const {
    const auto entry =
        std::find_if(names_.rbegin(), names_.rend(), [&](const Name& n) { return n.name == name; });
    if (entry != names_.rend()) return entry->row;
    const Row* const* row = find(grammar_.rows, name);
    return row ? *row : nullptr;
  }

  // `usual` is the column of a reference without one. Null for what was not drawn.
  const Cell* cell(Reference reference, Symbol usual) const {
    const Row* row = named(reference.name);
    if (!row) return nullptr;
    const Symbol column = reference.column == kNone ? usual : reference.column;
    if (const Cell* found = find(*row, column)) return found;
    const Row* other = named(column);  // {have.s}
    const Cell* form = other ? find(*other, kForm) : nullptr;
    const Cell* agreeing = form ? find(*row, form->symbol) : nullptr;
    return agreeing ? agreeing : find(*row, kNone);
  }

  std::string filled(const Text& text, Symbol usual) const {
    std::string out;
    for (const Piece& piece : text) {
      out += piece.text;
      if (const Cell* found = cell(piece.reference, usual)) out += found->text;
    }
    return out;
  }

  struct Name {
    Symbol name;
    const Row* row;
  };
  const Grammar& grammar_;
  SplitMix64& random_;
  std::vector<Name> names_;  // the last of a name counts
  std::deque<Row> phrases_;
};

}  // namespace

Sentence draw_sentence(SplitMix64& random) {
  static const Grammar grammar = read_grammar(kPhrasebookGrammar);
  for (;;) {
    Drawing drawing(grammar, random);
    const Row* made = drawing.run(grammar.rules.at(kSentence));
    std::string english = made->at(kNone).text;
    // "Which letter do I like": grammatical, but nobody asks so.
    if (drawing.question && english.find(" I ") != std::string::npos) continue;
    english[0] = upper(english[0]);
    return {english, made->at(kChinese).text, std::move(drawing.combinations)};
  }
}

}  // namespace phrasebook
}  // namespace glim

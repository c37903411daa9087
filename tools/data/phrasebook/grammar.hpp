// The grammar as it is read from grammar.txt, whose head says how it is written.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace glim::phrasebook {

// Words of the grammar that stand for something, by number.
enum Symbol : int { kNone, kChinese, kTags, kForm, kBase, kThird, kPlural, kSentence };

// Null for an unknown key.
template <class Key, class T>
const T* find(const std::map<Key, T>& all, Key key) {
  const auto entry = all.find(key);
  return entry == all.end() ? nullptr : &entry->second;
}

struct Cell {
  std::string text;
  std::uint64_t tags = 0;
  Symbol symbol = kNone;  // of the text
};

// A row of a table, or a phrase, by column. kNone is the first column.
using Row = std::map<Symbol, Cell>;

// {n.plural}; for {n} the column is kNone.
struct Reference {
  Symbol name = kNone, column = kNone;
};

// A text, and after it what is referred to, if anything.
struct Piece {
  std::string text;
  Reference reference;
};
using Text = std::vector<Piece>;

struct Condition {
  bool truth = true;
  char sign = 0;  // '=', '&', or none: drawn, or not empty
  Reference left = {}, right = {};
  std::uint64_t tags = 0;  // instead of `right`
};

// A step of a rule, or several: a rule, a line, an alternative.
struct Step {
  enum Kind { Sequence, Choice, Bind, Draw, Call, Note, Again, Phrase };
  Kind kind = Sequence;
  Symbol name = kNone;                     // Bind, Draw: of the row; Call: what is called
  std::vector<Step> steps = {};            // Sequence, Choice; Bind: one
  std::vector<Condition> conditions = {};  // Draw, Again, alternatives of a choice
  std::uint64_t weight = 0;                // an alternative; Choice: out of which it is
  const std::vector<Row>* rows = nullptr;  // Draw
  bool until = false;                      // Draw: again, until the conditions hold
  Text english = {}, chinese = {};         // Phrase; Note: english
  bool plural = false, question = false;   // Phrase
};

struct Grammar {
  std::map<Symbol, std::uint64_t> tags;
  std::map<Symbol, std::vector<Row>> tables;
  std::map<Symbol, const Row*> rows;  // of all tables, by their first cell
  std::map<Symbol, Step> rules;
};

// ValueError for a name that nothing defines.
Grammar read_grammar(std::string_view text);

}  // namespace glim::phrasebook

#include "tools/data/phrasebook/grammar.hpp"

#include <charconv>
#include <set>

#include "tensor/error.hpp"
#include "tools/common/ascii.hpp"

namespace glim::phrasebook {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first == text.npos ? "" : text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

// The text up to `mark`, which is removed with it; all of it where there is no mark.
std::string_view take_until(std::string_view& text, std::string_view mark) {
  const std::size_t place = text.find(mark);
  const std::string_view head = text.substr(0, place);
  text = place == text.npos ? "" : text.substr(place + mark.size());
  return head;
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  const bool found = text.starts_with(prefix);
  if (found) text = trimmed(text.substr(prefix.size()));
  return found;
}

bool take_suffix(std::string_view& text, std::string_view suffix) {
  const bool found = text.ends_with(suffix);
  if (found) text = trimmed(text.substr(0, text.size() - suffix.size()));
  return found;
}

// The parts that are not empty.
std::vector<std::string_view> split(std::string_view text, std::string_view mark) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::string_view part = take_until(text, mark);
    if (!trimmed(part).empty()) parts.push_back(part);
  }
  return parts;
}

bool starts_with_weight(std::string_view text) { return !text.empty() && is_digit(text[0]); }
bool starts_choice(std::string_view text) {
  return text.starts_with('[') || starts_with_weight(text);
}

class Reader {
 public:
  Grammar read(std::string_view text) {
    for (std::string_view line : split(text, "\n")) {
      if (!line.starts_with('#')) lines_.push_back(line);
    }
    std::uint64_t tag = 1;
    while (line_ < lines_.size()) {
      std::string_view head = lines_[line_++];
      if (take_prefix(head, "tags ")) {
        for (std::string_view name : split(head, " ")) {
          grammar_.tags.emplace(symbol(name), tag);
          tag <<= 1;
        }
      } else if (take_prefix(head, "group ")) {
        const Symbol name = symbol(take_until(head, " = "));
        grammar_.tags[name] = tags(head);
      } else if (take_prefix(head, "table ")) {
        const Symbol name = symbol(take_until(head, ": "));
        table(grammar_.tables[name], split(head, " "));
      } else {
        grammar_.rules.emplace(symbol(head), deeper_than(0) ? block() : Step{});
      }
    }
    for (const auto& [name, s] : symbols_) {
      if (used_.contains(s) && !bound_.contains(s) && !find(grammar_.rules, s) &&
          !find(grammar_.rows, s))
        throw ValueError("phrasebook", "unknown name '" + name + "'");
    }
    return std::move(grammar_);
  }

 private:
  Symbol symbol(std::string_view text) {
    return symbols_.emplace(text, static_cast<Symbol>(symbols_.size())).first->second;
  }

  bool deeper_than(std::size_t depth) const {
    return line_ < lines_.size() && lines_[line_].find_first_not_of(' ') > depth;
  }

  std::uint64_t tags(std::string_view names) {
    std::uint64_t all = 0;
    for (std::string_view name : split(names, " ")) {
      const std::uint64_t* tag = find(grammar_.tags, symbol(name));
      if (!tag) throw ValueError("phrasebook", "unknown tag '" + std::string(name) + "'");
      all |= *tag;
    }
    return all;
  }

  void table(std::vector<Row>& rows, const std::vector<std::string_view>& columns) {
    while (deeper_than(0)) {
      const auto cells = split(lines_[line_++], "  ");
      Row& row = rows.emplace_back();
      for (std::size_t i = 0; i < columns.size(); ++i) {
        std::string_view column = columns[i], text = i < cells.size() ? trimmed(cells[i]) : "-";
        if (text == "-") text = "";
        Cell cell{std::string(text), take_suffix(column, "*") ? tags(text) : 0, symbol(text)};
        if (i == 0) row.emplace(kNone, cell);
        row.emplace(symbol(column), std::move(cell));
      }
    }
    for (const Row& row : rows) {
      if (const Symbol first = row.at(kNone).symbol; first != kNone)
        grammar_.rows.emplace(first, &row);
    }
  }

  // The lines from here that are as deep as this one, each with the deeper lines below it.
  Step block() {
    Step sequence;
    const std::size_t depth = lines_[line_].find_first_not_of(' ');
    while (deeper_than(depth - 1)) {
      std::string_view line = trimmed(lines_[line_++]);
      if (starts_choice(line)) sequence.steps.push_back({.kind = Step::Choice});
      if (starts_choice(line) || take_prefix(line, "|")) {
        add_alternative(sequence.steps.back(), line, depth);
      } else {
        add_steps(sequence, line);
      }
    }
    return sequence;
  }

  // "35% [CONDITIONS] STEPS", with the lines from here that are deeper.
  void add_alternative(Step& choice, std::string_view text, std::size_t depth) {
    Step step;
    if (starts_with_weight(text)) {
      const std::string_view weight = take_until(text, " ");
      std::from_chars(weight.data(), weight.data() + weight.size(), step.weight);
      choice.weight = weight.ends_with('%') ? 100 : choice.weight + step.weight;
    }
    if (take_prefix(text, "[")) step.conditions = conditions(take_until(text, "]"));
    text = trimmed(text);
    if (starts_with_weight(text)) {
      step.steps.push_back({.kind = Step::Choice});
      add_alternative(step.steps[0], text, depth);
    } else {
      add_steps(step, text);
      if (deeper_than(depth)) step.steps.push_back(block());
    }
    choice.steps.push_back(std::move(step));
  }

  void add_steps(Step& sequence, std::string_view line) {
    for (std::string_view text : split(line, "; ")) {
      text = trimmed(text);
      if (take_prefix(text, "again if ")) {
        sequence.steps.push_back({.kind = Step::Again, .conditions = conditions(text)});
      } else if (take_prefix(text, "note ")) {
        sequence.steps.push_back({.kind = Step::Note, .english = pieces(text)});
      } else if (text.find(": ") != text.npos) {
        sequence.steps.push_back(binding(take_until(text, ": "), text));
      } else {
        sequence.steps.push_back(value(text, kNone));
      }
    }
  }

  // "o: 60% definite | indefinite"
  Step binding(std::string_view name, std::string_view text) {
    Step bind{.kind = Step::Bind, .name = symbol(name)};
    bound_.insert(bind.name);
    if (starts_choice(text)) {
      Step& choice = bind.steps.emplace_back(Step{.kind = Step::Choice});
      for (std::string_view one : split(text, " | "))
        add_alternative(choice, trimmed(one), text.npos);
    } else {
      bind.steps.push_back(value(text, bind.name));
    }
    return bind;
  }

  // "noun where CONDITIONS", which know the row as `name`; "ENGLISH / CHINESE"; or what is called.
  Step value(std::string_view text, Symbol name) {
    Step step;
    if (text.find(" / ") != text.npos) {
      step.kind = Step::Phrase;
      step.plural = take_suffix(text, "(plural)");
      std::string_view english = take_until(text, " / ");
      step.question = take_suffix(english, "?");
      step.english = pieces(english);
      step.chinese = pieces(trimmed(text));
      return step;
    }
    const Symbol first = symbol(take_until(text, " "));
    step.rows = find(grammar_.tables, first);
    step.kind = step.rows ? Step::Draw : Step::Call;
    step.name = step.rows ? name : first;
    if (!step.rows) used_.insert(first);
    step.until = take_until(text, " ") == "until";
    step.conditions = conditions(text);
    return step;
  }

  // "!n & thing pet, o = s"
  std::vector<Condition> conditions(std::string_view text) {
    std::vector<Condition> all;
    for (std::string_view one : split(text, ", ")) {
      Condition c{.truth = !take_prefix(one, "!")};
      c.left = reference(take_until(one, " "));
      if (!one.empty()) c.sign = take_until(one, " ")[0];
      if (find(grammar_.tags, symbol(one.substr(0, one.find(' '))))) {
        c.tags = tags(one);
      } else if (c.sign) {
        c.right = reference(one);
      }
      all.push_back(c);
    }
    return all;
  }

  Reference reference(std::string_view text) {
    const Symbol name = symbol(take_until(text, "."));
    used_.insert(name);
    return {name, symbol(text)};
  }

  Text pieces(std::string_view text) {
    Text all;
    while (!text.empty()) {
      const std::string_view plain = take_until(text, "{"), name = take_until(text, "}");
      all.push_back({std::string(plain), name.empty() ? Reference{} : reference(name)});
    }
    return all;
  }

  Grammar grammar_;
  std::vector<std::string_view> lines_;
  std::size_t line_ = 0;
  std::map<std::string, Symbol, std::less<>> symbols_ = {
      {"", kNone},     {"zh", kChinese},  {"tags", kTags},     {"form", kForm},
      {"base", kBase}, {"third", kThird}, {"plural", kPlural}, {"sentence", kSentence}};
  std::set<Symbol> bound_, used_;  // names
};

}  // namespace

Grammar read_grammar(std::string_view text) { return Reader().read(text); }

}  // namespace glim::phrasebook

#include "tools/common/toml.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <regex>

#include "models/tokenizers/utf8.hpp"
#include "tensor/error.hpp"

namespace glim {
namespace {

// Digits in groups with _ between them; of a whole part without a 0 in front.
bool is_number(const std::string& text) {
  static const std::regex number(
      "[+-]?(0|[1-9](_?[0-9])*)(\\.[0-9](_?[0-9])*)?([eE][+-]?[0-9](_?[0-9])*)?");
  return text.size() < 100 && std::regex_match(text, number);  // which recurses
}

class TomlReader {
 public:
  TomlReader(const std::string& text, const std::string& where) : text_(text), where_(where) {
    if (text_.starts_with("\xEF\xBB\xBF")) pos_ = 3;
    for (std::size_t i = pos_; i < text_.size(); ++i) {
      const char c = text_[i];
      if (c == '\n') ++line_;
      const bool control =
          (static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n') || c == 0x7F;
      if (control && !text_.substr(i, 2).starts_with("\r\n"))
        fail("has a control character; in a text in \" it is written \\u00NN");
    }
    line_ = 1;
  }

  std::vector<TomlEntry> read() {
    for (;;) {
      skip(true);
      if (pos_ >= text_.size()) return std::move(entries_);
      if (text_[pos_] == '[')
        open_table();
      else
        read_pair();
      skip(false);
      if (pos_ < text_.size() && text_[pos_] != '\n') fail("there is more behind the value");
    }
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw FileError(where_ + ":" + std::to_string(line_), problem);
  }
  char here() const { return pos_ < text_.size() ? text_[pos_] : '\n'; }

  // Over spaces and comments, and lines where they may end.
  void skip(bool lines) {
    for (; pos_ < text_.size(); ++pos_) {
      char c = text_[pos_];
      if (c == '#') {
        pos_ = std::min(text_.find('\n', pos_), text_.size()) - 1;
      } else if (c == '\n' && lines) {
        ++line_;
      } else if (c != ' ' && c != '\t' && c != '\r') {
        return;
      }
    }
  }

  std::string word(std::string_view ends) {
    std::size_t i = pos_;
    while (pos_ < text_.size() && ends.find(text_[pos_]) == std::string_view::npos) ++pos_;
    std::size_t end = pos_;
    while (end > i && (text_[end - 1] == ' ' || text_[end - 1] == '\t' || text_[end - 1] == '\r'))
      --end;
    return text_.substr(i, end - i);
  }

  std::string key() {
    std::string name = here() == '"' || here() == '\'' ? quoted_text() : word("=]#\n");
    skip(false);
    if (name.empty()) fail("a name is missing; lines are name = value");
    return name;
  }

  void open_table() {
    ++pos_;
    if (here() == '[') fail("there are no arrays of tables here: one [ and one ]");
    skip(false);
    table_ = key();
    if (here() != ']') fail("'[" + table_ + "' lacks its ]");
    ++pos_;
    entries_.push_back({.table = table_, .key = "", .values = {}, .line = line_, .is_table = true});
  }

  void read_pair() {
    TomlEntry e;
    e.key = key();
    e.table = table_;
    e.line = line_;
    if (here() != '=') fail("'" + e.key + "' lacks its value; lines are name = value");
    if (std::size_t dot = e.key.rfind('.'); dot != std::string::npos) {
      e.table += (e.table.empty() ? "" : ".") + e.key.substr(0, dot);
      e.key.erase(0, dot + 1);
    }
    ++pos_;
    skip(false);
    if (here() != '[') {
      e.values.push_back(value("#\n", e));
    } else {
      ++pos_;
      for (skip(true); here() != ']'; skip(true)) {
        if (pos_ >= text_.size()) fail("the list of '" + e.key + "' lacks its ]");
        e.values.push_back(value(",]#\n", e));
        skip(true);
        if (here() == ',')
          ++pos_;
        else if (here() != ']')
          fail("the values of '" + e.key + "' lack a comma or the ] at their end");
      }
      ++pos_;
    }
    entries_.push_back(std::move(e));
  }

  std::string value(std::string_view ends, TomlEntry& e) {
    if (here() == '"' || here() == '\'') {
      e.quoted = true;
      return quoted_text();
    }
    std::string text = word(ends);
    if (text.empty()) fail("'" + e.key + "' lacks its value; lines are name = value");
    if (text[0] == '{') fail("'" + e.key + "': there are no tables in braces here");
    if (text.find_first_not_of("0123456789_+-.eE") == std::string::npos &&
        text.find_first_of("0123456789") != std::string::npos) {
      if (!is_number(text))
        fail("'" + text + "' is not a TOML number, such as 1, 0.5 or 1_000; write a text in \"");
      std::erase(text, '_');
    }
    return text;
  }

  std::string quoted_text() {
    char quote = text_[pos_++];
    std::string r;
    while (here() != quote) {
      if (here() == '\n') fail(std::string("a text lacks the ") + quote + " at its end");
      if (quote == '"' && here() == '\\')
        escape(r);
      else
        r += text_[pos_++];
    }
    ++pos_;
    return r;
  }

  void escape(std::string& r) {
    char c = text_[++pos_];
    ++pos_;
    constexpr std::string_view names = "btnfre\"\\", means = "\b\t\n\f\r\x1b\"\\";
    if (std::size_t i = names.find(c); i != std::string_view::npos) {
      r += means[i];
      return;
    }
    std::size_t digits = c == 'u' ? 4 : c == 'U' ? 8 : 0;
    std::uint32_t code = 0;
    const char* begin = text_.data() + std::min(pos_, text_.size());
    const char* limit = begin + std::min(digits, text_.size() - std::min(pos_, text_.size()));
    auto [end, error] = std::from_chars(begin, limit, code, 16);
    if (digits == 0 || error != std::errc{} || end != begin + digits || code > 0x10FFFF ||
        (code >= 0xD800 && code < 0xE000))
      fail("unknown escape \\" + std::string(1, c) + " in a text; '...' keeps a \\ as it is");
    pos_ += digits;
    append_utf8(r, code);
  }

  const std::string& text_;
  const std::string& where_;
  std::size_t pos_ = 0;
  int line_ = 1;
  std::string table_;
  std::vector<TomlEntry> entries_;
};

}  // namespace

std::vector<TomlEntry> parse_toml(const std::string& text, const std::string& where) {
  return TomlReader(text, where).read();
}

std::vector<std::pair<std::string, std::string>> read_toml(const std::string& text,
                                                           const std::string& where) {
  std::vector<std::pair<std::string, std::string>> keys;
  for (const TomlEntry& e : parse_toml(text, where))
    if (!e.values.empty())
      keys.emplace_back((e.table.empty() ? "" : e.table + ".") + e.key, e.values[0]);
  return keys;
}

}  // namespace glim

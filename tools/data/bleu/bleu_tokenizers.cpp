// The tokeniser of mteval-v13a (NIST, 2009) as sacreBLEU runs it: entities, then four substitutions
// for Western languages, each over the whole line from left to right without overlap. That for Chinese sets
// each Chinese character apart instead, then makes the same four:
//
//   1. [{-~[-` -&(-+:-@/]      a space on either side (ASCII symbols but ' , - .)
//   2. ([^0-9])([.,])          space around a period or comma unless a digit is before it
//   3. ([.,])([^0-9])          … or after it
//   4. ([0-9])(-)              space around a dash after a digit
//
// The patterns look at one character on either side. All that they ask is whether that character is
// one of a few ASCII ones, so working on bytes gives the same as working on characters.
#include <algorithm>
#include <string>
#include <utility>

#include "models/tokenizers/utf8.hpp"
#include "tools/common/ascii.hpp"
#include "tools/data/bleu/bleu.hpp"

namespace glim {
namespace {

void replace_all(std::string& text, std::string_view pattern, std::string_view replacement) {
  std::string out;
  std::size_t begin = 0;
  for (std::size_t place; (place = text.find(pattern, begin)) != std::string::npos;
       begin = place + pattern.size()) {
    out.append(text, begin, place - begin);
    out += replacement;
  }
  if (begin == 0) return;
  out.append(text, begin);
  text = std::move(out);
}

bool is_stop(char c) { return c == '.' || c == ','; }
bool is_symbol(char c) {
  return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') ||
         (c >= '(' && c <= '+') || (c >= ':' && c <= '@') || c == '/';
}

// Replaces each pair of bytes (a, b) that `matches` by `write`'s text.
template <class Matches, class Write>
std::string substitute_pairs(std::string_view line, Matches matches, Write write) {
  std::string out;
  out.reserve(line.size() + 16);
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (i + 1 < line.size() && matches(line[i], line[i + 1])) {
      write(out, line[i], line[i + 1]);
      ++i;
    } else {
      out += line[i];
    }
  }
  return out;
}

std::string tokenize_western(const std::string& line) {
  std::string spaced;
  for (char c : line) {
    if (is_symbol(c)) {
      spaced += {' ', c, ' '};
    } else {
      spaced += c;
    }
  }
  spaced = substitute_pairs(
      spaced, [](char a, char b) { return !is_digit(a) && is_stop(b); },
      [](std::string& out, char a, char b) {
        out += {a, ' ', b, ' '};
      });
  spaced = substitute_pairs(
      spaced, [](char a, char b) { return is_stop(a) && !is_digit(b); },
      [](std::string& out, char a, char b) {
        out += {' ', a, ' ', b};
      });
  spaced = substitute_pairs(
      spaced, [](char a, char b) { return is_digit(a) && b == '-'; },
      [](std::string& out, char a, char b) {
        out += {a, ' ', b, ' '};
      });
  return normalize_spaces(spaced);
}

// Is it Chinese by sacreBLEU's list of ranges? Its first line here, punctuation and symbols, comes of
// "\u20000" in Python, which is U+2000 and a zero.
bool is_chinese(std::uint32_t c) {
  constexpr std::pair<std::uint32_t, std::uint32_t> kRanges[] = {
      {0x2001, 0x2A6D}, {0x2E80, 0x2FDF}, {0x2FF0, 0x303F}, {0x3100, 0x312F}, {0x31A0, 0x31BF},
      {0x31C0, 0x31EF}, {0x3200, 0x4DB5}, {0x4E00, 0x9FBB}, {0xF900, 0xFA2D}, {0xFA30, 0xFA6A},
      {0xFA70, 0xFAD9}, {0xFE10, 0xFE1F}, {0xFE30, 0xFE4F}, {0xFF00, 0xFFEF}};
  return std::ranges::any_of(kRanges, [c](auto r) { return r.first <= c && c <= r.second; });
}

}  // namespace

std::string tokenize_zh(std::string_view line) {
  const auto words = split_spaces(line);
  if (words.empty()) return {};
  const char *begin = words.front().data(), *end = words.back().data() + words.back().size();
  line = {begin, static_cast<std::size_t>(end - begin)};  // without outer spaces
  std::string apart;
  for (const CodePoint& c : code_points(line)) {
    const std::string space = is_chinese(c.value) ? " " : "";
    append_utf8(apart += space, c.value);
    apart += space;
  }
  return tokenize_western(apart);
}

bool mostly_chinese(std::span<const std::string> lines) {
  std::int64_t chinese = 0, others = 0;
  for (const std::string& line : lines)
    for (const CodePoint& c : code_points(line))
      if (!is_space(c.value)) ++(is_chinese(c.value) ? chinese : others);
  return chinese > others;
}

std::string tokenize_13a(std::string_view input) {
  std::string line(input);
  replace_all(line, "<skipped>", "");
  replace_all(line, "-\n", "");
  replace_all(line, "\n", " ");
  replace_all(line, "&quot;", "\"");
  replace_all(line, "&amp;", "&");
  replace_all(line, "&lt;", "<");
  replace_all(line, "&gt;", ">");
  return tokenize_western(" " + line + " ");
}

}  // namespace glim

#include "tools/common/escape.hpp"

#include <cstdint>
#include <cstdio>
#include <utility>

#include "tools/common/ascii.hpp"

namespace glim {
namespace {

constexpr std::uint32_t kInvalid = 0xFFFFFFFF;

// The first character, or a byte that is not UTF-8 (RFC 3629).
struct Character {
  std::uint32_t code = kInvalid;
  std::string_view bytes;

  explicit Character(std::string_view text) : bytes(text.substr(0, 1)) {
    auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned first = byte(0);
    if (first < 0x80) {
      code = first;
      return;
    }
    const std::size_t length = first < 0xC2   ? 0
                               : first < 0xE0 ? 2
                               : first < 0xF0 ? 3
                               : first < 0xF5 ? 4
                                              : 0;
    if (length == 0 || text.size() < length) return;
    std::uint32_t value = first & (0x7Fu >> length);
    for (std::size_t i = 1; i < length; ++i) {
      if ((byte(i) & 0xC0) != 0x80) return;
      value = value << 6 | (byte(i) & 0x3Fu);
    }
    constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
    if (value < kLeast[length] || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) return;
    code = value;
    bytes = text.substr(0, length);
  }
  // Neither a control character, nor the end of a line, nor one that turns the direction of writing.
  bool plain() const {
    return code != kInvalid && code >= 0x20 && !(code >= 0x7F && code <= 0x9F) && code != 0x61C &&
           code != 0x200E && code != 0x200F && !(code >= 0x2028 && code <= 0x202E) &&
           !(code >= 0x2066 && code <= 0x2069);
  }
  bool is_one_of(std::string_view signs) const {
    return code < 0x80 && signs.find(static_cast<char>(code)) != signs.npos;
  }
};

template <class F>
std::string each(std::string_view text, const F& written) {
  std::string out;
  while (!text.empty()) {
    const Character c(text);
    out += written(c, text.substr(c.bytes.size()));
    text.remove_prefix(c.bytes.size());
  }
  return out;
}

std::string number(const char* form, unsigned n) {
  char text[16];
  return {text, static_cast<std::size_t>(std::snprintf(text, sizeof text, form, n))};
}

// Each byte by the form.
std::string bytes_as(const char* form, std::string_view bytes) {
  std::string out;
  for (const char b : bytes) out += number(form, static_cast<unsigned char>(b));
  return out;
}

using Spelling = std::pair<std::uint32_t, const char*>;

template <std::size_t N>
const char* spelled(const Character& c, const Spelling (&known)[N]) {
  for (const auto& [code, as] : known)
    if (code == c.code) return as;
  return nullptr;
}

// With each `sign` spelled so.
std::string with(std::string_view text, char sign, std::string_view as) {
  std::string out;
  for (const char c : text) c == sign ? out += as : out += c;
  return out;
}

}  // namespace

std::string visible(std::string_view text, std::string_view kept) {
  return each(text, [&](const Character& c, auto) {
    return c.plain() || c.is_one_of(kept) ? std::string(c.bytes) : bytes_as("\\x%02x", c.bytes);
  });
}

std::string in_python(std::string_view text) {
  return each(text, [](const Character& c, auto) {
    if (c.code == '\n') return std::string("\\n");
    if (c.is_one_of("\\\"")) return "\\" + std::string(c.bytes);
    if (c.plain()) return std::string(c.bytes);
    if (c.code == kInvalid) return number("\\udc%02x", static_cast<unsigned char>(c.bytes[0]));
    return number(c.code < 0x100 ? "\\x%02x" : "\\u%04x", c.code);
  });
}

std::string in_cpp(std::string_view text) {
  return each(text, [](const Character& c, auto) {
    if (c.code == '\n') return std::string("\\n");
    if (c.is_one_of("\\\"?")) return "\\" + std::string(c.bytes);  // ??/ is a trigraph
    return c.plain() ? std::string(c.bytes) : bytes_as("\\%03o", c.bytes);
  });
}

std::string in_cpp_comment(std::string_view text) {
  std::string line = visible(text);
  const std::size_t last = line.find_last_not_of(' ');  // compilers join lines over blanks, too
  if (last == line.npos) return line;
  const std::string_view kept = std::string_view(line).substr(0, last + 1);
  if (kept.ends_with('\\'))
    line.replace(last, 1, "\\x5c");
  else if (kept.ends_with("?\?/"))
    line.replace(last, 1, "\\x2f");
  return line;
}

std::string in_xml(std::string_view text) {
  return each(text, [](const Character& c, auto) {
    const Spelling known[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}};
    if (const char* entity = spelled(c, known)) return std::string(entity);
    // As they are, a reader would make spaces of these in an attribute.
    if (c.is_one_of("'\t\n\r")) return number("&#%u;", c.code);
    const bool forbidden = c.code == kInvalid || c.code < 0x20 || (c.code >> 1) == 0x7FFF;
    return forbidden ? std::string("\uFFFD") : std::string(c.bytes);
  });
}

std::string in_csv(std::string_view text) {
  return '"' +
         each(text,
              [](const Character& c, auto) {
                return c.code == kInvalid  ? "\uFFFD"
                       : c.is_one_of("\"") ? "\"\""
                                           : std::string(c.bytes);
              }) +
         '"';
}

std::string in_script(std::string_view json) { return with(json, '<', "\\u003c"); }
std::string in_toml(std::string_view json) { return with(json, '\x7F', "\\u007f"); }

std::string in_markdown(std::string_view text) {
  const std::string line = visible(text);
  bool after_letter = false, begins = true, number = false;
  return each(line, [&](const Character& c, std::string_view rest) {
    auto letter = [](char x) { return is_letter_or_digit(x) || (x & 0x80); };
    // "_" within a word is one; "#", "-", "1." and the like mean something where the text begins.
    const bool escaped = c.is_one_of("\\`*[]<>&|~$") ||
                         (c.code == '_' && !(after_letter && !rest.empty() && letter(rest[0]))) ||
                         (begins && c.is_one_of("#+-=")) || (number && c.is_one_of(".)"));
    number = (begins || number) && c.is_one_of("0123456789");
    const bool indented = begins && c.code == ' ';
    begins = indented;
    after_letter = letter(c.bytes.back());
    return (indented ? "&#32;" : escaped ? "\\" + std::string(c.bytes) : std::string(c.bytes));
  });
}

std::string in_latex(std::string_view text) {
  const std::string line = visible(text);
  return each(line, [](const Character& c, std::string_view rest) {
    const Spelling known[] = {{'\\', "\\textbackslash{}"}, {'^', "\\textasciicircum{}"},
                              {'~', "\\textasciitilde{}"}, {'<', "\\textless{}"},
                              {'>', "\\textgreater{}"},    {'|', "\\textbar{}"}};
    if (const char* command = spelled(c, known)) return std::string(command);
    if (c.is_one_of("{}$&#_%")) return "\\" + std::string(c.bytes);
    // Two of these would be one sign.
    const bool joined = c.is_one_of("-'`,?!") && !rest.empty() && Character(rest).is_one_of("-'`,");
    return std::string(c.bytes) + (joined ? "{}" : "");
  });
}

std::string typed_word(std::string_view text) {
  if (visible(text) == text) return shell_word(text);
  return "$'" +
         each(text,
              [](const Character& c, auto) {
                if (c.is_one_of("\\'")) return "\\" + std::string(c.bytes);
                return c.plain() ? std::string(c.bytes) : bytes_as("\\x%02x", c.bytes);
              }) +
         "'";
}

std::string typed_option(std::string_view name, std::string_view value) {
  // Behind a blank a value that begins with -- would be the next option.
  return "--" + std::string(name) + (value.starts_with("--") ? "=" : " ") + typed_word(value);
}

}  // namespace glim

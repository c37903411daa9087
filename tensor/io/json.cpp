#include "tensor/io/json.hpp"

#include <charconv>
#include <set>

#include "tensor/error.hpp"

namespace glim {
namespace {

void append_utf8(std::string& s, std::uint32_t c) {
  auto put = [&](std::uint32_t b) { s += static_cast<char>(b); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | c >> 6), put(0x80 | (c & 63));
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12), put(0x80 | (c >> 6 & 63)), put(0x80 | (c & 63));
  } else {
    put(0xF0 | c >> 18), put(0x80 | (c >> 12 & 63)), put(0x80 | (c >> 6 & 63));
    put(0x80 | (c & 63));
  }
}

constexpr int kMostNested = 32;

}  // namespace

void JsonReader::fail(std::string_view problem) const {
  throw ValueError("json", std::string(problem) + " at byte " + std::to_string(at_));
}

void JsonReader::skip_blanks() {
  while (at_ < text_.size() && std::string_view(" \t\n\r").find(text_[at_]) != text_.npos) ++at_;
}

bool JsonReader::accept(char c) {
  skip_blanks();
  if (peek() != c || at_ == text_.size()) return false;
  ++at_;
  return true;
}

void JsonReader::expect(char c) {
  if (!accept(c)) fail(std::string("expected '") + c + "'");
}

void JsonReader::end() {
  skip_blanks();
  if (at_ != text_.size()) fail("more text after the value");
}

JsonReader::Kind JsonReader::kind() {
  if (depth_ > kMostNested) fail("nested too deeply");
  skip_blanks();
  if (at_ == text_.size()) fail("the text ends early");
  switch (peek()) {
    case '{':
      return Object;
    case '[':
      return Array;
    case '"':
      return String;
    case 't':
    case 'f':
      return Boolean;
    case 'n':
      return Null;
    default:
      return Number;
  }
}

void JsonReader::skip() {
  switch (kind()) {
    case Object:
      return object([this](const std::string&) { skip(); });
    case Array:
      return array([this] { skip(); });
    case String:
      string();
      return;
    case Number:
      integer();
      return;
    case Boolean:
    case Null:
      break;
  }
  for (std::string_view word : {"true", "false", "null"})
    if (text_.substr(at_, word.size()) == word) {
      at_ += word.size();
      return;
    }
  fail("not a value");
}

void JsonReader::object(FunctionRef<void(const std::string&)> member) {
  std::set<std::string> names;  // not hashed: a file could choose names of one hash
  expect('{');
  if (accept('}')) return;
  ++depth_;
  do {
    skip_blanks();
    if (peek() != '"') fail("expected a name");
    std::string name = string();
    if (!names_known_ && !names.insert(name).second)
      fail("the name " + json_quoted(name) + " comes twice");
    expect(':');
    member(name);
  } while (accept(','));
  expect('}');
  --depth_;
}

void JsonReader::array(FunctionRef<void()> item) {
  expect('[');
  if (accept(']')) return;
  ++depth_;
  do {
    item();
  } while (accept(','));
  expect(']');
  --depth_;
}

void JsonReader::digits() {
  std::size_t first = at_;
  while (peek() >= '0' && peek() <= '9') ++at_;
  if (at_ == first) fail("not a value");
}

std::optional<std::int64_t> JsonReader::integer() {
  skip_blanks();
  std::size_t start = at_;
  if (peek() == '-') ++at_;
  bool zero = peek() == '0';
  std::size_t first = at_;
  digits();
  if (zero && at_ - first > 1) fail("a number with a leading 0");
  bool whole = true;
  if (peek() == '.') whole = false, ++at_, digits();
  if (peek() == 'e' || peek() == 'E') {
    whole = false;
    ++at_;
    if (peek() == '+' || peek() == '-') ++at_;
    digits();
  }
  std::int64_t value = 0;
  auto [end, error] = std::from_chars(text_.data() + start, text_.data() + at_, value);
  if (!whole || error != std::errc{}) return {};
  return value;
}

std::uint32_t JsonReader::hex4() {
  std::uint32_t code = 0;
  std::string_view four = text_.substr(at_, 4);
  auto [end, error] = std::from_chars(four.data(), four.data() + four.size(), code, 16);
  if (error != std::errc{} || end != four.data() + 4 || four.size() != 4) fail("a bad \\u escape");
  at_ += 4;
  return code;
}

std::string JsonReader::string() {
  expect('"');
  std::size_t start = at_ - 1;
  std::string s;
  for (;;) {
    if (at_ == text_.size()) fail("a string without end");
    char c = text_[at_++];
    if (c == '"') break;
    if (static_cast<unsigned char>(c) < 0x20) fail("a control character in a string");
    if (c != '\\') {
      s += c;
      continue;
    }
    char e = peek();
    ++at_;
    std::size_t i = std::string_view("\"\\/bfnrt").find(e);
    if (i != std::string_view::npos) {
      s += "\"\\/\b\f\n\r\t"[i];
    } else if (e == 'u') {
      std::uint32_t code = hex4();
      if (code >= 0xD800 && code < 0xDC00 && text_.substr(at_, 2) == "\\u") {
        at_ += 2;
        std::uint32_t low = hex4();
        if (low < 0xDC00 || low > 0xDFFF) fail("half a surrogate pair");
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
      }
      if (code >= 0xD800 && code < 0xE000) fail("half a surrogate pair");
      append_utf8(s, code);
    } else {
      fail("a bad escape");
    }
  }
  if (!is_utf8(s)) {
    at_ = start;
    fail("a string that is not UTF-8");
  }
  return s;
}

bool is_utf8(std::string_view s) {
  for (std::size_t i = 0; i < s.size();) {
    auto byte = [&](std::size_t k) {
      return static_cast<std::uint32_t>(static_cast<unsigned char>(s[k]));
    };
    std::uint32_t c = byte(i++);
    if (c < 0x80) continue;
    int more = c >= 0xF0 && c < 0xF5   ? 3
               : c >= 0xE0 && c < 0xF0 ? 2
               : c >= 0xC2 && c < 0xE0 ? 1
                                       : 0;
    if (more == 0) return false;
    c &= 0x3Fu >> more;
    for (int k = 0; k < more; ++k, ++i) {
      if (i == s.size() || (byte(i) & 0xC0) != 0x80) return false;
      c = c << 6 | (byte(i) & 0x3F);
    }
    bool overlong = (more == 2 && c < 0x800) || (more == 3 && c < 0x10000);
    if (overlong || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) return false;
  }
  return true;
}

std::string json_quoted(std::string_view text) {
  if (!is_utf8(text)) throw ValueError("json", "a string that is not UTF-8");
  std::string s(1, '"');
  for (char c : text) {
    std::size_t i = std::string_view("\"\\\b\f\n\r\t").find(c);
    if (i != std::string_view::npos) {
      s += '\\';
      s += "\"\\bfnrt"[i];
    } else if (static_cast<unsigned char>(c) < 0x20) {
      const char* hex = "0123456789abcdef";
      s += "\\u00";
      s += hex[c >> 4];
      s += hex[c & 15];
    } else {
      s += c;
    }
  }
  return s + '"';
}

}  // namespace glim

#include "models/tokenizers/utf8.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <utf8proc.h>

#include "tensor/error.hpp"

namespace glim {
namespace {

// utf8proc takes the bytes of a text as unsigned ones.
const utf8proc_uint8_t* bytes_of(std::string_view s) {
  return reinterpret_cast<const utf8proc_uint8_t*>(s.data());
}

// Length of the valid sequence at the front of `s`, which is not empty, and its code point; or 0.
std::size_t read_sequence(std::string_view s, utf8proc_int32_t& c) {
  auto length = utf8proc_iterate(bytes_of(s), static_cast<utf8proc_ssize_t>(s.size()), &c);
  return length > 0 ? static_cast<std::size_t>(length) : 0;
}

}  // namespace

std::optional<std::size_t> first_invalid_utf8(std::string_view text) {
  utf8proc_int32_t c = 0;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = read_sequence(text.substr(i), c);
    if (length == 0) return i;
    i += length;
  }
  return std::nullopt;
}

std::string describe_invalid_utf8(std::string_view text, std::size_t offset) {
  return fmt::format("invalid UTF-8 at byte {} (0x{:02x})", offset + 1,
                     static_cast<unsigned>(static_cast<unsigned char>(text[offset])));
}

std::string with_invalid_utf8_replaced(std::string_view text) {
  using Json = nlohmann::json;
  return Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace));
}

void require_utf8(std::string_view text, std::string_view op) {
  if (auto bad = first_invalid_utf8(text)) throw ValueError(op, describe_invalid_utf8(text, *bad));
}

CodePoint code_point_at(std::string_view text, std::size_t offset) {
  utf8proc_int32_t c = 0;
  const std::size_t length = read_sequence(text.substr(offset), c);
  if (length == 0) return {0xFFFD, offset, 1};
  return {static_cast<std::uint32_t>(c), offset, length};
}

std::vector<CodePoint> code_points(std::string_view text) {
  std::vector<CodePoint> out;
  for (std::size_t i = 0; i < text.size(); i += out.back().length) {
    out.push_back(code_point_at(text, i));
  }
  return out;
}

void append_utf8(std::string& out, std::uint32_t c) {
  utf8proc_uint8_t bytes[4];
  auto length = utf8proc_encode_char(static_cast<utf8proc_int32_t>(c), bytes);
  out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(length));
}

bool is_space(std::uint32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

std::vector<std::string_view> split_spaces(std::string_view text) {
  std::vector<std::string_view> words;
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    if (is_space(c.value)) {
      if (i > start) words.push_back(text.substr(start, i - start));
      start = i + c.length;
    }
    i += c.length;
  }
  if (start < text.size()) words.push_back(text.substr(start));
  return words;
}

std::string normalize_spaces(std::string_view text) {
  std::string out;
  for (std::string_view word : split_spaces(text)) {
    if (!out.empty()) out += ' ';
    out += word;
  }
  return out;
}

int display_width(std::uint32_t c) {
  if (c >= 0x20 && c < 0x7F) return 1;
  // Vowels and final consonants of Korean are within the block of their syllable's first letter.
  if (c >= 0x1160 && c <= 0x11FF) return 0;
  const auto point = static_cast<utf8proc_int32_t>(c);
  // Marks that take a column of their own, as in the scripts of India.
  if (utf8proc_category(point) == UTF8PROC_CATEGORY_MC) return 1;
  return utf8proc_charwidth(point);
}

std::size_t display_width(std::string_view text) {
  std::size_t columns = 0;
  for (const CodePoint& c : code_points(text)) columns += display_width(c.value);
  return columns;
}

std::string fit_columns(std::string_view text, std::size_t columns) {
  std::size_t width = display_width(text);
  if (width <= columns) return std::string(text) + std::string(columns - width, ' ');
  if (columns == 0) return {};
  std::string out;
  width = 0;
  for (const CodePoint& c : code_points(text)) {
    const auto w = static_cast<std::size_t>(display_width(c.value));
    if (width + w > columns - 1) break;
    out += text.substr(c.offset, c.length);
    width += w;
  }
  return out + "…" + std::string(columns - 1 - width, ' ');
}

std::string wrapped(std::string_view text, std::size_t indent) {
  constexpr std::size_t kColumns = 96;
  std::string out, line;
  for (std::string_view word : split_spaces(text)) {
    if (!line.empty() && indent + display_width(line) + 1 + display_width(word) > kColumns) {
      out += line + "\n" + std::string(indent, ' ');
      line.clear();
    }
    line.append(line.empty() ? "" : " ").append(word);
  }
  return out + line;
}

}  // namespace glim

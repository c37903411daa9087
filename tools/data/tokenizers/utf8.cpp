#include "tools/data/tokenizers/utf8.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <span>

#include "tensor/error.hpp"
#include "tools/data/tokenizers/unicode_tables.hpp"

namespace glim {
namespace {

// Length of the valid sequence at the front of `s`, or 0. The second byte's range depends on the
// first (Unicode Standard, table 3-7): that is what excludes overlong forms and surrogates.
std::size_t sequence_length(std::string_view s) {
  auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  std::size_t length = lead >= 0xC2 && lead <= 0xDF   ? 2
                       : lead >= 0xE0 && lead <= 0xEF ? 3
                       : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                      : 0;
  if (length == 0 || s.size() < length) return 0;
  unsigned low = 0x80, high = 0xBF;
  if (lead == 0xE0) low = 0xA0;
  if (lead == 0xED) high = 0x9F;
  if (lead == 0xF0) low = 0x90;
  if (lead == 0xF4) high = 0x8F;
  if (byte(1) < low || byte(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  return length;
}

bool contains(std::span<const CodePointRange> table, std::uint32_t c) {
  auto after =
      std::upper_bound(table.begin(), table.end(), c,
                       [](std::uint32_t x, const CodePointRange& r) { return x < r.first; });
  return after != table.begin() && c <= std::prev(after)->last;
}

}  // namespace

std::optional<std::size_t> first_invalid_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = sequence_length(text.substr(i));
    if (length == 0) return i;
    i += length;
  }
  return std::nullopt;
}

std::string describe_invalid_utf8(std::string_view text, std::size_t offset) {
  return fmt::format("invalid UTF-8 at byte {} (0x{:02x})", offset + 1,
                     static_cast<unsigned>(static_cast<unsigned char>(text[offset])));
}

void require_utf8(std::string_view text, std::string_view op) {
  if (auto bad = first_invalid_utf8(text)) throw ValueError(op, describe_invalid_utf8(text, *bad));
}

CodePoint code_point_at(std::string_view text, std::size_t offset) {
  const std::string_view s = text.substr(offset);
  const std::size_t length = sequence_length(s);
  if (length == 0) return {0xFFFD, offset, 1};
  static constexpr unsigned kLeadMask[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
  std::uint32_t value = static_cast<unsigned char>(s[0]) & kLeadMask[length];
  for (std::size_t i = 1; i < length; ++i) {
    value = value << 6 | (static_cast<unsigned char>(s[i]) & 0x3Fu);
  }
  return {value, offset, length};
}

std::vector<CodePoint> code_points(std::string_view text) {
  std::vector<CodePoint> out;
  for (std::size_t i = 0; i < text.size(); i += out.back().length) {
    out.push_back(code_point_at(text, i));
  }
  return out;
}

void append_utf8(std::string& out, std::uint32_t c) {
  auto tail = [&](int shift) { out += static_cast<char>(0x80 | (c >> shift & 0x3F)); };
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | c >> 6);
    tail(0);
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | c >> 12);
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xF0 | c >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
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
  if (contains(zero_width_table(), c)) return 0;
  return contains(wide_table(), c) ? 2 : 1;
}

std::size_t display_width(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    columns += static_cast<std::size_t>(display_width(c.value));
    i += c.length;
  }
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

}  // namespace glim

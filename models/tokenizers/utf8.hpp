// UTF-8 for the other text tools: check, walk, split at white space, measure columns.
//
// Valid is what RFC 3629 calls valid: shortest forms only, no surrogates, nothing above U+10FFFF.
// Functions other than first_invalid_utf8 and require_utf8 expect valid text. They read an invalid byte as
// U+FFFD of length one and go on, so they never leave the string.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace glim {

// The offset of the first byte that does not belong to a valid sequence, or nothing.
std::optional<std::size_t> first_invalid_utf8(std::string_view text);

// Throws ValueError(op) that names the offset and the byte when `text` is not valid UTF-8.
void require_utf8(std::string_view text, std::string_view op);

// Says what is wrong at `offset`, for messages: "invalid UTF-8 at byte 5 (0xff)". Counts from 1.
std::string describe_invalid_utf8(std::string_view text, std::size_t offset);

// `text` with U+FFFD in place of each sequence that is not UTF-8, as long as it could have been one (the practice of
// the Unicode Standard, section 3.9: Python's errors="replace").
std::string with_invalid_utf8_replaced(std::string_view text);

struct CodePoint {
  std::uint32_t value;
  std::size_t offset, length;  // in bytes
};

// The code point that starts at `offset` < text.size().
CodePoint code_point_at(std::string_view text, std::size_t offset);
std::vector<CodePoint> code_points(std::string_view text);
void append_utf8(std::string& out, std::uint32_t code_point);

// White space as Python's str.split sees it: Unicode White_Space and U+001C..U+001F. sacreBLEU
// splits in this way, and all tokenisers of Glim do the same.
bool is_space(std::uint32_t code_point);
std::vector<std::string_view> split_spaces(std::string_view text);
// The words of `text` with one U+0020 between them, none at the ends.
std::string normalize_spaces(std::string_view text);

// Columns on a terminal: 2 for East Asian wide and full-width characters and emoji, 0 for combining
// and invisible ones, 1 for the others.
int display_width(std::uint32_t code_point);
std::size_t display_width(std::string_view text);
// `text` followed by spaces up to `columns`; cut with "…" when it is wider.
std::string fit_columns(std::string_view text, std::size_t columns);
// The words of a paragraph within 96 columns, each line but the first after `indent` blanks.
std::string wrapped(std::string_view text, std::size_t indent);

}  // namespace glim

// In place of utf8proc: its names, answered by the tables of the browser (tools/live/unicode.cpp).
#pragma once

#include <cstddef>
#include <cstdint>

using utf8proc_uint8_t = std::uint8_t;
using utf8proc_int32_t = std::int32_t;
using utf8proc_ssize_t = std::ptrdiff_t;

enum utf8proc_category_t {
  UTF8PROC_CATEGORY_CN,
  UTF8PROC_CATEGORY_LU,
  UTF8PROC_CATEGORY_LL,
  UTF8PROC_CATEGORY_LT,
  UTF8PROC_CATEGORY_LM,
  UTF8PROC_CATEGORY_MN,
  UTF8PROC_CATEGORY_MC,
  UTF8PROC_CATEGORY_ME,
  UTF8PROC_CATEGORY_CF,
  UTF8PROC_CATEGORY_SK,
  UTF8PROC_CATEGORY_LO,
  UTF8PROC_CATEGORY_ND,
  UTF8PROC_CATEGORY_NL,
  UTF8PROC_CATEGORY_NO,
};

// Length of the valid sequence at the front of n bytes, and its code point; below 0: there is none.
utf8proc_ssize_t utf8proc_iterate(const utf8proc_uint8_t* bytes, utf8proc_ssize_t n,
                                  utf8proc_int32_t* c);
utf8proc_ssize_t utf8proc_encode_char(utf8proc_int32_t c, utf8proc_uint8_t* bytes);
utf8proc_category_t utf8proc_category(utf8proc_int32_t c);
int utf8proc_charwidth(utf8proc_int32_t c);
utf8proc_int32_t utf8proc_tolower(utf8proc_int32_t c);
utf8proc_int32_t utf8proc_toupper(utf8proc_int32_t c);

#include <emscripten.h>

#include "tools/live/include/utf8proc.h"

// The category, of those asked for (utf8proc.h has the order). Emscripten takes no backslash here.
// clang-format off
EM_JS(int, page_category, (int c), {
  const text = String.fromCodePoint(c), begin = "^" + String.fromCharCode(92) + "p{";
  const names = [ "Lu", "Ll", "Lt", "Lm", "Mn", "Mc", "Me", "Cf", "Sk", "Lo", "Nd", "Nl", "No" ];
  return names.findIndex(function(name) { return new RegExp(begin + name + "}$", "u").test(text); }) + 1;
});
// clang-format on
EM_JS(int, page_lower, (int c), {
  const text = String.fromCodePoint(c).toLowerCase();
  return [... text].length == 1 ? text.codePointAt(0) : c;
});
EM_JS(int, page_upper, (int c), {
  const text = String.fromCodePoint(c).toUpperCase();
  return [... text].length == 1 ? text.codePointAt(0) : c;
});

utf8proc_ssize_t utf8proc_iterate(const utf8proc_uint8_t* b, utf8proc_ssize_t n,
                                  utf8proc_int32_t* c) {
  if (n < 1) return -1;
  const int length = b[0] < 0x80                   ? 1
                     : b[0] >= 0xC2 && b[0] < 0xE0 ? 2
                     : (b[0] & 0xF0) == 0xE0       ? 3
                     : b[0] >= 0xF0 && b[0] < 0xF5 ? 4
                                                   : 0;
  if (length == 0 || length > n) return -1;
  std::int32_t value = length == 1 ? b[0] : b[0] & (0x7F >> length);
  for (int i = 1; i < length; ++i) {
    if ((b[i] & 0xC0) != 0x80) return -1;
    value = value << 6 | (b[i] & 0x3F);
  }
  const bool surrogate = value >= 0xD800 && value < 0xE000;
  if (surrogate || (length == 3 && value < 0x800) ||
      (length == 4 && (value < 0x10000 || value > 0x10FFFF)))
    return -1;
  *c = value;
  return length;
}

utf8proc_ssize_t utf8proc_encode_char(utf8proc_int32_t c, utf8proc_uint8_t* bytes) {
  const auto byte = [](std::int32_t b) { return static_cast<utf8proc_uint8_t>(b); };
  if (c < 0x80) return bytes[0] = byte(c), 1;
  const int length = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  for (int i = length - 1; i > 0; --i, c >>= 6) bytes[i] = byte(0x80 | (c & 0x3F));
  bytes[0] = byte((0xF00 >> length & 0xFF) | c);
  return length;
}

utf8proc_category_t utf8proc_category(utf8proc_int32_t c) {
  return static_cast<utf8proc_category_t>(page_category(c));
}
utf8proc_int32_t utf8proc_tolower(utf8proc_int32_t c) { return page_lower(c); }
utf8proc_int32_t utf8proc_toupper(utf8proc_int32_t c) { return page_upper(c); }

// Columns of a terminal: a page lays out its text itself.
int utf8proc_charwidth(utf8proc_int32_t) { return 1; }

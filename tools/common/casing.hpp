// Lower case as Python's str.lower gives it, because sacreBLEU lower-cases in this way.
//
// Covered: every simple mapping (Latin, Greek, Cyrillic, Armenian, Georgian, …; ß stays ß and ẞ becomes
// it), the one special mapping (U+0130 İ becomes i and U+0307), and the Greek final sigma: Σ becomes ς
// when, characters that casing ignores aside, a cased letter is before it and none after (Unicode
// Standard, table 3-17; ª, º and letters in squares do not count as cased here, as they do in Python).
// Locale-dependent casing (Turkish) is not done; Python does not do it either.
//
// The system's utf8proc decides what is a letter: Unicode 15 in Debian 12, 15.1 in Debian 13.
#pragma once

#include <string>
#include <string_view>

namespace glim {

// Expects valid UTF-8.
std::string lower_case(std::string_view text);

}  // namespace glim

#!/usr/bin/env python3
"""Writes unicode_tables.cpp from Python's own Unicode data.

    python3 tools/data/tokenizers/make_unicode_tables.py > tools/data/tokenizers/unicode_tables.cpp

sacreBLEU lower-cases with str.lower, so Python is the authority for what a lower-case letter is.
The properties behind the final sigma are read off str.lower itself: CPython turns a capital sigma
into a final one if, case-ignorable characters aside, a cased one stands before it and none after.
"""
import textwrap
import unicodedata

ALL = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]


def ranges(points):
    out = []
    for c in points:
        if out and out[-1][1] == c - 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


def lower_runs():
    """Maximal runs first..last in steps of 1 or 2 in which lower(c) - c is one constant."""
    pairs = [(c, ord(chr(c).lower()) - c) for c in ALL if len(chr(c).lower()) == 1
             and chr(c).lower() != chr(c) and c != 0x3A3]
    out, i = [], 0
    while i < len(pairs):
        first, delta = pairs[i]
        best = (i, 1)
        for step in (1, 2):
            j = i
            while j + 1 < len(pairs) and pairs[j + 1] == (pairs[j][0] + step, delta):
                j += 1
            if j > best[0]:
                best = (j, step)
        out.append((first, pairs[best[0]][0], best[1], delta))
        i = best[0] + 1
    return out


def is_cased(c):
    return (chr(c) + "\u03a3").lower()[-1] == "\u03c2"


def is_ignorable(c):
    return not is_cased(c) and ("A" + chr(c) + "\u03a3").lower()[-1] == "\u03c2"


def width_zero(c):
    if c == 0xAD:
        return False
    return unicodedata.category(chr(c)) in ("Mn", "Me", "Cf", "Cc") or 0x1160 <= c <= 0x11FF


def rows(items):
    text = ["{" + ",".join(hex(x) if x >= 0 and i < 2 else str(x) for i, x in enumerate(r)) + "},"
            for r in items]
    return textwrap.fill(" ".join(text), 100, initial_indent="    ", subsequent_indent="    ")


print(f"// Written by make_unicode_tables.py from Unicode {unicodedata.unidata_version}; do not edit.")
print('#include "tools/data/tokenizers/unicode_tables.hpp"\n\nnamespace glim {\nnamespace {\n')
print("// clang-format off")
tables = [("CodePointRun", "kLower", lower_runs()),
          ("CodePointRange", "kCased", ranges(filter(is_cased, ALL))),
          ("CodePointRange", "kCaseIgnorable", ranges(filter(is_ignorable, ALL))),
          ("CodePointRange", "kWide",
           ranges(c for c in ALL if unicodedata.east_asian_width(chr(c)) in "WF")),
          ("CodePointRange", "kZeroWidth", ranges(filter(width_zero, ALL)))]
for kind, name, items in tables:
    print(f"constexpr {kind} {name}[] = {{\n{rows(items)}\n}};\n")
print("// clang-format on\n\n}  // namespace\n")
for kind, function, name in [("CodePointRun", "lower_table", "kLower"),
                             ("CodePointRange", "cased_table", "kCased"),
                             ("CodePointRange", "case_ignorable_table", "kCaseIgnorable"),
                             ("CodePointRange", "wide_table", "kWide"),
                             ("CodePointRange", "zero_width_table", "kZeroWidth")]:
    print(f"std::span<const {kind}> {function}() {{ return {name}; }}")
print("\n}  // namespace glim")

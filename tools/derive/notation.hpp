// The spellings are data: that of an op in each language (notation.txt), that of a sheet in each format
// (formats.txt), and the parts of a program and a document that are always the same.
#pragma once

#include <string>
#include <string_view>

namespace glim::derive {

enum Language { kText, kNumpy, kCpp };
enum Format { kLatex, kHtml, kMarkdown };

// "LEVEL|TEMPLATE"; empty for an op without primitives. A function of each element without a line in notation.txt is a
// call of its name; in NumPy only if program.py defines the name.
std::string_view notation(std::string_view op, Language language);
// The spelling in a line of formats.txt; empty for an unknown key.
std::string_view spelling(std::string_view key, Format format);
// A part of program.py, program.cpp.in or heads.txt.
std::string text_part(std::string_view name);

}  // namespace glim::derive

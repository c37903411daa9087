// A user's text in another language: one function for each language in which Glim writes files.
//
// The text may be any bytes. What comes out is always UTF-8 and stays text: it ends no string, comment or element, and
// runs nothing. Where the language has an escape for a character, a reader gets the same text back.
#pragma once

#include <string>
#include <string_view>

#include "tensor/system/child.hpp"  // shell_word

namespace glim {

// As one line in which every character is seen: \xNN stands for each byte of a control character, of one that ends a
// line or turns the direction of writing, and for bytes that are not UTF-8. Characters of `kept` stay.
std::string visible(std::string_view text, std::string_view kept = {});

// Between double quotes of Python, one or three. Bytes that are not UTF-8 become what os.fsdecode makes of them.
std::string in_python(std::string_view text);
// Between double quotes of C++.
std::string in_cpp(std::string_view text);
// Behind //. A \ at the end is written \x5c, because it would join the next line.
std::string in_cpp_comment(std::string_view text);
// In XML and HTML: in an element, or in an attribute between quotes. U+FFFD stands for characters that XML forbids, and
// for bytes that are not UTF-8.
std::string in_xml(std::string_view text);
// As JSON. U+FFFD stands for bytes that are not UTF-8.
template <class Json>
std::string in_json(const Json& value, int indent = -1) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}
// JSON within an HTML <script> element, which only "<" could end.
std::string in_script(std::string_view json);
// A JSON value as one of TOML, whose texts may not have the character DEL.
std::string in_toml(std::string_view json);
// A field of CSV (RFC 4180), in quotation marks.
std::string in_csv(std::string_view text);
// In a paragraph, a heading or a cell of a table of Markdown, as one line.
std::string in_markdown(std::string_view text);
// In a paragraph of LaTeX, as one line. Letters beyond ASCII stay as they are.
std::string in_latex(std::string_view text);
// As a person types it in Bash. Characters that a terminal would obey are written as in $'a\x0d\x0ab'.
std::string typed_word(std::string_view text);
// "--out 'a b'": an option of Glim as a person types it.
std::string typed_option(std::string_view name, std::string_view value);

}  // namespace glim

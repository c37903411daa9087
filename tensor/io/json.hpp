// A reader of JSON (RFC 8259), strict and small, for the headers of safetensors files: the core
// library needs no more of JSON than this, and takes no dependency for it.
//
//   JsonReader json(text);                            // {"a": [1, 2], "b": "text"}
//   json.object([&](const std::string& name) {
//     if (name == "a")
//       json.array([&] { sum += json.integer().value_or(0); });
//     else
//       json.skip();
//   });
//   json.end();
//
// Values are read in the order in which they stand, and none is kept: beside the text there are only
// the names of the objects that it is in, of which none may come twice. A tree would take up to a
// hundred times the memory of its text. A copy of a reader goes on from the same place.
//
// An integer of 64 bits is read as a number; any other number is checked and skipped. Strings must be
// UTF-8; \u escapes are decoded.
//
// Errors: ValueError "json: PROBLEM at byte N", for a nesting deeper than 32 as well.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tensor/function_ref.hpp"

namespace glim {

class JsonReader {
 public:
  // names_known: an earlier reading of the text has found that no name comes twice.
  explicit JsonReader(std::string_view text, bool names_known = false)
      : text_(text), names_known_(names_known) {}

  enum Kind { Null, Boolean, Number, String, Array, Object };
  Kind kind();  // of the value that comes next
  // Each reads the next value, which must be of its kind. `member` and `item` read, or skip, a value
  // each time.
  void object(FunctionRef<void(const std::string& name)> member);
  void array(FunctionRef<void()> item);
  std::string string();
  std::optional<std::int64_t> integer();  // of a Number; none for one that is no int64
  void skip();                            // a value of any kind
  void end();                             // nothing but blanks is left

 private:
  [[noreturn]] void fail(std::string_view problem) const;
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_blanks();
  bool accept(char c);
  void expect(char c);
  void digits();
  std::uint32_t hex4();

  std::string_view text_;
  bool names_known_;
  std::size_t at_ = 0;
  int depth_ = 0;  // of the objects and arrays that it is in
};

std::string json_quoted(std::string_view text);  // "text" with escapes; ValueError unless UTF-8
bool is_utf8(std::string_view text);             // RFC 3629: no surrogates, no overlong forms

}  // namespace glim

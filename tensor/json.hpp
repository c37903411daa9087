// A reader of JSON (RFC 8259), strict and small, for the headers of safetensors files: the core
// library needs no more of JSON than this, and takes no dependency for it.
//
// Numbers are integers of 64 bits; other numbers keep their text only. Members keep their order,
// and a name may not come twice in an object. Strings are checked UTF-8; \u escapes are decoded.
//
// Errors: ValueError "json: PROBLEM at byte N", for a nesting deeper than 32 as well.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace glim {

struct Json {
  enum Kind { Null, Boolean, Integer, Number, String, Array, Object };
  Kind kind = Null;
  bool boolean = false;
  std::int64_t integer = 0;
  std::string text;  // String, and a Number as written
  std::vector<Json> items;
  struct Member;
  std::vector<Member> members;  // of an Object

  const Json* find(std::string_view name) const;  // of an Object; null when absent
};
struct Json::Member {
  std::string name;
  Json value;
};

Json parse_json(std::string_view text);

std::string json_quoted(std::string_view text);  // "text" with escapes; ValueError unless UTF-8
bool is_utf8(std::string_view text);             // RFC 3629: no surrogates, no overlong forms

}  // namespace glim

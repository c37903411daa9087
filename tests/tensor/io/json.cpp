#include "tensor/io/json.hpp"

#include "tests/catch.hpp"
#include "tests/tensor/common.hpp"

namespace test_json {

using namespace glim;

namespace {

// Reads the whole text; its value where that is a string.
std::string parse(const std::string& text) {
  JsonReader json(text);
  std::string value;
  if (json.kind() == JsonReader::String)
    value = json.string();
  else
    json.skip();
  json.end();
  return value;
}

}  // namespace

TEST_CASE("JSON values are read", "[json]") {
  JsonReader v(R"( {"a": [1, -20, 9223372036854775807], "b": {"": null}, "c": [true,false],
                    "d": 1.5e3, "e": 9223372036854775808, "f": [], "g": {}, "h": 0, "i": "x"} )");
  REQUIRE(v.kind() == JsonReader::Object);
  std::string names;
  std::vector<Index> a;
  v.object([&](const std::string& name) {
    names += name;
    if (name == "a") {
      v.array([&] { a.push_back(v.integer().value()); });
    } else if (name == "b") {
      v.object([&](const std::string& inner) {
        CHECK(inner == "");
        CHECK(v.kind() == JsonReader::Null);
        v.skip();
      });
    } else if (name == "c") {
      JsonReader again = v;
      again.array([&] {
        CHECK(again.kind() == JsonReader::Boolean);
        again.skip();
      });
      CHECK(v.kind() == JsonReader::Array);  // a copy has been read, not v
      v.skip();
    } else if (name == "d" || name == "e") {
      CHECK(v.kind() == JsonReader::Number);
      CHECK_FALSE(v.integer());  // e is beyond int64
    } else if (name == "f") {
      v.array([] { FAIL("there is none"); });
    } else if (name == "g") {
      v.object([](const std::string&) { FAIL("there is none"); });
    } else if (name == "h") {
      CHECK(v.integer() == 0);
    } else {
      CHECK(v.string() == "x");
    }
  });
  v.end();
  CHECK(names == "abcdefghi");
  CHECK(a == std::vector<Index>{1, -20, INT64_MAX});
}

TEST_CASE("JSON of another kind than asked for is an error", "[json]") {
  CHECK(error_of([] { JsonReader("[]").string(); }) == "json: expected '\"' at byte 0");
  CHECK(error_of([] { JsonReader(" \"\"").integer(); }) == "json: not a value at byte 1");
  CHECK(error_of([] { JsonReader("1").array([] {}); }) == "json: expected '[' at byte 0");
  CHECK(error_of([] { JsonReader("[]").object([](auto&) {}); }) == "json: expected '{' at byte 0");
  CHECK(error_of([] { JsonReader("").integer(); }) == "json: not a value at byte 0");
}

TEST_CASE("JSON strings are decoded and checked", "[json]") {
  CHECK(parse(R"("\"\\\/\b\f\n\r\t\u00e9\u732b\ud83d\ude00")") == "\"\\/\b\f\n\r\té猫😀");
  CHECK(parse("\"名前\"") == "名前");
  for (std::string bad :
       {"\"\\ud83d\"", "\"\\ude00\"", "\"\\ud83d\\u0041\"", "\"\\u12g4\"", "\"\\u12\"", "\"\\x\"",
        "\"a\nb\"", "\"\xff\"", "\"\xc0\xaf\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"",
        "\"\xe7\x8c\"", "\"open", "\"\\", "\"\\u"})
    CHECK_THROWS_AS(parse(bad), ValueError);
}

TEST_CASE("JSON errors say what and where", "[json]") {
  auto error = [](const std::string& text) { return error_of([&] { parse(text); }); };
  CHECK(error("") == "json: the text ends early at byte 0");
  CHECK(error("{\"a\":1,\"a\":2}") == "json: the name \"a\" comes twice at byte 10");
  CHECK(error("[1,]") == "json: not a value at byte 3");
  CHECK(error("[1 2]") == "json: expected ']' at byte 3");
  CHECK(error("{\"a\" 1}") == "json: expected ':' at byte 5");
  CHECK(error("{a:1}") == "json: expected a name at byte 1");
  CHECK(error("{} {}") == "json: more text after the value at byte 3");
  CHECK(error("01") == "json: a number with a leading 0 at byte 2");
  CHECK(error(std::string(100'000, '[')) == "json: nested too deeply at byte 33");
  for (std::string bad : {"-", "1.", ".5", "1e", "+1", "nul", "NaN", "{", "[", "{\"a\"",
                          "{\"a\":", "{\"a\":1", "{\"a\":1,", "'a'"})
    CHECK(error(bad) != "");
  CHECK(error(std::string("\0", 1)) != "");
}

TEST_CASE("quoting and reading are inverse", "[json]") {
  std::string all;
  for (char c = 1; c < 127; ++c) all += c;
  all += "é猫😀";
  all += '\0';
  CHECK(parse(json_quoted(all)) == all);
  CHECK_THROWS_AS(json_quoted("\xff"), ValueError);
}

}  // namespace test_json

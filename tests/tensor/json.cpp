#include "tensor/json.hpp"

#include "tests/catch.hpp"
#include "tests/tensor/common.hpp"

namespace test_json {

using namespace glim;

TEST_CASE("JSON values are read", "[json]") {
  Json v = parse_json(R"( {"a": [1, -20, 9223372036854775807], "b": {"": null}, "c": [true,false],
                           "d": 1.5e3, "e": 9223372036854775808, "f": [], "g": {}, "h": 0} )");
  REQUIRE(v.kind == Json::Object);
  CHECK(v.members.size() == 8);
  CHECK(v.find("a")->items[1].integer == -20);
  CHECK(v.find("a")->items[2].integer == INT64_MAX);
  CHECK(v.find("b")->find("")->kind == Json::Null);
  CHECK(v.find("c")->items[0].boolean);
  CHECK_FALSE(v.find("c")->items[1].boolean);
  CHECK(v.find("d")->kind == Json::Number);
  CHECK(v.find("d")->text == "1.5e3");
  CHECK(v.find("e")->kind == Json::Number);  // beyond int64
  CHECK(v.find("f")->items.empty());
  CHECK(v.find("h")->integer == 0);
  CHECK(v.find("z") == nullptr);
}

TEST_CASE("JSON strings are decoded and checked", "[json]") {
  CHECK(parse_json(R"("\"\\\/\b\f\n\r\t\u00e9\u732b\ud83d\ude00")").text == "\"\\/\b\f\n\r\té猫😀");
  CHECK(parse_json("\"名前\"").text == "名前");
  for (std::string bad :
       {"\"\\ud83d\"", "\"\\ude00\"", "\"\\ud83d\\u0041\"", "\"\\u12g4\"", "\"\\u12\"", "\"\\x\"",
        "\"a\nb\"", "\"\xff\"", "\"\xc0\xaf\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"",
        "\"\xe7\x8c\"", "\"open", "\"\\", "\"\\u"})
    CHECK_THROWS_AS(parse_json(bad), ValueError);
}

TEST_CASE("JSON errors say what and where", "[json]") {
  auto error = [](const std::string& text) { return error_of([&] { parse_json(text); }); };
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
  CHECK(parse_json(json_quoted(all)).text == all);
  CHECK_THROWS_AS(json_quoted("\xff"), ValueError);
}

}  // namespace test_json

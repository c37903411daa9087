#include "models/tokenizers/utf8.hpp"

#include <string>

#include "tensor/error.hpp"
#include "tests/catch.hpp"
#include "tests/tools/temporary_file.hpp"
#include "tools/common/casing.hpp"
#include "tools/data/corpus/random.hpp"

namespace test_utf8 {

using namespace glim;

TEST_CASE("valid UTF-8 is what RFC 3629 says", "[utf8]") {
  CHECK_FALSE(first_invalid_utf8(""));
  CHECK_FALSE(
      first_invalid_utf8("a\xC2\x80\xDF\xBF\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF"
                         "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"));
  struct Bad {
    std::string text;
    std::size_t offset;
  };
  const Bad bad[] = {{"ab\xFF", 2},
                     {"\x80", 0},
                     {"a\xC0\x80", 1},
                     {"\xC1\xBF", 0},
                     {"\xC3", 0},
                     {"x\xE4\xBD", 1},
                     {"\xE0\x9F\xBF", 0},
                     {"\xED\xA0\x80", 0},
                     {"\xF0\x8F\xBF\xBF", 0},
                     {"\xF4\x90\x80\x80", 0},
                     {"\xF5\x80\x80\x80", 0},
                     {"中\xE4\x28\xA1", 3},
                     {"\xF0\x9F\x98", 0},
                     {"\xFE", 0}};
  for (const Bad& b : bad) {
    INFO(b.text);
    REQUIRE(first_invalid_utf8(b.text));
    CHECK(*first_invalid_utf8(b.text) == b.offset);
    CHECK_THROWS_AS(require_utf8(b.text, "test"), ValueError);
  }
  CHECK(test::message_of<ValueError>([] { require_utf8("abc\xFF", "reader"); }) ==
        "reader: invalid UTF-8 at byte 4 (0xff)");
}

TEST_CASE("each code point survives encoding and decoding", "[utf8]") {
  for (std::uint32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string text;
    append_utf8(text, c);
    const CodePoint back = code_point_at(text, 0);
    if (first_invalid_utf8(text) || back.value != c || back.length != text.size()) FAIL("at " << c);
  }
  const auto points = code_points("aß中😀");
  REQUIRE(points.size() == 4);
  CHECK(points[3].value == 0x1F600);
  CHECK(points[3].offset == 6);
  CHECK(points[3].length == 4);
}

TEST_CASE("any bytes can be walked, and validity agrees with the walk", "[utf8]") {
  SplitMix64 random(1);
  for (int round = 0; round < 20000; ++round) {
    std::string text(random.below(12), '\0');
    static constexpr char kBytes[] = "\x00 a\x7F\x80\xA0\xBF\xC2\xDF\xE0\xE4\xED\xEF\xF0\xF4\xFF";
    for (char& c : text) c = kBytes[random.below(sizeof kBytes - 1)];
    std::size_t walked = 0;
    std::string again;
    for (const CodePoint& c : code_points(text)) {
      REQUIRE(c.offset == walked);
      walked += c.length;
      append_utf8(again, c.value);
    }
    REQUIRE(walked == text.size());
    REQUIRE((again == text) == !first_invalid_utf8(text));
    split_spaces(text);
    display_width(text);
    lower_case(text);
  }
}

TEST_CASE("bytes that are no UTF-8 become U+FFFD as in Python", "[utf8]") {
  const std::string r = "\uFFFD";
  const std::pair<std::string, std::string> cases[] = {{"a\u00e9\u732b", "a\u00e9\u732b"},
                                                       {"\xE4\xB8", r},
                                                       {"\xE4\xB8z", r + "z"},
                                                       {"\xF0\x90\x80"
                                                        "a\xFF",
                                                        r + "a" + r},
                                                       {"\xC0\xAF", r + r},
                                                       {"\xED\xA0\x80", r + r + r},
                                                       {"\xF4\x90\x80\x80", r + r + r + r},
                                                       {"\xE0\x80\xC3\xA4", r + r + "\u00e4"},
                                                       {"\x80\xF1\x80", r + r}};
  for (const auto& [bytes, text] : cases) CHECK(with_invalid_utf8_replaced(bytes) == text);
}

TEST_CASE("white space is what Python's split takes for it", "[utf8]") {
  CHECK(split_spaces(" a\tb\n\u00A0c\u3000d\u2003 e\x1C ") ==
        std::vector<std::string_view>{"a", "b", "c", "d", "e"});
  CHECK(split_spaces("").empty());
  CHECK(split_spaces(" \u3000").empty());
  CHECK(split_spaces("a\u200Bb").size() == 1);  // a zero-width space is none
  CHECK(normalize_spaces("  a \u3000 b ") == "a b");
}

TEST_CASE("display width counts terminal columns", "[utf8]") {
  CHECK(display_width("abc") == 3);
  CHECK(display_width("我有一只猫") == 10);
  CHECK(display_width("Straße") == 6);
  CHECK(display_width("e\u0301") == 1);
  CHECK(display_width("，。") == 4);
  CHECK(display_width("😀") == 2);
  CHECK(display_width("한국") == 4);
  CHECK(display_width("\u200D\u200B") == 0);
  CHECK(display_width("▁") == 1);
  CHECK(display_width("\u1112\u1161\u11ab") == 2);  // one syllable of Korean in three letters
  CHECK(display_width("\u0915\u093e") == 2);        // a vowel sign of Hindi takes a column
  CHECK(fit_columns("猫", 4) == "猫  ");
  CHECK(fit_columns("我有一只猫", 6) == "我有… ");
  CHECK(fit_columns("我有一只猫", 10) == "我有一只猫");
  CHECK(fit_columns("abc", 2) == "a…");
  CHECK(fit_columns("abc", 0).empty());
  for (std::size_t columns = 0; columns < 15; ++columns) {
    CHECK(display_width(fit_columns("a我b有c一只猫", columns)) == columns);
  }
}

TEST_CASE("lower case of the common scripts", "[casing]") {
  CHECK(lower_case("ÄÖÜ STRAẞE Straße ÉÀÇ ŁÓDŹ") == "äöü straße straße éàç łódź");
  CHECK(lower_case("ЁЖИК В ТУМАНЕ") == "ёжик в тумане");
  CHECK(lower_case("ΟΔΥΣΣΕΎΣ ΣΟΦΌΣ") == "οδυσσεύς σοφός");
  CHECK(lower_case("ΑΣ. ΑΣΑ ΑΣ' Σ 1Σ") == "ας. ασα ας' σ 1σ");
  CHECK(lower_case("ⅧΣ ⓐΣ ʰΣ Α\u0301Σ") == "ⅷς ⓐς ʰσ α\u0301ς");
  CHECK(lower_case("İ") == "i\u0307");
  CHECK(lower_case("我 ABC 123") == "我 abc 123");
}

}  // namespace test_utf8

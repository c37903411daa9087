#include "models/tokenizers/tokenizer.hpp"

#include <string>
#include <vector>

#include "models/tokenizers/base64.hpp"
#include "tensor/error.hpp"
#include "tests/catch.hpp"
#include "tests/tools/temporary_file.hpp"
#include "tools/data/corpus/random.hpp"
#include "tools/data/tokenizers/training.hpp"

namespace test_tokenizer {

using namespace glim;
using Ids = std::vector<std::int64_t>;

namespace {

const std::vector<std::string> kLines = {"a man sees a dog", "the dog sees  the man", "a b"};

TokenizerOptions of_kind(const std::string& kind) {
  TokenizerOptions o;
  o.kind = kind;
  return o;
}

}  // namespace

TEST_CASE("words", "[tokenizer]") {
  const TokenizerPtr t = train_tokenizer(of_kind("word"), kLines);
  CHECK(t->kind() == "word");
  CHECK(t->size() == 10);  // a dog man sees the b
  CHECK(t->encode("a  dog\tsees a cat") == Ids{4, 5, 7, 4, kUnk});
  CHECK(t->encode(" \t ").empty());
  CHECK(t->decode(t->encode(" the  man ")) == "the man");
  CHECK(t->decode(Ids{kBos, 4, kPad, 5, kUnk, kEos, 6}) == "a dog <unk>");
  CHECK(t->decode(Ids{}).empty());
  CHECK(t->decode(Ids{kEos}).empty());
  CHECK(t->piece(kEos) == "</s>");
  CHECK(t->piece(5) == "dog");
  CHECK_THROWS_AS(t->decode(Ids{10}), IndexError);
  CHECK_THROWS_AS(t->decode(Ids{-1}), IndexError);
  CHECK_THROWS_AS(t->piece(10), IndexError);
  CHECK_THROWS_AS(t->encode("a \xFF"), ValueError);
}

TEST_CASE("characters", "[tokenizer]") {
  const std::vector<std::string> lines = {"我有一只猫", "我 有e\u0301"};
  const TokenizerPtr t = train_tokenizer(of_kind("char"), lines);
  CHECK(t->size() == 4 + 8);
  CHECK(t->encode("我有").size() == 2);
  CHECK(t->encode("我有") == Ids{t->encode("我")[0], t->encode("有")[0]});
  for (const auto& line : lines) CHECK(t->decode(t->encode(line)) == line);
  CHECK(t->decode(t->encode("我狗")) == "我<unk>");
  CHECK(t->encode("  ").empty());
  CHECK(t->piece(t->encode("我 有")[1]) == "▁");
  CHECK(t->piece(t->encode("猫")[0]) == "猫");
}

TEST_CASE("what a vocabulary lacks of a line is named once, as far as the line is read",
          "[tokenizer]") {
  const std::vector<std::string> lines(20, "der rote Hund und die Katze");
  using Parts = std::vector<std::string>;
  TokenizerPtr words = train_tokenizer({.kind = "word"}, lines);
  CHECK(unknown_parts(*words, "der rote Zug und der lange Zug", 99) == Parts{"Zug", "lange"});
  CHECK(unknown_parts(*words, "der rote Zug und der lange Zug", 3) == Parts{"Zug"});
  CHECK(unknown_parts(*words, "der rote Hund", 99).empty());
  TokenizerPtr characters = train_tokenizer({.kind = "char"}, lines);
  CHECK(unknown_parts(*characters, "der süße Zug", 99) == Parts{"s", "ü", "ß", "Z", "g"});
  CHECK(unknown_part(*words, "der\nrote Zug") == "'Zug'");
  CHECK(unknown_part(*words, "der\nrote") == "a line end");
  CHECK(unknown_part(*characters, "der\nZug") == "a line end");
  CHECK(unknown_part(*characters, "\n") == "a line end");
  TokenizerPtr pieces =
      train_tokenizer({.kind = "sentencepiece", .model = "bpe", .vocabulary_size = 40}, lines);
  CHECK(unknown_parts(*pieces, "der süße Hund", 99) == Parts{"s", "ü", "ß"});
}

TEST_CASE("options that make no tokenizer", "[tokenizer]") {
  CHECK(test::message_of<ValueError>([] { train_tokenizer(of_kind("words"), kLines); }) ==
        "tokenizer: unknown kind \"words\": word, char, mixed or sentencepiece");
  for (const char* kind : {"word", "char", "sentencepiece"}) {
    CHECK_THROWS_AS(train_tokenizer(of_kind(kind), std::vector<std::string>{}), ValueError);
    CHECK_THROWS_AS(train_tokenizer(of_kind(kind), std::vector<std::string>{"", "  "}), ValueError);
    CHECK(test::message_of<ValueError>([&] {
            train_tokenizer(of_kind(kind), std::vector<std::string>{"good", "b\xC3"});
          }) == "tokenizer: training line 2: invalid UTF-8 at byte 2 (0xc3)");
  }
  TokenizerOptions o;
  o.max_size = 3;
  CHECK_THROWS_AS(train_tokenizer(o, kLines), ValueError);
}

TEST_CASE("tokenizers survive a string", "[tokenizer]") {
  for (const char* kind : {"word", "char", "mixed"}) {
    const TokenizerPtr t = train_tokenizer(of_kind(kind), kLines);
    const TokenizerPtr again = deserialize_tokenizer(t->serialize());
    CHECK(again->kind() == kind);
    CHECK(again->serialize() == t->serialize());
    CHECK(again->encode("the man sees b") == t->encode("the man sees b"));
  }
}

TEST_CASE("nothing else passes for a tokenizer", "[tokenizer]") {
  for (
      const std::string text :
      {"", "{}", "[1]", R"({"format":"glim vocabulary","version":1,"tokens":[]})",
       R"({"format":"glim tokenizer","version":1})",
       R"({"format":"glim tokenizer","version":1,"kind":"bytes"})",
       R"({"format":"glim tokenizer","version":"1","kind":"char","tokens":[]})",
       R"({"format":"glim tokenizer","version":1,"kind":"word","tokens":["a b"]})",
       R"({"format":"glim tokenizer","version":1,"kind":"word","tokens":{"a":1}})",
       R"({"format":"glim tokenizer","version":1,"kind":"char","tokens":["ab"]})",
       R"({"format":"glim tokenizer","version":1,"kind":"byte-bpe","tokens":["a"]})",
       R"({"format":"glim tokenizer","version":1,"kind":"byte-bpe","tokens":["a"],"merges":["a b"],"added":[],"end":"","prefix_space":false})",
       R"({"format":"glim tokenizer","version":1,"kind":"byte-bpe","tokens":["a"],"merges":[],"added":["b"],"end":"","prefix_space":false})",
       R"({"format":"glim tokenizer","version":1,"kind":"byte-bpe","tokens":["a"],"merges":[],"added":[],"end":"b","prefix_space":false})",
       R"({"format":"glim tokenizer","version":1,"kind":"byte-bpe","tokens":["a","a"],"merges":[],"added":[],"end":"","prefix_space":false})",
       R"({"format":"glim tokenizer","version":1,"kind":"sentencepiece"})",
       R"({"format":"glim tokenizer","version":1,"kind":"sentencepiece","model":"?"})",
       R"({"format":"glim tokenizer","version":1,"kind":"sentencepiece","model":"AAAA"})"}) {
    INFO(text);
    CHECK_THROWS_AS(deserialize_tokenizer(text), FileError);
  }
  CHECK(test::message_of<FileError>([] { deserialize_tokenizer("{", "model.json"); }) ==
        "tokenizer: model.json: not valid JSON");
}

TEST_CASE("byte-level BPE merges the lowest rank first, and long words in time", "[tokenizer]") {
  const TokenizerPtr t = deserialize_tokenizer(
      R"({"format":"glim tokenizer","version":1,"kind":"byte-bpe","tokens":["a","b","c","bc","ab","abc","aa","\u0120","x y"],)"
      R"("merges":["b c","a b","ab c","a a"],"added":["x y"],"end":"x y","prefix_space":true})");
  CHECK(t->encode("abc") ==
        std::vector<std::int64_t>{11, 4, 7});  // a bc, after the space that is put before
  CHECK(t->encode("aaa").size() == 3);
  CHECK(t->encode("aax yb") == std::vector<std::int64_t>{11, 10, 12, 11, 5});
  CHECK(t->decode({10, 12, 5}) == "aax yb");
  CHECK(t->encode("a?") == std::vector<std::int64_t>{11, 4, kUnk});
  CHECK(t->end_of_text() == 12);
  CHECK(t->encode(std::string(200'000, 'a')).size() == 100'001);
}

TEST_CASE("base64", "[base64]") {
  // RFC 4648, section 10.
  const std::pair<std::string, std::string> cases[] = {{"", ""},
                                                       {"f", "Zg=="},
                                                       {"fo", "Zm8="},
                                                       {"foo", "Zm9v"},
                                                       {"foob", "Zm9vYg=="},
                                                       {"fooba", "Zm9vYmE="},
                                                       {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, coded] : cases) {
    CHECK(base64_encode(plain) == coded);
    CHECK(base64_decode(coded) == plain);
  }
  for (const char* bad :
       {"Z", "Zg", "Zg=", "Zh==", "Zm9=", "Z===", "====", "Zm 9", "Zm9v=", "=AAA", "Zg==Zg=="}) {
    INFO(bad);
    CHECK_FALSE(base64_decode(bad));
  }
  SplitMix64 random(1);
  for (int round = 0; round < 500; ++round) {
    std::string bytes(random.below(50), ' ');
    for (char& c : bytes) c = static_cast<char>(random.below(256));
    REQUIRE(base64_decode(base64_encode(bytes)) == bytes);
  }
}

}  // namespace test_tokenizer

#include "models/pipeline/text_stream.hpp"

#include <string>
#include <vector>

#include "models/tokenizers/utf8.hpp"
#include "tensor/error.hpp"
#include "tests/catch.hpp"
#include "tools/data/tokenizers/training.hpp"

namespace test_text_stream {

using namespace glim;
using Ids = std::vector<std::int64_t>;

namespace {

const std::string kText = "the  cat äöü sat\n\n  on the mat\n猫在垫子上\n";

TokenizerPtr trained(const std::string& kind) {
  TokenizerOptions o;
  o.kind = kind;
  o.vocabulary_size = 23;
  if (kind == "char") return train_tokenizer(o, std::vector<std::string>{kText});
  return train_tokenizer(
      o, std::vector<std::string>{"the  cat äöü sat", "  on the mat", "猫在垫子上"});
}

// The text that each token prints.
std::vector<std::string> streamed(const TokenizerPtr& t, const Ids& ids) {
  TextStream stream(t);
  std::vector<std::string> pieces;
  for (auto id : ids) pieces.push_back(stream.push(id));
  return pieces;
}
std::string joined(const std::vector<std::string>& pieces) {
  std::string text;
  for (const std::string& p : pieces) text += p;
  return text;
}

// Lines and their ends, as encode_text took them.
std::string decode_text(const TokenizerPtr& t, std::span<const std::int64_t> ids) {
  std::string text;
  while (true) {
    const auto end = std::ranges::find(ids, kEos);
    const auto length = static_cast<std::size_t>(end - ids.begin());
    text += t->decode(ids.first(length));
    if (length == ids.size()) return text;
    text += '\n';
    ids = ids.subspan(length + 1);
  }
}

}  // namespace

TEST_CASE("a text by characters keeps all of its white space", "[tokenizer][text]") {
  TokenizerPtr t = trained("char");
  Ids ids = t->encode_text(kText);
  CHECK(ids.size() == code_points(kText).size());
  CHECK(decode_text(t, ids) == kText);
  CHECK(t->encode_text("\n").size() == 1);
  CHECK(t->encode_text("  \n ").size() == 4);
  CHECK(t->encode_text("").empty());
  CHECK(t->encode_text("☃") == Ids{kUnk});
  CHECK(t->encode(" \t ").empty());  // a line still has none
  CHECK(joined(streamed(t, ids)) == kText);
  CHECK_THROWS_AS(t->encode_text("a\n\xFF"), ValueError);
}

TEST_CASE("a text by words or pieces has </s> for its line ends", "[tokenizer][text]") {
  for (const char* kind : {"word", "sentencepiece"}) {
    INFO(kind);
    TokenizerPtr t = trained(kind);
    Ids ids = t->encode_text(kText);
    CHECK(std::count(ids.begin(), ids.end(), kEos) == 4);
    CHECK(ids.back() == kEos);
    std::string normal = "the cat äöü sat\n\non the mat\n猫在垫子上\n";
    CHECK(decode_text(t, ids) == normal);
    CHECK(t->encode_text(normal) == ids);
    CHECK(t->encode_text("\n") == Ids{kEos});
    CHECK(t->encode_text("the cat") == t->encode("the cat"));
    CHECK(decode_text(t, Ids{}).empty());
    auto pieces = streamed(t, ids);
    CHECK(joined(pieces) == normal);
    for (const std::string& p : pieces) CHECK_FALSE(first_invalid_utf8(p));
  }
}

TEST_CASE("half a character waits for its other half", "[tokenizer][text]") {
  // A tokenizer of bytes: token 4 + b is byte b.
  struct Bytes final : Tokenizer {
    std::int64_t size() const override { return 260; }
    std::string piece(std::int64_t id) const override { return std::to_string(id - 4); }
    std::string_view kind() const override { return "bytes"; }
    std::string serialize() const override { return ""; }
    std::vector<std::int64_t> encode_valid(std::string_view line, std::int64_t) const override {
      Ids ids;
      for (unsigned char c : line) ids.push_back(4 + c);
      return ids;
    }
    std::string decode_plain(std::span<const std::int64_t> ids) const override {
      std::string text;
      for (auto id : ids) text += static_cast<char>(id - 4);
      return text;
    }
  };
  auto t = std::make_shared<Bytes>();
  auto pieces = streamed(t, t->encode_text("a猫é\nb"));
  CHECK(pieces == std::vector<std::string>{"a", "", "", "猫", "", "é", "\n", "b"});
  // Where no other half comes, it is U+FFFD.
  CHECK(streamed(t, {4 + 0xE7, kEos, 4 + 'b'}) == std::vector<std::string>{"", "\uFFFD\n", "b"});
  TextStream half(t);
  half.push(4 + 0xE7);
  CHECK(half.rest() == "\uFFFD");
  CHECK(half.rest().empty());
}

TEST_CASE("U+FFFD that was drawn last is printed", "[tokenizer][text]") {
  TokenizerPtr t = train_tokenizer({.kind = "char"}, std::vector<std::string>{"ab\uFFFD"});
  TextStream stream(t);
  std::string text;
  for (auto id : t->encode_text("a\uFFFD")) text += stream.push(id);
  CHECK(text + stream.rest() == "a\uFFFD");
}

}  // namespace test_text_stream

#include "models/tokenizers/sentencepiece.hpp"

#include <algorithm>
#include <cstdio>
#include <sentencepiece_processor.h>
#include <string>
#include <unistd.h>
#include <vector>

#include "models/tokenizers/sentencepiece_model.hpp"
#include "models/tokenizers/utf8.hpp"
#include "tensor/error.hpp"
#include "tests/catch.hpp"
#include "tests/sanitized.hpp"
#include "tests/tools/temporary_file.hpp"
#include "tools/data/corpus/random.hpp"
#include "tools/data/tokenizers/training.hpp"

namespace test_sentencepiece {

using namespace glim;

namespace {

// Sentences of words built from syllables, with capitals, punctuation and some Chinese.
std::vector<std::string> generated_text(std::size_t lines) {
  static const std::vector<std::string> kSyllables = {"ka",  "lo", "mi", "tre", "spo", "un",
                                                      "ber", "hä", "ße", "rin", "gel", "to"};
  static const std::vector<std::string> kChinese = {"我有一只猫", "他买了两本书，", "公园里有狗。"};
  SplitMix64 random(11);
  std::vector<std::string> text;
  for (std::size_t i = 0; i < lines; ++i) {
    std::string line;
    const std::uint64_t words = 3 + random.below(8);
    for (std::uint64_t w = 0; w < words; ++w) {
      if (w > 0) line += ' ';
      const std::uint64_t syllables = 1 + random.below(3);
      for (std::uint64_t s = 0; s < syllables; ++s) line += kSyllables[random.below(12)];
    }
    if (random.below(4) == 0) line += " " + kChinese[random.below(3)];
    text.push_back(line + " .");
  }
  return text;
}

TokenizerOptions pieces(const std::string& model, std::int64_t size) {
  TokenizerOptions o;
  o.kind = "sentencepiece";
  o.model = model;
  o.vocabulary_size = size;
  return o;
}

// The text that `act` writes to standard error, which SentencePiece logs to.
template <class Act>
std::string standard_error_of(Act act) {
  std::fflush(stderr);
  const int saved = ::dup(2);
  std::FILE* file = std::tmpfile();
  ::dup2(::fileno(file), 2);
  act();
  std::fflush(stderr);
  ::dup2(saved, 2);
  ::close(saved);
  std::rewind(file);
  std::string text;
  for (int c; (c = std::fgetc(file)) != EOF;) text += static_cast<char>(c);
  std::fclose(file);
  return text;
}

}  // namespace

TEST_CASE("SentencePiece learns pieces and gives the text back", "[sentencepiece]") {
  const auto text = generated_text(400);
  for (const std::string model : {"unigram", "bpe"}) {
    INFO(model);
    TokenizerPtr t;
    CHECK(standard_error_of([&] { t = train_tokenizer(pieces(model, 120), text); }).empty());
    REQUIRE(t != nullptr);
    CHECK(t->kind() == "sentencepiece");
    CHECK(t->size() == 120);
    CHECK(t->piece(kPad) == "<pad>");
    CHECK(t->piece(kBos) == "<s>");
    CHECK(t->piece(kEos) == "</s>");
    CHECK(t->piece(kUnk) == "<unk>");
    std::size_t tokens = 0, bytes = 0;
    for (const auto& line : text) {
      const auto ids = t->encode(line);
      REQUIRE(t->decode(ids) == line);
      tokens += ids.size();
      bytes += line.size();
    }
    CHECK(tokens * 2 < bytes);  // pieces, not bytes
    CHECK(t->decode(t->encode("  kalo \t mi ")) == "kalo mi");
    CHECK(t->decode(t->encode("ka，lo")) == "ka，lo");  // not normalised to ","
    CHECK(t->decode(t->encode("Ωka")).find("<unk>") != std::string::npos);
    CHECK(t->encode("</s>") != std::vector<std::int64_t>{kEos});
    CHECK(t->encode(" ").empty());
    auto ids = t->encode("kalo mi");
    ids.push_back(kEos);
    ids.push_back(7);
    ids.insert(ids.begin(), kBos);
    CHECK(t->decode(ids) == "kalo mi");
    CHECK_THROWS_AS(t->decode(std::vector<std::int64_t>{120}), IndexError);
    CHECK_THROWS_AS(t->encode("\xFF"), ValueError);

    const TokenizerPtr again = deserialize_tokenizer(t->serialize());
    for (const auto& line : text) REQUIRE(again->encode(line) == t->encode(line));
    CHECK(train_tokenizer(pieces(model, 120), text)->serialize() == t->serialize());
  }
}

// The library's time for a run of unknown characters is quadratic: hours for one of this length.
TEST_CASE("a long line without spaces is tokenised in time", "[sentencepiece]") {
  constexpr std::size_t length = kSanitized ? 100'000 : 500'000;
  const auto text = generated_text(400);
  const auto repeated = [](const std::string& part, std::size_t times) {
    std::string all;
    for (std::size_t i = 0; i < times; ++i) all += part;
    return all;
  };
  for (const std::string model : {"unigram", "bpe"}) {
    INFO(model);
    const TokenizerPtr t = train_tokenizer(pieces(model, 120), text);
    for (const std::string unknown : {"Ω", "x", "😀"}) {
      const std::string run = repeated(unknown, length);
      CHECK(t->encode(run) == t->encode(unknown));
      CHECK(t->encode("kalo" + run + "mi " + run + " mi") ==
            t->encode("kalo" + unknown + "mi " + unknown + " mi"));
    }
    // Unknown characters on their own, and runs too short to be shortened, stay.
    const std::string mixed = repeated("kaΩΩΩlo ΩmiΩ", 1000);
    CHECK(t->encode(mixed).size() >= 4000);
    CHECK(t->encode(mixed, 1000000) == t->encode(mixed));
  }
}

TEST_CASE("the beginning of a long line has the line's own tokens", "[sentencepiece]") {
  const auto text = generated_text(400);
  std::string spaced, whole;
  for (const std::string& line : text) {
    spaced += line + ' ';
    for (char c : line)
      if (c != ' ') whole += c;
  }
  for (const std::string model : {"unigram", "bpe"}) {
    const TokenizerPtr t = train_tokenizer(pieces(model, 120), text);
    for (const std::string& line : {spaced, whole}) {
      const auto all = t->encode(line);
      for (const std::int64_t most : {1, 2, 12, 30}) {
        INFO(model << ' ' << most);
        const auto begun = t->encode(line, most);
        const auto n = static_cast<std::ptrdiff_t>(most);
        REQUIRE(std::ssize(begun) >= 4 * n);
        CHECK(begun.size() < all.size());
        CHECK(std::equal(begun.begin(), begun.begin() + n, all.begin()));
      }
      CHECK(t->encode(line, std::ssize(all)) == all);
    }
    CHECK(t->encode(text[0], 1) == t->encode(text[0]));
  }
}

TEST_CASE("a long word in the training text is learned from in stretches", "[sentencepiece]") {
  auto text = generated_text(100);
  std::string word;
  for (int i = 0; i < 70000; ++i) word += static_cast<char>('a' + i % 7);
  text.push_back(word);
  for (const std::string model : {"unigram", "bpe"}) {
    INFO(model);
    const TokenizerPtr t = train_tokenizer(pieces(model, 80), text);
    CHECK(t->size() == 80);
    CHECK(t->decode(t->encode(word)) == word);
  }
}

TEST_CASE("what SentencePiece refuses comes with a remedy", "[sentencepiece]") {
  const auto text = generated_text(60);
  using test::message_of;
  for (const std::string model : {"unigram", "bpe"}) {
    INFO(model);
    std::string small;
    std::int64_t large = 0;
    CHECK(standard_error_of([&] {
            large = train_tokenizer(pieces(model, 50000), text)->size();
            small = message_of<ValueError>([&] { train_tokenizer(pieces(model, 10), text); });
          }).empty());
    CHECK(large > 20);
    CHECK(train_tokenizer(pieces(model, large), text)->size() == large);
    CHECK(large < 50000);
    CHECK(small.find("vocabulary size 10 is too small") != std::string::npos);
    CHECK(small.find("raise --vocabulary") != std::string::npos);
  }
  CHECK_THROWS_AS(train_tokenizer(pieces("bpee", 100), text), ValueError);
  CHECK_THROWS_AS(train_tokenizer(pieces("bpe", 4), text), ValueError);
  CHECK_THROWS_AS(train_tokenizer(pieces("bpe", -5), text), ValueError);
}

TEST_CASE("small and odd texts train or are refused, nothing else", "[sentencepiece]") {
  SplitMix64 random(2);
  static const std::vector<std::string> kOdd = {"a",       "aa",    "猫",   "▁",    "<s>",
                                                "</s>",    "<unk>", "\x05", "\x7F", "é",
                                                "e\u0301", "😀",     ".",    "\t",   "▅"};
  for (int round = 0; round < 40; ++round) {
    std::vector<std::string> text(1 + random.below(4));
    for (auto& line : text) {
      for (std::uint64_t k = 0; k < random.below(6); ++k)
        line += kOdd[random.below(kOdd.size())] + " ";
    }
    for (const std::string model : {"unigram", "bpe"}) {
      try {
        const TokenizerPtr t =
            train_tokenizer(pieces(model, static_cast<std::int64_t>(5 + random.below(20))), text);
        for (const auto& line : text) t->decode(t->encode(line));
      } catch (const ValueError& e) {
        REQUIRE_FALSE(e.problem().empty());
      }
    }
  }
}

TEST_CASE("a SentencePiece model says whether white space stays", "[sentencepiece]") {
  const auto text = generated_text(300);
  const TokenizerPtr plain = train_tokenizer(pieces("unigram", 90), text);
  const std::string model = dynamic_cast<const SentencePieceTokenizer&>(*plain).model();
  // normalizer_spec (3): add_dummy_prefix (3), remove_extra_whitespaces (4); trainer_spec (2): treat_whitespace_as_suffix
  const std::string no_prefix("\x1A\x02\x18\x00", 4), keeps("\x1A\x02\x20\x00", 4),
      suffix("\x12\x03\xC0\x01\x01", 5);
  const std::string lines[] = {"  ka  lomi ", "ka lomi", " tre", "un\tber   .", "我有  一只猫"};
  for (const std::string& settings :
       {keeps, no_prefix, suffix, keeps + no_prefix, no_prefix + keeps, keeps + suffix}) {
    const SentencePieceTokenizer mine(model + settings);
    sentencepiece::SentencePieceProcessor theirs;
    REQUIRE(theirs.LoadFromSerializedProto(model + settings).ok());
    const bool as_it_is = settings.find(keeps) != std::string::npos;
    for (const std::string& line : lines) {
      INFO(line);
      std::vector<int> ids;
      std::string said;
      REQUIRE(theirs.Encode(as_it_is ? line : normalize_spaces(line), &ids).ok());
      REQUIRE(theirs.Decode(ids, &said).ok());
      CHECK(mine.encode(line) == std::vector<std::int64_t>(ids.begin(), ids.end()));
      CHECK(mine.decode(mine.encode(line)) == said);
    }
  }
  const SentencePieceTokenizer kept(model + keeps);
  CHECK(kept.encode("ka  lomi") != plain->encode("ka  lomi"));
  CHECK(kept.decode(kept.encode("ka  lomi ")) == "ka  lomi ");
  CHECK(plain->decode(plain->encode("ka  lomi ")) == "ka lomi");
}

TEST_CASE("a SentencePiece model must be one of Glim's kind", "[sentencepiece]") {
  const auto field = [](int number, std::string_view bytes) {
    return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())}.append(
        bytes);
  };
  const auto piece = [&](std::string_view text, char type) {
    return field(1, field(1, text) + std::string("\x15\0\0\0\0\x18", 6) + type);
  };
  const std::string specials =
      piece("<pad>", 3) + piece("<s>", 3) + piece("</s>", 3) + piece("<unk>", 2);
  CHECK_NOTHROW(check_sentencepiece_model(specials + piece("a", 1)));
  const std::string good = specials + piece("a", 1);
  const std::pair<std::string, std::string> bad[] = {
      {specials, "has no pieces"},
      {specials + piece("a", 4), "piece 4 (\"a\") is of type user-defined"},
      {specials + piece("a", 1) + piece("a", 1), "piece 5 occurs twice"},
      {specials + piece("", 1), "piece 4 is empty"},
      {specials + piece("\xFF", 1), "piece 4 is not valid UTF-8"},
      {specials + piece(std::string_view("a\0b", 3), 1), "piece 4 has a NUL"},
      {piece("<unk>", 2) + piece("<s>", 3) + piece("</s>", 3) + piece("a", 1),
       "piece 0 is not <pad>"},
      {specials + field(1, field(1, "a") + std::string("\x15\0\0\xC0\x7F", 5)), "no finite score"},
      {good + field(3, field(2, "map")), "compiled character map"},
      {good + field(2, std::string("\x18\x04", 2)), "neither a unigram nor a BPE model"},
      {good + field(2, std::string("\xC0\x02\x00", 3)), "numbered differently"},
      {good + field(3, std::string("\x28\x00", 2)), "escape_whitespaces"},
      {good + field(4, "x"), "self-tests"},
      {good + "\x0A\x7F", "ends too early"},
      {good + "\x0B", "unknown type"},
      {good + std::string(12, '\xFF'), "too long"}};
  for (const auto& [model, reason] : bad) {
    INFO(reason);
    CHECK(test::message_of<ValueError>([&m = model] {
            check_sentencepiece_model(m);
          }).find(reason) != std::string::npos);
  }
}

}  // namespace test_sentencepiece

#include "models/pipeline/copying.hpp"

#include <string>
#include <vector>

#include "tensor/error.hpp"
#include "tests/catch.hpp"
#include "tools/data/tokenizers/training.hpp"

namespace test_copying {

using namespace glim;
using Ids = std::vector<std::int64_t>;
using Words = std::vector<std::string>;

namespace {

TokenizerPtr trained(const std::string& kind, const Words& lines) {
  TokenizerOptions o;
  o.kind = kind;
  return train_tokenizer(o, lines);
}

}  // namespace

TEST_CASE("a character of its own, or a run: mixed tokens", "[tokenizer][mixed]") {
  const TokenizerPtr t = trained("mixed", {"Tom昨天买了3本书", "a b, 书。"});
  CHECK(t->kind() == "mixed");
  CHECK(t->encode("Tom昨天").size() == 3);
  CHECK(t->encode("a b").size() == 2);
  CHECK(t->encode("Tom 昨").size() == 2);
  CHECK(t->encode("Anna昨天")[0] == kUnk);
  CHECK(t->encode(" \t").empty());
  CHECK(t->decode(t->encode("Tom昨天买了3本书")) == "Tom昨天买了3本书");
  CHECK(t->decode(t->encode("a  b, 书。")) == "a b,书。");
  const TokenizerPtr again = deserialize_tokenizer(t->serialize());
  CHECK(again->encode("Tom昨天") == t->encode("Tom昨天"));
  const auto* words = dynamic_cast<const VocabularyTokenizer*>(t.get());
  REQUIRE(words != nullptr);
  CHECK(words->tokens("Zoë写了é本") == Words{"Zoë", "写", "了", "é", "本"});
  CHECK(words->join({"a", "b", "书", "c"}) == "a b书c");
  CHECK_THROWS_AS(words->tokens("\xff"), ValueError);
  CHECK_THROWS_AS(deserialize_tokenizer(R"({"format":"glim tokenizer","version":1,"kind":"mixed",)"
                                        R"("tokens":["a书"]})"),
                  FileError);
}

TEST_CASE("tokens as text agree with their numbers", "[tokenizer][copying]") {
  for (const std::string kind : {"word", "char", "mixed"}) {
    const TokenizerPtr t = trained(kind, {"ein Hund 猫", "a b"});
    const auto* words = dynamic_cast<const VocabularyTokenizer*>(t.get());
    REQUIRE(words != nullptr);
    for (const std::string line : {"ein Hund", "a Hund 猫猫 neu", "", "  "}) {
      Ids ids;
      for (const std::string& token : words->tokens(line))
        ids.push_back(words->vocabulary().id(token));
      CHECK(ids == t->encode(line));
    }
  }
}

TEST_CASE("words that the target vocabulary lacks get columns of their own", "[copying]") {
  // Target vocabulary: 4 喜, 5 欢 ... in some order, and Tom.
  const TokenizerPair pair{trained("word", {"likes tea Tom"}), trained("mixed", {"Tom喜欢茶"})};
  const std::int64_t v = pair.target->size();
  REQUIRE(v == 8);
  const std::int64_t tom = pair.target->encode("Tom")[0];
  const CopyNumbering numbering(pair);
  const CopyNumbers n = numbering.number("Tanvir likes Tom and Tanvir", "Tanvir喜Zo猫Tom");
  CHECK(n.source == Ids{v, v + 1, tom, v + 2, v});
  CHECK(n.words == Words{"Tanvir", "likes", "and"});
  CHECK(n.target == Ids{v, pair.target->encode("喜")[0], kUnk, kUnk, tom});
  const CopyNumbers cut = numbering.number("Tanvir likes Tom and Tanvir", 2);
  CHECK(cut.source == Ids{v, v + 1});
  CHECK(cut.words == Words{"Tanvir", "likes"});
  CHECK(numbering.decode({kBos, v, pair.target->encode("喜")[0], v + 2, kEos, 5}, n.words) ==
        "Tanvir喜and");
  CHECK(numbering.decode({v, v + 1}, n.words) == "Tanvir likes");
  CHECK(numbering.piece(v + 1, n.words) == "likes");
  CHECK(numbering.piece(tom, n.words) == "Tom");
  CHECK_THROWS_AS(numbering.decode({v + 3}, n.words), IndexError);
  CHECK_THROWS_AS(numbering.decode({-1}, n.words), IndexError);
}

TEST_CASE("a batch has the numbers of its rows", "[copying]") {
  const TokenizerPair pair{trained("word", {"a b"}), trained("word", {"x y"})};
  const CopyNumbering numbering(pair);
  const Words sources = {"a neu b neu", "neu"}, targets = {"x neu", "y y x"};
  std::vector<CopyNumbers> numbers;
  std::vector<TokenPair> tokens;
  for (std::size_t i = 0; i < 2; ++i) {
    numbers.push_back(numbering.number(sources[i], targets[i]));
    tokens.push_back({pair.source->encode(sources[i]), pair.target->encode(targets[i])});
  }
  const Batch b = make_batch(tokens, Ids{0, 1});
  SourceBatch source(b.source);
  const Tensor target = number_words(source, {&numbers[0], &numbers[1]});
  CHECK(source.extra == 3);
  CHECK(source.copy_ids.shape() == b.source.shape());
  CHECK(source.copy_ids.to_vector<Index>() == Ids{6, 7, 8, 7, kEos, 6, kEos, 0, 0, 0});
  const std::int64_t x = pair.target->encode("x")[0], y = pair.target->encode("y")[0];
  const Ids out = target.to_vector<Index>(), plain = b.target_out.to_vector<Index>();
  CHECK(out == Ids{x, 7, kEos, 0, y, y, x, kEos});
  // All but copied words are as in the batch.
  for (std::size_t i = 0; i < out.size(); ++i) CHECK((out[i] == plain[i] || plain[i] == kUnk));
}

TEST_CASE("pieces that are no words cannot be copied", "[copying]") {
  TokenizerOptions o;
  o.kind = "sentencepiece";
  o.vocabulary_size = 18;
  const TokenizerPtr pieces =
      train_tokenizer(o, Words{"a man sees a dog", "the dog sees the man", "a big dog and a man"});
  CHECK_THROWS_AS(CopyNumbering({pieces, trained("word", {"x"})}), ValueError);
  CHECK_THROWS_AS(CopyNumbering({trained("word", {"x"}), pieces}), ValueError);
}

}  // namespace test_copying

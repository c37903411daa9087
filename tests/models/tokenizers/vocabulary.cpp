#include "models/tokenizers/vocabulary.hpp"

#include <string>
#include <vector>

#include "tensor/error.hpp"
#include "tests/catch.hpp"
#include "tests/tools/temporary_file.hpp"
#include "tools/data/corpus/random.hpp"
#include "tools/data/tokenizers/training.hpp"

namespace test_vocabulary {

using namespace glim;

namespace {

VocabularyBuilder count(const std::vector<std::string>& tokens) {
  VocabularyBuilder builder;
  for (const auto& t : tokens) builder.add(t);
  return builder;
}

}  // namespace

TEST_CASE("tokens are ordered by frequency, then bytes", "[vocabulary]") {
  const Vocabulary v = count({"b", "a", "ü", "c", "c", "Z", "b", "c"}).build();
  CHECK(v.tokens() == std::vector<std::string>{"c", "b", "Z", "a", "ü"});
  CHECK(v.size() == 9);
  CHECK(v.id("c") == 4);
  CHECK(v.id("ü") == 8);
  CHECK(v.id("nothing") == kUnk);
  CHECK(v.token(0) == "<pad>");
  CHECK(v.token(1) == "<s>");
  CHECK(v.token(2) == "</s>");
  CHECK(v.token(3) == "<unk>");
  CHECK(v.token(4) == "c");
  CHECK_THROWS_AS(v.token(9), IndexError);
  CHECK_THROWS_AS(v.token(-1), IndexError);
}

TEST_CASE("text cannot inject control tokens", "[vocabulary]") {
  const Vocabulary v = count({"</s>", "</s>", "<pad>", "<s>", "<unk>", "a"}).build();
  CHECK(v.tokens() == std::vector<std::string>{"a"});
  CHECK(v.id("</s>") == kUnk);
  CHECK(v.id("<pad>") == kUnk);
}

TEST_CASE("minimum frequency and maximum size", "[vocabulary]") {
  const VocabularyBuilder b = count({"a", "a", "a", "b", "b", "c", "c", "d"});
  CHECK(b.build(2).tokens() == std::vector<std::string>{"a", "b", "c"});
  CHECK(b.build(1, 6).tokens() == std::vector<std::string>{"a", "b"});
  CHECK(b.build(1, 100).size() == 8);
  CHECK_THROWS_AS(b.build(1, 4), ValueError);
  CHECK_THROWS_AS(b.build(1, -1), ValueError);
  CHECK_THROWS_AS(b.build(-1), ValueError);
}

TEST_CASE("a vocabulary refuses tokens that are no tokens", "[vocabulary]") {
  CHECK_THROWS_AS(Vocabulary({"a", "a"}), ValueError);
  CHECK_THROWS_AS(Vocabulary({""}), ValueError);
  CHECK_THROWS_AS(Vocabulary({"</s>"}), ValueError);
  CHECK_THROWS_AS(Vocabulary({"\xFF"}), ValueError);
}

}  // namespace test_vocabulary

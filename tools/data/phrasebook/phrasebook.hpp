// The default task: English–Chinese sentence pairs from a small synchronous grammar in the program itself
// (grammar.txt), the same on every machine.
//
//   I have a cat                                   我有一只猫
//   She bought two books at the market yesterday   她昨天在市场上买了两本书
//   There are three big black dogs in the park     公园里有三只黑色的大狗
//
// English is split at white space, Chinese by character. Each English sentence has one translation, and none has more than 14 words.
// A model must learn the measure word of each noun (只 本 辆 条 张 把 件 杯 …, often far from it), 两 for "two",
// 了 不 没有 for tense and negation, time and place before the verb, colour before size, relative clauses before
// their noun, and questions without inversion.
//
// The split. A sentence combines words: a determiner or number with a noun, an adjective with a noun, a verb
// with its object, a place with what is there, a subject with a verb. About one such combination in twelve is
// reserved, by the hash of its name: half of them for validation, half for the test. A sentence without a
// reserved combination may be trained on. One with a combination reserved for the test is a test sentence,
// any other is a validation sentence. So each held-out sentence has at least one combination that occurs in
// no training sentence, while each of its words and characters occurs in some.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "tools/data/corpus/corpus.hpp"
#include "tools/data/corpus/random.hpp"

namespace glim {

// 6,500 pairs to train on, 500 to validate on, 1,000 to test on.
const std::vector<SentencePair>& phrasebook_pairs(Part part);

// The pairs of a corpus that is drawn, by part, and how many each shall have.
struct DrawnPairs {
  std::array<std::size_t, 3> sizes;
  std::array<std::vector<SentencePair>, 3> pairs = {};

  std::vector<SentencePair>& operator[](Part p) { return pairs[static_cast<std::size_t>(p)]; }
  bool full(Part p) { return (*this)[p].size() == sizes[static_cast<std::size_t>(p)]; }
  bool full() { return full(Part::Train) && full(Part::Valid) && full(Part::Test); }
};

namespace phrasebook {

struct Sentence {
  std::string english, chinese;
  // Such as "D:two|book" (determiner), "A:red|book", "V:buy|book", "P:in the park|dog", "S:she|buy".
  std::vector<std::string> combinations;
};

// One sentence of the grammar, of any length.
Sentence draw_sentence(SplitMix64& random);

}  // namespace phrasebook
}  // namespace glim

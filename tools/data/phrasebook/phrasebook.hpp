// The default task: English–Chinese sentence pairs from a small synchronous grammar, made in the
// program itself and the same everywhere.
//
//   I have a cat                                   我有一只猫
//   She bought two books at the market yesterday   她昨天在市场上买了两本书
//   There are three big black dogs in the park     公园里有三只黑色的大狗
//
// English is split at white space (with TokenizerOptions::fold, a user's full stops and small letters
// do no harm), Chinese by character. Each English sentence has one translation,
// and none has more than 14 words. What makes it a task: the measure word that the noun asks for
// (只 本 辆 条 张 把 件 杯 …, often far from it), 两 for "two", 了 不 没有 for tense and denial, time and
// place before the verb, colour before size, relative clauses before their noun, questions without
// inversion.
//
// The split. A sentence puts words together: a determiner or number with a noun, an adjective with a
// noun, a verb with its object, a place with what is there, a subject with a verb. About one such
// combination in twelve is reserved, by the hash of its name, half of them for validation and half
// for the test. A sentence without a reserved combination may be trained on; one with a combination
// reserved for the test is a test sentence, any other a validation sentence. So each held-out
// sentence has at least one combination that occurs in no training sentence, while each of its words
// and characters occurs in some.
#pragma once

#include <string>
#include <vector>

#include "tools/data/corpus/corpus.hpp"

namespace glim {

const std::vector<SentencePair>& phrasebook_train();  // 6,500 pairs
const std::vector<SentencePair>& phrasebook_valid();  //   500
const std::vector<SentencePair>& phrasebook_test();   // 1,000

// The combinations in a sentence of the phrasebook, e.g. "D:two|book" (determiner), "A:red|book",
// "V:buy|book", "P:in the park|dog", "S:she|buy". Empty for any other text.
std::vector<std::string> phrasebook_combinations(const std::string& english);

}  // namespace glim

// Sentences of the phrasebook's grammar about people whose names are made up: what a model of words
// can only get right by copying.
//
//   Berona bought two books at the market yesterday   Berona昨天在市场上买了两本书
//   Is Tilvan taller than Miresa                      Tilvan比Miresa高吗
//
// The names stand in Latin letters on both sides; the mixed tokeniser makes each one token. There
// are some 15,000 names; of each ten, one is kept for validation and one for the test, by the hash
// of the name, and so are the sentences, by the hash of what they are without their names. So no
// name of the test occurs in training, nor does one of its sentences with other names, and hardly
// any name of the training pairs occurs there more than twice.
#pragma once

#include <string>
#include <vector>

#include "tools/data/corpus/corpus.hpp"
#include "tools/data/corpus/random.hpp"

namespace glim {

const std::vector<SentencePair>& names_train();  // 6,000 pairs
const std::vector<SentencePair>& names_valid();  //   500
const std::vector<SentencePair>& names_test();   // 1,000

// A name of three syllables, seldom two: "Berona".
std::string made_up_name(SplitMix64& random);

}  // namespace glim

// Sentences of the phrasebook's grammar about people with made-up names. A model of words can get these names
// right only by copying them.
//
//   Berona bought two books at the market yesterday   Berona昨天在市场上买了两本书
//   Is Tilvan taller than Miresa                      Tilvan比Miresa高吗
//
// Names are in Latin letters on both sides, and the mixed tokeniser makes each one token. There are about
// 15,000 names. The hash of a name decides its part: of ten names, one is for validation and one for the
// test. Sentences are divided in the same way, by their hash without the names. So no name of the test occurs
// in training, nor does one of its sentences with other names. Hardly any training name occurs more than
// twice.
#pragma once

#include <string>
#include <vector>

#include "tools/data/corpus/corpus.hpp"
#include "tools/data/corpus/random.hpp"

namespace glim {

// 6,000 pairs to train on, 500 to validate on, 1,000 to test on.
const std::vector<SentencePair>& names_pairs(Part part);

// A name of three syllables, seldom two: "Berona".
std::string made_up_name(SplitMix64& random);

}  // namespace glim

// Checks a serialised SentencePiece model before the library gets it.
//
// The library's assertions end the process on bad bytes, and it uses some content unchecked. A checkpoint may
// be damaged or hostile, so the model is walked here first (protocol buffers wire format,
// sentencepiece_model.proto of SentencePiece 0.1.97 and 0.2):
//
//   pieces (1): piece (1) text, score (2) float, type (3);  trainer_spec (2): model_type (3);
//   normalizer_spec (3) and denormalizer_spec (5): precompiled_charsmap (2), remove_extra_whitespaces (4),
//   escape_whitespaces (5); the library follows their other settings
#pragma once

#include <cstdint>
#include <string_view>

namespace glim {

// ValueError naming the problem unless `model` is whole, is a unigram or BPE model without
// a character map, its pieces are distinct valid texts with finite scores, of which the first four
// are the special tokens of vocabulary.hpp and the others are normal. A `foreign` one may number its special pieces
// as it likes, and may have a character map, each step of which stays inside. True if it removes extra white space.
bool check_sentencepiece_model(std::string_view model, bool foreign = false);

}  // namespace glim

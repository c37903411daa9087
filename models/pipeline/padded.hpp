// Token numbers as the models read them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/tokenizers/tokenizer.hpp"
#include "tensor/tensor.hpp"

namespace glim {

// Rows of ids, each with <s> before it or </s> behind it, right-padded: (B, length of the longest).
Tensor padded_rows(const std::vector<const std::vector<std::int64_t>*>& rows, bool begin, bool end);

// A sentence as the encoder-only models read it, <s> x_1 … x_n; padded_rows puts </s> behind it.
struct EncodedSentence {
  std::vector<std::int64_t> ids;
  bool cut = false;  // it had more than `longest` tokens, <s> and </s> included
};
EncodedSentence encoded_sentence(const Tokenizer& tokenizer, const std::string& sentence,
                                 Index longest);

}  // namespace glim

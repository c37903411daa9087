#include "tools/train/learners/sizes.hpp"

namespace glim {

TokenizerPtr described_tokenizer(const Checkpoint& c, const std::string& file, Index tokens) {
  TokenizerPtr t = deserialize_tokenizer(c.described("tokenizer", file), file + ": tokenizer");
  if (t->size() != tokens)
    throw FileError(file, "its tokenizer does not have the vocabulary size of its model");
  return t;
}

double room_for(const StateDict& weights) {
  constexpr double kLeast = 64e6, kTimes = 8;
  double bytes = kLeast;
  for (const auto& [name, tensor] : weights) bytes += kTimes * static_cast<double>(tensor.bytes());
  return bytes;
}

}  // namespace glim

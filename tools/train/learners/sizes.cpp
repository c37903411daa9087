#include "tools/train/learners/sizes.hpp"

namespace glim {

TokenizerPtr described_tokenizer(const Checkpoint& c, const std::string& file, Index tokens) {
  TokenizerPtr t = deserialize_tokenizer(c.described("tokenizer", file), file + ": tokenizer");
  if (t->size() != tokens)
    throw FileError(file, "its tokenizer does not have the vocabulary size of its model");
  return t;
}

void Evidence::tensor(const std::string& name, const Shape& shape) const {
  auto at = weights.find(name);
  if (at == weights.end()) throw FileError(file, "has no tensor " + name);
  if (at->second.shape() != shape)
    throw FileError(file, name + " has shape " + to_string(at->second.shape()) +
                              ", its model describes " + to_string(shape));
}

void Evidence::layers(Index count, Index least) const {
  if (count < least || count > static_cast<Index>(weights.size()))
    throw FileError(file, "describes more layers than it has tensors");
}

void Evidence::stack(const std::string& stack, Index count, const std::string& name,
                     const Shape& shape) const {
  for (Index i = 0; i < count; ++i)
    tensor(stack + ".layers." + std::to_string(i) + "." + name, shape);
}

void Evidence::attention_stack(const std::string& name, Index count, Index d_model,
                               Index d_ff) const {
  stack(name, count, "linear1.weight", {d_ff, d_model});
  stack(name, count, "self_attn.in_proj_weight", {3 * d_model, d_model});
}

void Evidence::size(Index value) const {
  if (value < 1 || value > (Index{1} << 30))
    throw FileError(file, "describes a size of " + std::to_string(value));
}

}  // namespace glim

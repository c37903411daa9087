// Continues a text with a trained language model (kind gpt), token by token.
//
//   const TextGenerator generator("model");
//   std::string text = generator.generate("Once upon a time", {.max_tokens = 100, .seed = 7});
//
// All calls are const. Several threads may use one TextGenerator at once, and each gets the bytes that it would get alone.
// Text `sample` of a prompt is a function of (model, prompt, options).
//
// Errors: FileError naming the file for a folder that holds no such model; ValueError naming the option or "prompt".
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/decoding/sampling.hpp"
#include "models/gpt/gpt.hpp"
#include "models/pipeline/model_file.hpp"
#include "models/tokenizers/tokenizer.hpp"

namespace glim {

struct GenerateOptions {
  Index max_tokens = 500;
  SamplingOptions sampling = {};
  std::uint64_t seed = 1, sample = 0;
  Index slide = 0;  // tokens dropped when the context is full; 0: a quarter of it
};

class TextGenerator {
 public:
  // `path`: the folder of a model, or one of its files.
  explicit TextGenerator(const std::string& path) : TextGenerator(read_model(path)) {}
  explicit TextGenerator(const ModelFile& file);

  // The text that follows the prompt. `piece` also gets it, part by part, as it is drawn.
  std::string generate(const std::string& prompt, const GenerateOptions& options = {},
                       const std::function<void(std::string_view piece)>& piece = {}) const {
    return generate(encode(prompt), options, piece);
  }
  // The text that follows a prompt in tokens.
  std::string generate(const std::vector<Index>& prompt, const GenerateOptions& options = {},
                       const std::function<void(std::string_view piece)>& piece = {}) const;
  // ValueError naming the option that generate() refuses.
  void check(const GenerateOptions& options) const;
  // The tokens of a prompt; ValueError for one that generate() refuses.
  std::vector<Index> encode(const std::string& prompt) const;
  // The prompt as its tokens have it, so that what follows fits to it.
  std::string as_read(const std::string& prompt) const;

  const std::shared_ptr<Gpt>& model() const { return model_; }
  const TokenizerPtr& tokenizer() const { return tokenizer_; }

 private:
  TokenizerPtr tokenizer_;
  std::shared_ptr<Gpt> model_;
};

}  // namespace glim

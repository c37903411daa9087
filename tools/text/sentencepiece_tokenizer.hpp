// Pieces learned by SentencePiece (Kudo and Richardson, EMNLP 2018), trained in this process from
// lines: the unigram language model (Kudo, ACL 2018) or byte-pair encoding (Sennrich et al., ACL
// 2016).
//
// Text is not normalised beyond its white space (SentencePiece's rule "identity"): full-width
// punctuation and the like come out as they went in, which BLEU on Chinese depends on, and a model
// carries no compiled character map, the one part of it whose content SentencePiece trusts unseen.
// The result does not depend on the machine: the number of training threads is fixed.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "tools/text/tokenizer.hpp"

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace glim {

class SentencePieceTokenizer final : public Tokenizer {
 public:
  // `model` is a SentencePiece model as train() makes them: unigram or BPE, special tokens numbered
  // as in vocabulary.hpp. ValueError when it is anything else.
  explicit SentencePieceTokenizer(std::string model);
  ~SentencePieceTokenizer() override;

  // ValueError with the remedy when the text does not allow for the size asked for.
  static TokenizerPtr train(const TokenizerOptions& options,
                            std::span<const std::span<const std::string>> parts);
  static TokenizerPtr from_json(const nlohmann::json& json);

  std::int64_t size() const override;
  std::string piece(std::int64_t id) const override;
  std::string_view kind() const override { return "sentencepiece"; }
  std::string serialize() const override;
  // The model file as other programs that use SentencePiece read it.
  const std::string& model() const { return model_; }

 private:
  std::vector<std::int64_t> encode_valid(std::string_view line) const override;
  std::string decode_plain(std::span<const std::int64_t> ids) const override;

  std::string model_;
  std::unique_ptr<sentencepiece::SentencePieceProcessor> processor_;
};

}  // namespace glim

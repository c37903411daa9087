// Pieces learned by SentencePiece (Kudo and Richardson, EMNLP 2018): the unigram language model (Kudo, ACL 2018) or
// byte-pair encoding (Sennrich et al., ACL 2016).
//
// Only white space is normalised (SentencePiece's rule "identity"), and not even that where the model says
// remove_extra_whitespaces = false. So full-width punctuation comes out as it
// went in, which BLEU on Chinese depends on, and a model has no compiled character map, the one part that
// SentencePiece does not check.
//
// Marian's models come with two SentencePiece models of their own and one list of pieces that numbers what both of
// them say (tools/convert/imported_tokenizers.hpp): then the model cuts the text, as it is, with its own character map,
// and `tokens` numbers the pieces, from 4 on. A language code ">>fr<<" at the beginning of a line is a token.
//
// The library takes quadratic time for a run of characters without pieces, and makes one <unk> of it, however
// long. In lines of more than 4096 bytes such a run is shortened first. That gives the same tokens, except
// for the rounding of a unigram model's sums.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "models/tokenizers/tokenizer.hpp"

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace glim {

class SentencePieceTokenizer final : public Tokenizer {
 public:
  // `model` is a SentencePiece model as train_tokenizer() makes them: unigram or BPE, special tokens numbered
  // as in vocabulary.hpp. ValueError when it is anything else.
  explicit SentencePieceTokenizer(std::string model, std::vector<std::string> tokens = {});
  ~SentencePieceTokenizer() override;

  static TokenizerPtr from_json(const nlohmann::json& json);

  std::int64_t size() const override;
  std::string piece(std::int64_t id) const override;
  std::string_view kind() const override { return "sentencepiece"; }
  std::string serialize() const override;
  // The model file as other programs that use SentencePiece read it.
  const std::string& model() const { return model_; }

 private:
  std::vector<std::int64_t> encode_valid(std::string_view line, std::int64_t most) const override;
  std::string beginning(std::string_view text, std::int64_t most) const;
  std::string decode_plain(std::span<const std::int64_t> ids) const override;

  bool unknown(std::string_view character) const;

  std::string model_;
  std::optional<Vocabulary> tokens_;  // none: the model's own numbers
  std::unique_ptr<sentencepiece::SentencePieceProcessor> processor_;
  bool as_it_is_ = false;    // no white space of a line is normalised before the model does
  std::size_t longest_ = 0;  // bytes of text that a token of a long line has at most
};

}  // namespace glim

// The tokenizers that transformers' save_pretrained writes beside a model.
//
//   gpt2     tokenizer.json, or vocab.json with merges.txt; of tokenizer_config.json add_prefix_space and added tokens
//   marian   source.spm and target.spm cut a text into pieces, vocab.json numbers the pieces of both sides
//
// Null where a folder has none of these files: tokens are then their numbers. FileError, naming the file, and in
// merges.txt the line, for files that Glim cannot read as transformers does, and for one with another number of tokens
// than the embeddings have rows.
#pragma once

#include <optional>

#include "models/tokenizers/tokenizer.hpp"
#include "tools/convert/settings.hpp"

namespace glim {

// Token i of the files is token i + 4. Assumptions are added to `notes`.
TokenizerPtr gpt2_tokenizer(const std::string& folder, const Settings& settings, Index rows,
                            std::vector<std::string>& notes);

struct MarianPieces {
  std::vector<std::string> by_id;  // of vocab.json
  Index eos = 0, unk = 0, pad = 0;
  // Tokenizers whose token i, from 4 on, is piece ids[i].
  TokenizerPair tokenizers(const std::vector<Index>& ids) const;
  std::string folder;
};
std::optional<MarianPieces> marian_pieces(const std::string& folder, Index rows);

}  // namespace glim

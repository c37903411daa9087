// GPT-2's byte-level BPE (Radford et al. 2019, section 2.2; Sennrich et al., ACL 2016), with a vocabulary and merges
// that another program has learned (tools/convert/imported_tokenizers.hpp).
//
//   words    the text in pieces of GPT-2's pattern: contractions, letters, numbers, others (each with one space
//            before it), white space
//   bytes    each of the 256 has a printable character: the space is Ġ, the line end Ċ
//   merges   within a word the pair with the lowest rank becomes one token, until none is left
//
// Token i of the vocabulary has the number i + 4 here: Glim's special tokens come first, and no text has them. A
// byte that the vocabulary lacks is kUnk. decode() gives U+FFFD for bytes that are no UTF-8.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <unordered_map>

#include "models/tokenizers/tokenizer.hpp"

namespace glim {

struct ByteBpe {
  std::vector<std::string> tokens;  // in the printable characters
  std::vector<std::string> merges;  // "Ġ t", the first has the lowest rank
  std::vector<std::string> added;   // tokens that a text may hold as they are, "<|endoftext|>"
  std::string end;                  // the one that ends a text, or empty
  bool prefix_space = false;        // a text begins with a space, whether it is typed or not
  // Where the merges are, for messages: merge i is in line first_line + i of the file.
  std::string file = {};
  std::size_t first_line = 0;
};

class ByteBpeTokenizer final : public Tokenizer {
 public:
  // ValueError for an empty token, one that occurs twice, an added token or end that is none; FileError
  // "merges.txt:38", or ValueError without a file, for a merge of unknown tokens.
  explicit ByteBpeTokenizer(ByteBpe data);
  static TokenizerPtr from_json(const nlohmann::json& json);

  std::int64_t size() const override { return kSpecialTokens + std::ssize(data_.tokens); }
  std::string piece(std::int64_t id) const override;
  std::string_view kind() const override { return "byte-bpe"; }
  std::string serialize() const override;
  std::optional<std::int64_t> end_of_text() const override;

 private:
  struct Merge {
    std::int64_t rank, token;
  };
  std::vector<std::int64_t> encode_valid(std::string_view line, std::int64_t) const override;
  std::vector<std::int64_t> encode_valid_text(std::string_view text) const override;
  std::string decode_plain(std::span<const std::int64_t> ids) const override;

  void add_merge(std::size_t rank);
  std::int64_t id(std::string_view token) const;  // kUnk: none
  const Merge* merge_of(std::int64_t left, std::int64_t right) const;
  void encode_words(std::string text, std::vector<std::int64_t>& ids) const;
  void encode_word(std::string_view word, std::vector<std::int64_t>& ids) const;

  ByteBpe data_;
  std::unordered_map<std::string, std::int64_t> ids_;
  std::vector<std::string> bytes_;                   // each token's bytes
  std::vector<std::int64_t> byte_ids_;               // each byte's id
  std::unordered_map<std::uint64_t, Merge> merges_;  // by left * 2^32 + right
};

}  // namespace glim

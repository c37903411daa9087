// Tokens and their numbers.
//
//   0 <pad>   1 <s> (begin)   2 </s> (end)   3 <unk> (not in the vocabulary)   4 … V-1 tokens
//
// A vocabulary is counted on training data only, most frequent token first and equal frequencies in
// the order of their bytes, so that the same data give the same numbers everywhere.
//
// The names of the four special tokens are reserved: a text that contains "</s>" gets <unk> there,
// never the control token.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace glim {

inline constexpr std::int64_t kPad = 0, kBos = 1, kEos = 2, kUnk = 3, kSpecialTokens = 4;
inline constexpr std::string_view kSpecialNames[] = {"<pad>", "<s>", "</s>", "<unk>"};

class Vocabulary {
 public:
  Vocabulary() : Vocabulary(std::vector<std::string>{}) {}
  // `tokens` get the numbers 4, 5, … ValueError when one is empty, invalid UTF-8, reserved or twice.
  explicit Vocabulary(std::vector<std::string> tokens);

  std::int64_t size() const { return kSpecialTokens + static_cast<std::int64_t>(tokens_.size()); }
  // kUnk for a token that is not in the vocabulary.
  std::int64_t id(std::string_view token) const;
  bool contains(std::string_view token) const { return id(token) != kUnk; }
  // IndexError outside 0 … size()-1.
  std::string_view token(std::int64_t id) const;
  // Without the four special ones.
  const std::vector<std::string>& tokens() const { return tokens_; }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
  };
  std::vector<std::string> tokens_;
  std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>> ids_;
};

}  // namespace glim

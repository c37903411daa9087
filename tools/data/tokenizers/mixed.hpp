// For lines that mix Chinese or Japanese with other scripts: a token is one character of the former,
// or a run of anything else without white space between them.
//
//   "Tom昨天买了3本书"   Tom 昨 天 买 了 3 本 书
//
// One character of its own: CJK ideographs and their extensions, kana, bopomofo, CJK punctuation and
// full-width forms. White space separates and is dropped; decode puts one space between two
// neighbouring runs and none elsewhere, so that decode(encode(line)) is a line without needless
// spaces.
#pragma once

#include "tools/data/tokenizers/by_vocabulary.hpp"

namespace glim {

class MixedTokenizer final : public VocabularyTokenizer {
 public:
  // ValueError for a token that is more than one token.
  explicit MixedTokenizer(Vocabulary vocabulary);

  static TokenizerPtr train(const TokenizerOptions& options, TrainingText parts);
  static TokenizerPtr from_json(const nlohmann::json& json);

  std::string_view kind() const override { return "mixed"; }
  std::string join(const std::vector<std::string>& tokens) const override;

 private:
  std::vector<std::string> split(std::string_view line) const override;
};

}  // namespace glim

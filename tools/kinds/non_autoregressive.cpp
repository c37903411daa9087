// The kind `non-autoregressive`: all tokens of the target at once (models/non_autoregressive/non_autoregressive.md).
#include "models/non_autoregressive/non_autoregressive.hpp"

#include "tools/kinds/pairs.hpp"

namespace glim {

TransformerConfig usual_transformer();
extern const char* const kTransformerSettings;

const Kind& non_autoregressive_kind() {
  static const Kind kind = [] {
    Kind k = pair_kind<build_layers<NonAutoregressive, NonAutoregressiveConfig>>(
        "non-autoregressive", NonAutoregressiveConfig{usual_transformer()}, kTransformerSettings);
    std::erase_if(k.options, [](const std::string& o) { return o.find("sampling") != o.npos; });
    k.one_pass = true;
    k.compared =
        "all tokens in one pass, which is why it is fast. It is worse in BLEU and exact match "
        "because its tokens are chosen without knowing each other: where several wordings are "
        "likely, or where it is not sure at which position a word is, parts of each come out, "
        "and words come twice or not at all. Its perplexity is that of tokens given the true "
        "length.";
    return k;
  }();
  return kind;
}

}  // namespace glim

// The kind `non-autoregressive`: all tokens of the target at once (models/non_autoregressive/non_autoregressive.md).
#include "models/non_autoregressive/non_autoregressive.hpp"

#include "tools/kinds/estimate.hpp"
#include "tools/kinds/kind.hpp"
#include "tools/kinds/pairs.hpp"

namespace glim {

extern const char* const kTransformerSettings;

namespace {

std::unique_ptr<SequenceModel> build_non_autoregressive(const TrainOptions& o, Index src_vocab,
                                                        Index tgt_vocab) {
  auto sizes = sized_for<NonAutoregressiveConfig>(o, src_vocab, tgt_vocab);
  if (sizes.decoder_layers == 0) sizes.decoder_layers = sizes.encoder_layers;
  return std::make_unique<NonAutoregressive>(sizes);
}

NonAutoregressiveConfig usual_non_autoregressive() {
  NonAutoregressiveConfig sizes;
  sizes.encoder_layers = 3;
  sizes.decoder_layers = 0;
  sizes.d_model = 256;
  sizes.d_ff = 512;
  return sizes;
}

}  // namespace

const Kind& non_autoregressive_kind() {
  static const Kind kind{
      .name = "non-autoregressive",
      .sizes = usual_non_autoregressive(),
      .options = words(kPairOptions),
      .usual = words(kUsualPairOptions),
      .tasks = words(kPairTasks),
      .settings = kTransformerSettings,
      .example = words("sentence translation"),
      .one_pass = true,
      .compared =
          "all tokens in one pass, which is why it is fast. It is worse in BLEU and exact match "
          "because its tokens are chosen without knowing each other: where several wordings are "
          "likely, or where it is not sure at which position a word is, parts of each come out, "
          "and "
          "words come twice or not at all. Its perplexity is that of tokens given the true length.",
      .learner =
          [](const TrainOptions& o, const ModelFile* init) {
            return make_pair_learner(o, init, build_non_autoregressive);
          },
      .read = [](Example& e,
                 const ExampleOptions& o) { read_pair(e, o, build_non_autoregressive); },
      .least =
          [](const TrainOptions& o) {
            return least_of_layers(o, least_decoders(o), static_cast<double>(o.max_length));
          }};
  return kind;
}

}  // namespace glim

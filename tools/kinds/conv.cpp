// The kind `conv`: convolutions with gates, from a source to a target sequence (models/conv/conv_seq2seq.md).
#include "models/conv/conv_seq2seq.hpp"
#include "tools/kinds/estimate.hpp"
#include "tools/kinds/kind.hpp"
#include "tools/kinds/pairs.hpp"

namespace glim {
namespace {

std::unique_ptr<SequenceModel> build_conv(const TrainOptions& o, Index src_vocab, Index tgt_vocab) {
  auto sizes = sized_for<ConvSeq2SeqConfig>(o, src_vocab, tgt_vocab);
  if (sizes.decoder_layers == 0) sizes.decoder_layers = sizes.encoder_layers;
  return std::make_unique<ConvSeq2Seq>(sizes);
}

}  // namespace

const Kind& conv_kind() {
  static const Kind kind{
      .name = "conv",
      .sizes = ConvSeq2SeqConfig{.encoder_layers = 3, .decoder_layers = 0},
      .options = words(std::string(kPairOptions) + kSampledOptions),
      .usual = words(kUsualPairOptions),
      .tasks = words(kPairTasks),
      .settings = R"(
schedule = "cosine"
rate = 1e-3
positions = "learned"

["files"]
d-model = 128
warmup = 200
epochs = 0
batch-tokens = 0
average = 3

["copy, reverse, noisy"]
layers = 3
d-model = 64
label-smoothing = 0
batch-tokens = 0
batch-sentences = 40
rate = 3e-3
warmup = 50

["phrasebook"]
target-tokenizer = "char"
layers = 3
d-model = 128
epochs = 24
batch-tokens = 1024
rate = 2e-3
warmup = 300
)",
      .example = words("sentence translation"),
      .compared =
          "the path grows only with the layers, but a layer sees a few neighbours: far positions "
          "meet late, or only through the attention between the two sides.",
      .learner = [](const TrainOptions& o,
                    const ModelFile* init) { return make_pair_learner(o, init, build_conv); },
      .read = [](Example& e, const ExampleOptions& o) { read_pair(e, o, build_conv); },
      .least =
          [](const TrainOptions& o) {
            const auto& sizes = o.config<ConvSeq2SeqConfig>();
            const auto d = static_cast<double>(sizes.d_model);
            const double layers = static_cast<double>(sizes.encoder_layers) + least_decoders(o);
            return with_positions(
                o,
                {.parameters = layers * static_cast<double>(sizes.kernel) * 2 * d * d,
                 .layers = static_cast<double>(sizes.encoder_layers)},
                static_cast<double>(o.max_length));
          }};
  return kind;
}

}  // namespace glim

// The kind `conv`: convolutions with gates, from a source to a target sequence (models/conv/conv_seq2seq.md).
#include "models/conv/conv_seq2seq.hpp"
#include "tools/kinds/pairs.hpp"

namespace glim {
const Kind& conv_kind() {
  static const Kind kind = [] {
    Kind k = pair_kind<build_layers<ConvSeq2Seq, ConvSeq2SeqConfig>>(
        "conv", ConvSeq2SeqConfig{.encoder_layers = 3, .decoder_layers = 0},
        std::string("positions = \"learned\"\n") + kPairSettings + R"(
["files"]
d-model = 128

["copy, reverse, noisy"]
layers = 3
d-model = 64

["phrasebook"]
target-tokenizer = "char"
layers = 3
d-model = 128
epochs = 24
batch-tokens = 1024
rate = 2e-3
warmup = 300
)");
    k.compared =
        "the path grows only with the layers, but a layer sees a few neighbours: far positions "
        "meet late, or only through the attention between the two sides.";
    k.least = [](const TrainOptions& o) {
      const auto& sizes = o.config<ConvSeq2SeqConfig>();
      const auto d = static_cast<double>(sizes.d_model);
      const double layers = static_cast<double>(sizes.encoder_layers) + least_decoders(o);
      return with_positions(o,
                            {.parameters = layers * static_cast<double>(sizes.kernel) * 2 * d * d,
                             .layers = static_cast<double>(sizes.encoder_layers)},
                            static_cast<double>(o.max_length));
    };
    return k;
  }();
  return kind;
}

}  // namespace glim

// The kind `rnn`: a recurrent encoder and decoder with attention (models/rnn/seq2seq_rnn.md).
#include "models/rnn/seq2seq_rnn.hpp"
#include "tensor/error.hpp"
#include "tools/kinds/pairs.hpp"

namespace glim {
namespace {

std::unique_ptr<SequenceModel> build_rnn(const TrainOptions& o, Index src_vocab, Index tgt_vocab) {
  const auto sizes = sized_for<Seq2SeqRnnConfig>(o, src_vocab, tgt_vocab);
  if (sizes.attention == AttentionScore::Dot && sizes.d_model % 2 != 0)
    throw ValueError("--d-model",
                     "with --attention dot each direction has half of it: it must be even, not " +
                         std::to_string(sizes.d_model));
  if (sizes.attention == AttentionScore::None && sizes.copy)
    throw ValueError("--copy", "points by attention, which --attention none leaves out");
  if (sizes.attention == AttentionScore::None && o.guided_attention > 0)
    throw ValueError("--guided-attention", "has no attention to guide with --attention none");
  return std::make_unique<Seq2SeqRnn>(sizes);
}

}  // namespace

const Kind& rnn_kind() {
  static const Kind kind = [] {
    Kind k = pair_kind<build_rnn>(
        "rnn", Seq2SeqRnnConfig{.d_embed = 256, .d_model = 256, .layers = 1, .dropout = 0.1},
        std::string("layers = 1\n") + kPairSettings + R"(
["files"]
d-embed = 128
d-model = 128

["copy, reverse, noisy"]
d-embed = 32
d-model = 64

["phrasebook, names"]
target-tokenizer = "char"
d-embed = 64
d-model = 128
epochs = 20
batch-tokens = 1024
rate = 2e-3
warmup = 300

["names"]
target-tokenizer = "mixed"
min-frequency = 5
label-smoothing = 0
)");
    k.compared =
        "what the end of a sentence has to know of its beginning goes through every step between; "
        "neither direction of it can be computed in parallel.";
    k.least = [](const TrainOptions& o) {
      const auto& sizes = o.config<Seq2SeqRnnConfig>();
      const auto d = static_cast<double>(sizes.d_model), n = static_cast<double>(sizes.layers);
      return Least{.parameters = n * 2 * d * d + static_cast<double>(sizes.d_embed), .layers = n};
    };
    return k;
  }();
  return kind;
}

}  // namespace glim

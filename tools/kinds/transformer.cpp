// The kind `transformer`: Vaswani et al. 2017, from a source to a target sequence (models/transformer/transformer.md).
#include "models/transformer/transformer.hpp"

#include "tools/kinds/pairs.hpp"

namespace glim {
TransformerConfig usual_transformer() {
  TransformerConfig sizes;
  sizes.encoder_layers = 3;
  sizes.decoder_layers = 0;
  sizes.d_model = 256;
  sizes.d_ff = 512;
  return sizes;
}

// Names are words that no vocabulary has: min-frequency. The tutorials' sizes: 64 pairs of 100 tokens by heart.
extern const char* const kTransformerSettings = R"(
["phrasebook"]
target-tokenizer = "char"
layers = 2
d-model = 128
heads = 4
d-ff = 256
norm = "pre"
dropout = 0.05
label-smoothing = 0.05
epochs = 14
batch-tokens = 512
schedule = "cosine"
rate = 2e-3
warmup = 300
average = 3
try-every = 2
enough = 0.99

["names"]
target-tokenizer = "mixed"
min-frequency = 5
label-smoothing = 0
layers = 2
d-model = 128
heads = 4
d-ff = 256
norm = "pre"
epochs = 24
batch-tokens = 1024
schedule = "cosine"
rate = 2e-3
warmup = 300
average = 5

["copy, reverse, noisy"]
layers = 2
d-model = 64
heads = 4
d-ff = 128
norm = "pre"
label-smoothing = 0
batch-tokens = 0
batch-sentences = 40
warmup = 150

["random"]
layers = 6
d-model = 512
heads = 8
d-ff = 2048
label-smoothing = 0
batch-tokens = 0
batch-sentences = 64
schedule = "constant"
rate = 1e-4
epochs = 100

["files"]
layers = 2
d-model = 128
heads = 4
d-ff = 256
norm = "pre"
schedule = "cosine"
rate = 1e-3
warmup = 200
epochs = 0
batch-tokens = 0
average = 3
)";

const Kind& transformer_kind() {
  static const Kind kind = [] {
    Kind k = pair_kind<build_layers<Transformer, TransformerConfig>>(
        "transformer", usual_transformer(), kTransformerSettings);
    k.compared =
        "any two positions are a few ops apart, however long the sentence; training sees all "
        "positions at once, generating takes a pass for each token.";
    return k;
  }();
  return kind;
}

}  // namespace glim

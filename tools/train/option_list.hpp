// Every option of a training run, once: its group and name on the command line, its field, what it is, and
// the values that it may have. The command line, configuration files, checkpoints and resuming all go by
// this list.
#pragma once

#include "tools/common/range.hpp"
#include "tools/train/options.hpp"

namespace glim {

struct OptionText {
  const char *group, *name, *help;
  Range range;  // of a number
};

// f(text, field) for each, in the order of the help. `Options` may be const.
template <class Options, class F>
void each_option(Options& o, const F& f) {
  const char* group = "Data";
  auto take = [&](const char* name, auto& field, const char* help, const Range& range = {}) {
    f(OptionText{group, name, help, range}, field);
  };
  take("kind", o.kind, "kind of model");
  take("task", o.task, "phrasebook, names, copy, reverse, noisy, random, or files");
  take("source", o.source, "file of source sentences, one a line");
  take("target", o.target, "file of target sentences");
  take("valid-source", o.valid_source, "file of source sentences to validate on");
  take("valid-target", o.valid_target, "file of target sentences to validate on");
  take("text", o.text, "file of text (gpt), or of sentences, one a line (bert)");
  take("valid-text", o.valid_text, "the same to validate on (else the last tenth of --text)");
  take("labelled", o.labelled, "file of sentence<TAB>label lines (classifier)");
  take("valid-labelled", o.valid_labelled, "the same to validate on");
  take("images", o.images, "IDX file of training images, plain or gzipped (vit)");
  take("labels", o.labels, "IDX file of their labels");
  take("valid-images", o.valid_images, "the same to validate on");
  take("valid-labels", o.valid_labels, "the same to validate on");
  take("image-folder", o.image_folder, "instead: a folder with a folder of PNGs for each class");
  take("valid-image-folder", o.valid_image_folder, "the same to validate on");
  take("train-first", o.train_first, "train on the first so many images alone (0: all others)",
       kCount);
  take("valid-last", o.valid_last, "validate on the last so many images, not trained on", kCount);
  take("init-from", o.init_from, "pre-trained bert model to begin with (classifier)");
  take("tokenizer", o.tokenizer, "word, char, mixed, sentencepiece-bpe, sentencepiece-unigram");
  take("target-tokenizer", o.target_tokenizer, "of the target side, if another");
  take("shared-vocabulary", o.shared_vocabulary, "one vocabulary for both sides");
  take("vocabulary", o.vocabulary, "most tokens in a vocabulary (0: all; 8,000 with sentencepiece)",
       kCount);
  take("min-frequency", o.min_frequency, "least occurrences of a word or character", kPositive);
  take("max-length", o.max_length, "longest sentence, in tokens; longer pairs are left out",
       kPositive);
  take("examples", o.examples, "pairs that copy, reverse and noisy generate", kPositive);
  take("teacher", o.teacher, "model whose translations replace the training targets");
  take("teacher-beam", o.teacher_beam, "prefixes that the teacher keeps at each step", kPositive);
  take("word-dropout", o.word_dropout, "share of tokens hidden in training (classifier)", kShare);
  group = "Model";
  take("layers", o.layers, "encoder layers", kPositive);
  take("decoder-layers", o.decoder_layers, "decoder layers (0: as --layers)", kCount);
  take("d-model", o.d_model, "width D", kPositive);
  take("heads", o.heads, "attention heads H; must divide D", kPositive);
  take("d-ff", o.d_ff, "width of the feed-forward layers", kPositive);
  take("dropout", o.dropout, "dropout probability", kShare);
  take("attention-dropout", o.attention_dropout, "of attention (below 0: as --dropout)",
       {-1, 1, false, true});
  take("activation-dropout", o.activation_dropout,
       "of the feed-forward's hidden layer (below 0: as --dropout)", {-1, 1, false, true});
  take("norm", o.norm, "pre or post");
  take("activation", o.activation, "relu, gelu or silu");
  take("tie", o.tie, "weights shared by embeddings and generator: none, decoder or all");
  take("positions", o.positions, "sinusoidal, learned, rotary or alibi");
  take("d-embed", o.d_embed, "width of a recurrent model's embeddings", kPositive);
  take("cell", o.cell, "of a recurrent model: gru, lstm or rnn");
  take("attention", o.attention, "of a recurrent model: additive, dot, general or concat");
  take("patch", o.patch, "side of the square patches of an image (vit)", kPositive);
  take("kernel", o.kernel, "positions that a layer of a convolutional model sees", kPositive);
  take("copy", o.copy, "copy words of the source: a pointer mixed with the generator");
  take("length", o.length,
       "of a non-autoregressive output: predict, or long (cut at the first END)");
  take("block", o.block, "tokens of context (gpt)", kPositive);
  take("init", o.init, "deviation of the initial weights (gpt, bert, classifier)", kAboveZero);
  take("embedding-init", o.embedding_init,
       "deviation of the initial embeddings (0: xavier-uniform, as other matrices)", kNotNegative);
  take("bias", o.bias, "biases in layers and norms (gpt)");
  take("pooling", o.pooling, "what a sentence is judged by: first (token) or mean (classifier)");
  take("recompute", o.recompute,
       "layers that backward runs again instead of keeping what it reads: none, encoder or all");
  group = "Training";
  take("epochs", o.epochs, "passes over the training pairs", kPositive);
  take("max-steps", o.max_steps, "most updates (0: no limit)", kCount);
  take("batch-tokens", o.batch_tokens, "most padded tokens of a batch (0: no limit)", kCount);
  take("batch-sentences", o.batch_sentences, "most pairs of a batch (0: no limit)", kCount);
  take("accumulate", o.accumulate, "batches joined to one update", kPositive);
  take("label-smoothing", o.label_smoothing, "ε: probability given to the other tokens", kShare);
  take("shift", o.shift, "most pixels that training images are moved by (vit)", {0, 1e6});
  take("rotation", o.rotation, "most degrees that training images are turned by (vit)", {0, 180});
  take("guided-attention", o.guided_attention,
       "weight of the penalty on attention away from the diagonal (0: none)", kNotNegative);
  take("guided-width", o.guided_width, "g: how far from the diagonal is free, as a share",
       kAboveZero);
  take("scheduled-sampling", o.scheduled_sampling,
       "largest share of decoder inputs that are the model's own predictions (0: none)", {0, 1});
  take("sampling-schedule", o.sampling_schedule,
       "how the share grows: constant, linear, exponential or inverse-sigmoid");
  take("sampling-steps", o.sampling_steps, "steps until it is at its largest", kPositive);
  take("optimizer", o.optimizer, "adam, adamw or sgd");
  take("beta1", o.beta1, "Adam's β₁", kShare);
  take("beta2", o.beta2, "Adam's β₂", kShare);
  take("epsilon", o.epsilon, "Adam's ε", kAboveZero);
  take("weight-decay", o.weight_decay, "L2 penalty (adamw: decoupled decay, of matrices only)",
       kNotNegative);
  take("momentum", o.momentum, "of sgd", kShare);
  take("schedule", o.schedule, "noam, inverse-sqrt, cosine or constant");
  take("rate", o.rate, "peak learning rate; noam: its factor (0: 5e-4; noam 1)", kNotNegative);
  take("warmup", o.warmup, "steps of warm-up", kCount);
  take("clip", o.clip, "largest global norm of the gradient (0: no limit)", kNotNegative);
  take("seed", o.seed, "of the initial weights, the order of batches and dropout", kCount);
  take("precision", o.precision, "float32 or float64");
  group = "Run";
  take("patience", o.patience, "validations without improvement before stopping (0: never)",
       kCount);
  take("try-every", o.try_every,
       "epochs between translations of validation sentences, some shown (0: never)", kCount);
  take("enough", o.enough, "stop when this share of them is exactly the reference (0: never)",
       {0, 1});
  take("valid-every", o.valid_every, "steps between validations (0: each epoch)", kCount);
  take("save-every", o.save_every, "steps between checkpoints (0: at each validation)", kCount);
  take("log-every", o.log_every, "steps between lines of the log", kPositive);
  take("record", o.record,
       "keep gradient norms, entropies and more in OUT/recording.jsonl, for glim report");
  take("record-every", o.record_every, "steps between them", kPositive);
  take("average", o.average, "last epochs whose weights are averaged in the end (0: none)", kCount);
  take("out", o.out, "folder of the model");
}

}  // namespace glim

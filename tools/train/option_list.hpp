// Every option of a training run, once: its group and name on the command line, its field, and what
// it is. The command line, configuration files, checkpoints and resuming all go by this list.
#pragma once

#include "tools/train/options.hpp"

namespace glim {

// f(group, name, field, help) for each, in the order of the help. `Options` may be const.
template <class Options, class F>
void each_option(Options& o, const F& f) {
  const char* group = "Data";
  f(group, "kind", o.kind, "kind of model");
  f(group, "task", o.task, "phrasebook, names, copy, reverse, noisy, random, or files");
  f(group, "source", o.source, "file of source sentences, one a line");
  f(group, "target", o.target, "file of target sentences");
  f(group, "valid-source", o.valid_source, "file of source sentences to validate on");
  f(group, "valid-target", o.valid_target, "file of target sentences to validate on");
  f(group, "text", o.text, "file of text (gpt), or of sentences, one a line (bert)");
  f(group, "valid-text", o.valid_text, "the same to validate on (else the last tenth of --text)");
  f(group, "labelled", o.labelled, "file of sentence<TAB>label lines (classifier)");
  f(group, "valid-labelled", o.valid_labelled, "the same to validate on");
  f(group, "images", o.images, "IDX file of training images, plain or gzipped (vit)");
  f(group, "labels", o.labels, "IDX file of their labels");
  f(group, "valid-images", o.valid_images, "the same to validate on");
  f(group, "valid-labels", o.valid_labels, "the same to validate on");
  f(group, "image-folder", o.image_folder,
    "instead: a folder with a folder of PNGs for each class");
  f(group, "valid-image-folder", o.valid_image_folder, "the same to validate on");
  f(group, "train-first", o.train_first, "train on the first so many images alone (0: all others)");
  f(group, "valid-last", o.valid_last, "validate on the last so many images, not trained on");
  f(group, "init-from", o.init_from, "pre-trained bert model to begin with (classifier)");
  f(group, "tokenizer", o.tokenizer, "word, char, mixed, sentencepiece-bpe, sentencepiece-unigram");
  f(group, "target-tokenizer", o.target_tokenizer, "of the target side, if another");
  f(group, "shared-vocabulary", o.shared_vocabulary, "one vocabulary for both sides");
  f(group, "vocabulary", o.vocabulary,
    "most tokens in a vocabulary (0: all; 8,000 with sentencepiece)");
  f(group, "min-frequency", o.min_frequency, "least occurrences of a word or character");
  f(group, "max-length", o.max_length, "longest sentence, in tokens; longer pairs are left out");
  f(group, "examples", o.examples, "pairs that copy, reverse and noisy generate");
  f(group, "teacher", o.teacher, "model whose translations replace the training targets");
  f(group, "teacher-beam", o.teacher_beam, "prefixes that the teacher keeps at each step");
  f(group, "word-dropout", o.word_dropout, "share of tokens hidden in training (classifier)");
  group = "Model";
  f(group, "layers", o.layers, "encoder layers");
  f(group, "decoder-layers", o.decoder_layers, "decoder layers (0: as --layers)");
  f(group, "d-model", o.d_model, "width D");
  f(group, "heads", o.heads, "attention heads H; must divide D");
  f(group, "d-ff", o.d_ff, "width of the feed-forward layers");
  f(group, "dropout", o.dropout, "dropout probability");
  f(group, "attention-dropout", o.attention_dropout, "of attention (below 0: as --dropout)");
  f(group, "activation-dropout", o.activation_dropout,
    "of the feed-forward's hidden layer (below 0: as --dropout)");
  f(group, "norm", o.norm, "pre or post");
  f(group, "activation", o.activation, "relu, gelu or silu");
  f(group, "tie", o.tie, "weights shared by embeddings and generator: none, decoder or all");
  f(group, "positions", o.positions, "sinusoidal, learned, rotary or alibi");
  f(group, "d-embed", o.d_embed, "width of a recurrent model's embeddings");
  f(group, "cell", o.cell, "of a recurrent model: gru, lstm or rnn");
  f(group, "attention", o.attention, "of a recurrent model: additive, dot, general or concat");
  f(group, "patch", o.patch, "side of the square patches of an image (vit)");
  f(group, "kernel", o.kernel, "positions that a layer of a convolutional model sees");
  f(group, "copy", o.copy, "copy words of the source: a pointer mixed with the generator");
  f(group, "length", o.length,
    "of a non-autoregressive output: predict, or long (cut at the first END)");
  f(group, "block", o.block, "tokens of context (gpt)");
  f(group, "init", o.init, "deviation of the initial weights (gpt, bert, classifier)");
  f(group, "embedding-init", o.embedding_init,
    "deviation of the initial embeddings (0: xavier-uniform, as other matrices)");
  f(group, "bias", o.bias, "biases in layers and norms (gpt)");
  f(group, "pooling", o.pooling,
    "what a sentence is judged by: first (token) or mean (classifier)");
  f(group, "recompute", o.recompute,
    "layers that backward runs again instead of keeping what it reads: none, encoder or all");
  group = "Training";
  f(group, "epochs", o.epochs, "passes over the training pairs");
  f(group, "max-steps", o.max_steps, "most updates (0: no limit)");
  f(group, "batch-tokens", o.batch_tokens, "most padded tokens of a batch (0: no limit)");
  f(group, "batch-sentences", o.batch_sentences, "most pairs of a batch (0: no limit)");
  f(group, "accumulate", o.accumulate, "batches joined to one update");
  f(group, "label-smoothing", o.label_smoothing, "ε: probability given to the other tokens");
  f(group, "shift", o.shift, "most pixels that training images are moved by (vit)");
  f(group, "rotation", o.rotation, "most degrees that training images are turned by (vit)");
  f(group, "guided-attention", o.guided_attention,
    "weight of the penalty on attention away from the diagonal (0: none)");
  f(group, "guided-width", o.guided_width, "g: how far from the diagonal is free, as a share");
  f(group, "scheduled-sampling", o.scheduled_sampling,
    "largest share of decoder inputs that are the model's own predictions (0: none)");
  f(group, "sampling-schedule", o.sampling_schedule,
    "how the share grows: constant, linear, exponential or inverse-sigmoid");
  f(group, "sampling-steps", o.sampling_steps, "steps until it is at its largest");
  f(group, "optimizer", o.optimizer, "adam, adamw or sgd");
  f(group, "beta1", o.beta1, "Adam's β₁");
  f(group, "beta2", o.beta2, "Adam's β₂");
  f(group, "epsilon", o.epsilon, "Adam's ε");
  f(group, "weight-decay", o.weight_decay, "L2 penalty (adamw: decoupled decay, of matrices only)");
  f(group, "momentum", o.momentum, "of sgd");
  f(group, "schedule", o.schedule, "noam, inverse-sqrt, cosine or constant");
  f(group, "rate", o.rate, "peak learning rate; noam: its factor (0: 5e-4; noam 1)");
  f(group, "warmup", o.warmup, "steps of warm-up");
  f(group, "clip", o.clip, "largest global norm of the gradient (0: no limit)");
  f(group, "seed", o.seed, "of the initial weights, the order of batches and dropout");
  f(group, "precision", o.precision, "float32 or float64");
  group = "Run";
  f(group, "patience", o.patience, "validations without improvement before stopping (0: never)");
  f(group, "try-every", o.try_every,
    "epochs between translations of validation sentences, some shown (0: never)");
  f(group, "enough", o.enough, "stop when this share of them is exactly the reference (0: never)");
  f(group, "valid-every", o.valid_every, "steps between validations (0: each epoch)");
  f(group, "save-every", o.save_every, "steps between checkpoints (0: at each validation)");
  f(group, "log-every", o.log_every, "steps between lines of the log");
  f(group, "record", o.record,
    "keep gradient norms, entropies and more in OUT/recording.jsonl, for glim report");
  f(group, "record-every", o.record_every, "steps between them");
  f(group, "average", o.average, "last epochs whose weights are averaged in the end (0: none)");
  f(group, "out", o.out, "folder of the model");
}

}  // namespace glim

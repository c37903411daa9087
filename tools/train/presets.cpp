#include "tools/train/presets.hpp"

#include <cmath>

namespace glim {

namespace {

template <class UnlessGiven>
void apply_recurrent_preset(TrainOptions& o, const UnlessGiven& unless_given) {
  unless_given("schedule", o.schedule, "cosine");
  unless_given("rate", o.rate, 1e-3);
  unless_given("layers", o.layers, 1);
  if (o.task == "phrasebook" || o.task == "names") {
    unless_given("target-tokenizer", o.target_tokenizer, "char");
    unless_given("d-embed", o.d_embed, 64);
    unless_given("d-model", o.d_model, 128);
    unless_given("epochs", o.epochs, 20);
    unless_given("batch-tokens", o.batch_tokens, 1024);
    unless_given("rate", o.rate, 2e-3);
    unless_given("warmup", o.warmup, 300);
    if (o.task == "names") {
      unless_given("target-tokenizer", o.target_tokenizer, "mixed");
      unless_given("min-frequency", o.min_frequency, 5);
      unless_given("label-smoothing", o.label_smoothing, 0.0);
    }
  } else if (o.task == "copy" || o.task == "reverse" || o.task == "noisy") {
    unless_given("d-embed", o.d_embed, 32);
    unless_given("d-model", o.d_model, 64);
    unless_given("label-smoothing", o.label_smoothing, 0.0);
    unless_given("batch-tokens", o.batch_tokens, 0);
    unless_given("batch-sentences", o.batch_sentences, 40);
    unless_given("rate", o.rate, 3e-3);
    unless_given("warmup", o.warmup, 50);
  }
}

template <class UnlessGiven>
void apply_convolutional_preset(TrainOptions& o, const UnlessGiven& unless_given) {
  unless_given("schedule", o.schedule, "cosine");
  unless_given("rate", o.rate, 1e-3);
  if (o.task == "phrasebook") {
    unless_given("target-tokenizer", o.target_tokenizer, "char");
    unless_given("layers", o.layers, 3);
    unless_given("d-model", o.d_model, 128);
    unless_given("epochs", o.epochs, 24);
    unless_given("batch-tokens", o.batch_tokens, 1024);
    unless_given("rate", o.rate, 2e-3);
    unless_given("warmup", o.warmup, 300);
  } else if (o.task == "copy" || o.task == "reverse" || o.task == "noisy") {
    unless_given("layers", o.layers, 3);
    unless_given("d-model", o.d_model, 64);
    unless_given("label-smoothing", o.label_smoothing, 0.0);
    unless_given("batch-tokens", o.batch_tokens, 0);
    unless_given("batch-sentences", o.batch_sentences, 40);
    unless_given("rate", o.rate, 3e-3);
    unless_given("warmup", o.warmup, 50);
  }
}

// nanoGPT's CPU recipe for a text by characters.
template <class UnlessGiven, class Given>
void apply_gpt_preset(TrainOptions& o, const UnlessGiven& unless_given, const Given& given) {
  unless_given("tokenizer", o.tokenizer, "char");
  unless_given("layers", o.layers, 4);
  unless_given("d-model", o.d_model, 128);
  unless_given("heads", o.heads, 4);
  unless_given("d-ff", o.d_ff, 4 * o.d_model);
  unless_given("dropout", o.dropout, 0.0);
  unless_given("norm", o.norm, "pre");
  unless_given("activation", o.activation, "gelu");
  unless_given("tie", o.tie, "decoder");
  unless_given("positions", o.positions, "learned");
  if (!given("max-steps") && !given("epochs")) {
    o.max_steps = 2000;
    o.epochs = 1000;
  }
  unless_given("batch-tokens", o.batch_tokens, 0);
  unless_given("batch-sentences", o.batch_sentences, 12);
  unless_given("label-smoothing", o.label_smoothing, 0.0);
  unless_given("optimizer", o.optimizer, "adamw");
  unless_given("beta2", o.beta2, 0.99);
  unless_given("epsilon", o.epsilon, 1e-8);
  unless_given("weight-decay", o.weight_decay, 0.1);
  unless_given("schedule", o.schedule, "cosine");
  unless_given("rate", o.rate, 1e-3);
  unless_given("warmup", o.warmup, 100);
  unless_given("valid-every", o.valid_every, 250);
  // nanoGPT's 0.02 suits its wide models; this keeps the variance of a product of any width.
  unless_given("init", o.init, 1 / std::sqrt(static_cast<double>(o.d_model)));
}

template <class UnlessGiven>
void apply_bert_preset(TrainOptions& o, const UnlessGiven& unless_given) {
  unless_given("layers", o.layers, 2);
  unless_given("d-model", o.d_model, 128);
  unless_given("heads", o.heads, 4);
  unless_given("d-ff", o.d_ff, 4 * o.d_model);
  unless_given("norm", o.norm, "pre");
  unless_given("activation", o.activation, "gelu");
  unless_given("tie", o.tie, "decoder");
  unless_given("positions", o.positions, "learned");
  unless_given("epochs", o.epochs, 30);
  unless_given("batch-tokens", o.batch_tokens, 2048);
  unless_given("label-smoothing", o.label_smoothing, 0.0);
  unless_given("optimizer", o.optimizer, "adamw");
  unless_given("weight-decay", o.weight_decay, 0.01);
  unless_given("schedule", o.schedule, "cosine");
  unless_given("rate", o.rate, 1e-3);
  unless_given("warmup", o.warmup, 200);
}

template <class UnlessGiven>
void apply_classifier_preset(TrainOptions& o, const UnlessGiven& unless_given) {
  unless_given("layers", o.layers, 1);
  unless_given("d-model", o.d_model, 128);
  unless_given("heads", o.heads, 4);
  unless_given("d-ff", o.d_ff, 2 * o.d_model);
  unless_given("dropout", o.dropout, 0.5);
  unless_given("word-dropout", o.word_dropout, 0.5);
  unless_given("norm", o.norm, "pre");
  unless_given("activation", o.activation, "gelu");
  unless_given("positions", o.positions, "learned");
  unless_given("epochs", o.epochs, 8);
  unless_given("batch-tokens", o.batch_tokens, 1024);
  unless_given("optimizer", o.optimizer, "adamw");
  unless_given("weight-decay", o.weight_decay, 1.0);
  unless_given("schedule", o.schedule, "cosine");
  unless_given("rate", o.rate, 1e-3);
  unless_given("warmup", o.warmup, 100);
}

template <class UnlessGiven>
void apply_image_preset(TrainOptions& o, const UnlessGiven& unless_given) {
  unless_given("layers", o.layers, 4);
  unless_given("d-model", o.d_model, 64);
  unless_given("heads", o.heads, 4);
  unless_given("d-ff", o.d_ff, 4 * o.d_model);
  unless_given("epochs", o.epochs, 30);
  unless_given("batch-tokens", o.batch_tokens, 0);
  unless_given("batch-sentences", o.batch_sentences, 64);
  unless_given("optimizer", o.optimizer, "adamw");
  unless_given("weight-decay", o.weight_decay, 0.01);
  unless_given("schedule", o.schedule, "cosine");
  unless_given("rate", o.rate, 2e-3);
  unless_given("warmup", o.warmup, 200);
}

}  // namespace

void apply_preset(TrainOptions& o, const std::function<bool(const char*)>& given) {
  auto unless_given = [&](const char* name, auto& field, auto value) {
    if (!given(name)) field = value;
  };
  if (o.kind == "rnn") {
    apply_recurrent_preset(o, unless_given);
  } else if (o.kind == "conv") {
    apply_convolutional_preset(o, unless_given);
  } else if (o.kind == "vit") {
    apply_image_preset(o, unless_given);
  } else if (o.kind == "gpt") {
    apply_gpt_preset(o, unless_given, given);
  } else if (o.kind == "bert") {
    apply_bert_preset(o, unless_given);
  } else if (o.kind == "classifier") {
    apply_classifier_preset(o, unless_given);
  } else if (o.task == "phrasebook") {
    unless_given("target-tokenizer", o.target_tokenizer, "char");
    unless_given("layers", o.layers, 2);
    unless_given("d-model", o.d_model, 128);
    unless_given("heads", o.heads, 4);
    unless_given("d-ff", o.d_ff, 256);
    unless_given("norm", o.norm, "pre");
    unless_given("dropout", o.dropout, 0.05);
    unless_given("label-smoothing", o.label_smoothing, 0.05);
    unless_given("epochs", o.epochs, 14);
    unless_given("batch-tokens", o.batch_tokens, 512);
    unless_given("schedule", o.schedule, "cosine");
    unless_given("rate", o.rate, 2e-3);
    unless_given("warmup", o.warmup, 300);
    unless_given("average", o.average, 3);
    unless_given("try-every", o.try_every, 2);
    unless_given("enough", o.enough, 0.99);
  } else if (o.task == "names") {  // names are words that no vocabulary has: min-frequency
    unless_given("target-tokenizer", o.target_tokenizer, "mixed");
    unless_given("min-frequency", o.min_frequency, 5);
    unless_given("label-smoothing", o.label_smoothing, 0.0);
    unless_given("layers", o.layers, 2);
    unless_given("d-model", o.d_model, 128);
    unless_given("heads", o.heads, 4);
    unless_given("d-ff", o.d_ff, 256);
    unless_given("norm", o.norm, "pre");
    unless_given("epochs", o.epochs, 24);
    unless_given("batch-tokens", o.batch_tokens, 1024);
    unless_given("schedule", o.schedule, "cosine");
    unless_given("rate", o.rate, 2e-3);
    unless_given("warmup", o.warmup, 300);
    unless_given("average", o.average, 5);
  } else if (o.task == "copy" || o.task == "reverse" || o.task == "noisy") {
    unless_given("layers", o.layers, 2);
    unless_given("d-model", o.d_model, 64);
    unless_given("heads", o.heads, 4);
    unless_given("d-ff", o.d_ff, 128);
    unless_given("norm", o.norm, "pre");
    unless_given("label-smoothing", o.label_smoothing, 0.0);
    unless_given("batch-tokens", o.batch_tokens, 0);
    unless_given("batch-sentences", o.batch_sentences, 40);
    unless_given("warmup", o.warmup, 150);
  } else if (o.task == "random") {  // the tutorials' sizes: 64 pairs of 100 tokens by heart
    unless_given("layers", o.layers, 6);
    unless_given("d-model", o.d_model, 512);
    unless_given("heads", o.heads, 8);
    unless_given("d-ff", o.d_ff, 2048);
    unless_given("label-smoothing", o.label_smoothing, 0.0);
    unless_given("batch-tokens", o.batch_tokens, 0);
    unless_given("batch-sentences", o.batch_sentences, 64);
    unless_given("schedule", o.schedule, "constant");
    unless_given("rate", o.rate, 1e-4);
    unless_given("epochs", o.epochs, 100);
  }
}

}  // namespace glim

// The sizes of the models as data: for each its name in a checkpoint, its field, and the option that sets it.
// Building models, and writing and reading checkpoints, all use these lists.
//
//   auto c = sizes_of<GptConfig>(options);       what the options say; the rest is the caller's
//   to_json(c)                                   for a checkpoint
//   sizes_from_json<GptConfig>(text, file)       FileError naming the file
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include "models/conv/conv_seq2seq.hpp"
#include "models/gpt/gpt.hpp"
#include "tensor/interrupt.hpp"
#include "tensor/io/stored_json.hpp"
#include "tools/train/checkpoint.hpp"
#include "tools/train/option_names.hpp"

namespace glim {

struct Size {
  // Since: absent from files of older programs, which mean its default.
  enum Kept { Always, Since, Never };
  Size(const char* n, Kept k = Always) : name(n), kept(k) {}
  const char* name;
  Kept kept;  // in a checkpoint
};

template <class C, class Config>
concept SizesOf = std::same_as<std::remove_const_t<C>, Config>;

// What all models with a source and a target have in common.
template <class C, class F>
void each_size_of_pairs(C& c, const F& f) {
  f("src_vocab", c.src_vocab);
  f("tgt_vocab", c.tgt_vocab);
  f("d_model", c.d_model, &TrainOptions::d_model);
  f("dropout", c.dropout, &TrainOptions::dropout);
  f("max_len", c.max_len);
  f("pad", c.pad);
}

// And the models of one stack of attention layers.
template <class C, class F>
void each_size_of_stack(C& c, const F& f) {
  f("d_model", c.d_model, &TrainOptions::d_model);
  f("heads", c.heads, &TrainOptions::heads);
  f("layers", c.layers, &TrainOptions::layers);
  f("d_ff", c.d_ff, &TrainOptions::d_ff);
  f("dropout", c.dropout, &TrainOptions::dropout);
  f("norm_eps", c.norm_eps);
}

// A field as options and files have it: the name of a choice, and below 0 for "as dropout".
template <class Field>
auto stored(const Field& field) {
  if constexpr (std::is_enum_v<Field>)
    return kNames<Field>.print(field);
  else if constexpr (std::is_same_v<Field, std::optional<double>>)
    return field.value_or(-1);
  else
    return field;
}
template <class Field>
using Stored = decltype(stored(std::declval<Field>()));

// ValueError naming the option for an unknown choice.
template <class Field>
void restore(const Size& size, Field& field, const Stored<Field>& value) {
  if constexpr (std::is_enum_v<Field>)
    field = kNames<Field>.parse(size.name, value);
  else if constexpr (std::is_same_v<Field, std::optional<double>>)
    field = value < 0 ? std::nullopt : std::optional<double>(value);
  else
    field = value;
}

// f(size, field) or f(size, field, option) for each.
template <SizesOf<TransformerConfig> C, class F>
void each_size(C& c, const F& f) {
  using O = TrainOptions;
  each_size_of_pairs(c, f);
  f("heads", c.heads, &O::heads);
  f("d_ff", c.d_ff, &O::d_ff);
  f("encoder_layers", c.encoder_layers, &O::layers);
  f("decoder_layers", c.decoder_layers, &O::decoder_layers);
  f({"attention_dropout", Size::Since}, c.attention_dropout, &O::attention_dropout);
  f({"activation_dropout", Size::Since}, c.activation_dropout, &O::activation_dropout);
  f("norm", c.norm, &O::norm);
  f("activation", c.activation, &O::activation);
  f("tie", c.tie, &O::tie);
  f("positions", c.positions, &O::positions);
  f("norm_eps", c.norm_eps);
  f({"copy", Size::Since}, c.copy, &O::copy);
  f({"final_norm", Size::Since}, c.final_norm);
  f({"embedding_init", Size::Never}, c.embedding_init, &O::embedding_init);
  f({"recompute", Size::Never}, c.recompute, &O::recompute);
}

template <SizesOf<NonAutoregressiveConfig> C, class F>
void each_size(C& c, const F& f) {
  using Base = std::conditional_t<std::is_const_v<C>, const TransformerConfig, TransformerConfig>;
  each_size(static_cast<Base&>(c), f);
  f("eos", c.eos);
  f("length", c.length, &TrainOptions::length);
  f("length_reach", c.length_reach);
  f("copy_sharpness", c.copy_sharpness);
}

template <SizesOf<Seq2SeqRnnConfig> C, class F>
void each_size(C& c, const F& f) {
  each_size_of_pairs(c, f);
  f("d_embed", c.d_embed, &TrainOptions::d_embed);
  f("layers", c.layers, &TrainOptions::layers);
  f("cell", c.cell, &TrainOptions::cell);
  f("attention", c.attention, &TrainOptions::attention);
  f({"copy", Size::Since}, c.copy, &TrainOptions::copy);
}

template <SizesOf<ConvSeq2SeqConfig> C, class F>
void each_size(C& c, const F& f) {
  each_size_of_pairs(c, f);
  f("kernel", c.kernel, &TrainOptions::kernel);
  f("encoder_layers", c.encoder_layers, &TrainOptions::layers);
  f("decoder_layers", c.decoder_layers, &TrainOptions::decoder_layers);
}

template <SizesOf<GptConfig> C, class F>
void each_size(C& c, const F& f) {
  each_size_of_stack(c, f);
  f("vocab", c.vocab);
  f("context", c.context, &TrainOptions::block);
  f("bias", c.bias, &TrainOptions::bias);
  f({"activation", Size::Since}, c.activation, &TrainOptions::activation);
  f({"silent", Size::Since}, c.never_predicted);
  f({"init", Size::Never}, c.init, &TrainOptions::init);
}

template <SizesOf<BertConfig> C, class F>
void each_size(C& c, const F& f) {
  each_size_of_stack(c, f);
  f("vocab", c.vocab);
  f("max_len", c.max_len, &TrainOptions::max_length);
  f("norm", c.norm, &TrainOptions::norm);
  f("activation", c.activation, &TrainOptions::activation);
  f("learned_positions", c.learned_positions);
  f("pad", c.pad);
  f({"init", Size::Never}, c.init, &TrainOptions::init);
}

template <SizesOf<VitConfig> C, class F>
void each_size(C& c, const F& f) {
  each_size_of_stack(c, f);
  f("channels", c.channels);
  f("height", c.height);
  f("width", c.width);
  f("patch", c.patch, &TrainOptions::patch);
  f("classes", c.classes);
  f("pooling", c.pooling, &TrainOptions::pooling);
}

// ValueError naming the option for an unknown choice.
template <class Config>
Config sizes_of(const TrainOptions& o) {
  Config c;
  each_size(c, [&](const Size& size, auto& field, auto... option) {
    (restore(size, field, o.*option), ...);
  });
  return c;
}

// The other way round: sets the options that say these sizes.
template <class Config>
void set_sizes(TrainOptions& o, const Config& c) {
  each_size(c, [&](const Size&, const auto& field, auto... option) {
    ((o.*option = stored(field)), ...);
  });
}

template <class Config>
std::string to_json(const Config& c) {
  auto j = nlohmann::json::object();
  each_size(c, [&](const Size& size, const auto& field, auto...) {
    if (size.kept != Size::Never) j[size.name] = stored(field);
  });
  return j.dump();
}

template <class Config>
Config sizes_from_json(const std::string& text, const std::string& where) {
  return read_json(text, to_json(Config{}), where, "model description", [](const auto& j) {
    Config c;
    each_size(c, [&](const Size& size, auto& field, auto...) {
      if (size.kept == Size::Never || (size.kept == Size::Since && !j.contains(size.name))) return;
      using Field = std::remove_cvref_t<decltype(field)>;
      restore(size, field, j.at(size.name).template get<Stored<Field>>());
    });
    return c;
  });
}

// More than a model of these weights takes while it is built, its table of positions aside.
double room_for(const StateDict& weights);
template <class Sizes>
double bytes_of_positions(const Sizes& sizes) {
  if constexpr (requires { sizes.max_len; })
    return 8.0 * static_cast<double>(sizes.max_len) * static_cast<double>(sizes.d_model);
  return 0;
}

// A model of the sizes that a file describes, without its weights. FileError naming the file, before anything large is
// built where these weights are much smaller.
template <class Model, class... Sizes>
std::unique_ptr<Model> described_model(const StateDict& weights, const std::string& file,
                                       const Sizes&... sizes) {
  const double room = room_for(weights) + (bytes_of_positions(sizes) + ...);
  try {
    MemoryLimit limit(
        static_cast<std::size_t>(std::min(room, 0.5 * static_cast<double>(SIZE_MAX))));
    return std::make_unique<Model>(sizes...);
  } catch (const MemoryError&) {
    throw FileError(file, "its model describes many more numbers than its tensors have");
  } catch (const Error& e) {
    throw FileError(file, e.one_line());
  }
}

// The same with its weights, in eval().
template <class Model, class... Sizes>
std::unique_ptr<Model> loaded_model(const Checkpoint& c, const std::string& file,
                                    const Sizes&... sizes) {
  auto model = described_model<Model>(c.weights, file, sizes...);
  load_weights(*model, c, file);
  return model;
}

// The tokenizer of a model with so many tokens. FileError naming the file.
TokenizerPtr described_tokenizer(const Checkpoint& c, const std::string& file, Index tokens);

}  // namespace glim

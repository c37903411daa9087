// The sizes of the models as data: for each its name in a file, and its field. Building models, and writing and reading
// their files, use these lists; the options of training that set them have the same names (tools/train/learners/sizes.hpp).
//
//   to_json(c)                                   for a file
//   sizes_from_json<GptConfig>(text, file)       FileError naming the file
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <type_traits>

#include "models/cnn/cnn.hpp"
#include "models/conv/conv_seq2seq.hpp"
#include "models/gpt/gpt.hpp"
#include "models/pipeline/choices.hpp"
#include "tensor/io/stored_json.hpp"

namespace glim {

struct Size {
  // since: absent from files of older programs, which mean its default.
  Size(const char* n, bool later = false) : name(n), since(later) {}
  const char* name;
  bool since;
};
inline constexpr bool kSince = true;

template <class C, class Config>
concept SizesOf = std::same_as<std::remove_const_t<C>, Config>;

// The sizes of every model with a source and a target.
template <class C, class F>
void each_size_of_pairs(C& c, const F& f) {
  f("src_vocab", c.src_vocab);
  f("tgt_vocab", c.tgt_vocab);
  f("d_model", c.d_model);
  f("dropout", c.dropout);
  f("max_len", c.max_len);
  f("pad", c.pad);
}

// And the models of one stack of attention layers.
template <class C, class F>
void each_size_of_stack(C& c, const F& f) {
  f("d_model", c.d_model);
  f("heads", c.heads);
  f("layers", c.layers);
  f("d_ff", c.d_ff);
  f("dropout", c.dropout);
  f("norm_eps", c.norm_eps);
}

// The positions that are added, and the projections of attention.
template <class C, class F>
void each_size_of_order(C& c, const F& f) {
  f({"positions", kSince}, c.positions);
  f({"position_base", kSince}, c.position_base);
  if constexpr (requires { c.share_qk; }) f({"share_qk", kSince}, c.share_qk);
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

// ValueError naming the size for an unknown choice.
template <class Field>
void restore(const Size& size, Field& field, const Stored<Field>& value) {
  if constexpr (std::is_enum_v<Field>)
    field = kNames<Field>.parse(size.name, value);
  else if constexpr (std::is_same_v<Field, std::optional<double>>)
    field = value < 0 ? std::nullopt : std::optional<double>(value);
  else
    field = value;
}

// f(size, field) for each.
template <SizesOf<TransformerConfig> C, class F>
void each_size(C& c, const F& f) {
  each_size_of_pairs(c, f);
  f("heads", c.heads);
  f("d_ff", c.d_ff);
  f("encoder_layers", c.encoder_layers);
  f("decoder_layers", c.decoder_layers);
  f({"attention_dropout", kSince}, c.attention_dropout);
  f({"activation_dropout", kSince}, c.activation_dropout);
  f("norm", c.norm);
  f("activation", c.activation);
  f("tie", c.tie);
  each_size_of_order(c, f);
  f("norm_eps", c.norm_eps);
  f({"copy", kSince}, c.copy);
  f({"final_norm", kSince}, c.final_norm);
}

template <SizesOf<NonAutoregressiveConfig> C, class F>
void each_size(C& c, const F& f) {
  using Base = std::conditional_t<std::is_const_v<C>, const TransformerConfig, TransformerConfig>;
  each_size(static_cast<Base&>(c), f);
  f("eos", c.eos);
  f("length", c.length);
  f("length_reach", c.length_reach);
  f("copy_sharpness", c.copy_sharpness);
}

template <SizesOf<Seq2SeqRnnConfig> C, class F>
void each_size(C& c, const F& f) {
  each_size_of_pairs(c, f);
  f("d_embed", c.d_embed);
  f("layers", c.layers);
  f("cell", c.cell);
  f("attention", c.attention);
  f({"copy", kSince}, c.copy);
}

template <SizesOf<ConvSeq2SeqConfig> C, class F>
void each_size(C& c, const F& f) {
  each_size_of_pairs(c, f);
  f("kernel", c.kernel);
  f("encoder_layers", c.encoder_layers);
  f("decoder_layers", c.decoder_layers);
  each_size_of_order(c, f);
}

template <SizesOf<GptConfig> C, class F>
void each_size(C& c, const F& f) {
  each_size_of_stack(c, f);
  f("vocab", c.vocab);
  f("context", c.context);
  f("bias", c.bias);
  f({"activation", kSince}, c.activation);
  f({"silent", kSince}, c.never_predicted);
  each_size_of_order(c, f);
}

template <SizesOf<BertConfig> C, class F>
void each_size(C& c, const F& f) {
  each_size_of_stack(c, f);
  f("vocab", c.vocab);
  f("max_len", c.max_len);
  f("norm", c.norm);
  f("activation", c.activation);
  each_size_of_order(c, f);
  f("pad", c.pad);
}

// Of every classifier of images.
template <class C, class F>
void each_size_of_images(C& c, const F& f) {
  f("channels", c.channels);
  f("height", c.height);
  f("width", c.width);
  f("classes", c.classes);
}

template <SizesOf<CnnConfig> C, class F>
void each_size(C& c, const F& f) {
  each_size_of_images(c, f);
  f("d_model", c.d_model);
  f("layers", c.layers);
  f("kernel", c.kernel);
  f("dropout", c.dropout);
}

template <SizesOf<VitConfig> C, class F>
void each_size(C& c, const F& f) {
  each_size_of_images(c, f);
  each_size_of_stack(c, f);
  f("patch", c.patch);
  f("pooling", c.pooling);
  each_size_of_order(c, f);
}

template <class Config>
std::string to_json(const Config& c) {
  auto j = nlohmann::json::object();
  each_size(c, [&](const Size& size, const auto& field) { j[size.name] = stored(field); });
  return j.dump();
}

template <class Config>
Config sizes_from_json(const std::string& text, const std::string& where) {
  return read_json(text, to_json(Config{}), where, "model description", [](const auto& j) {
    Config c;
    if constexpr (std::is_same_v<Config, BertConfig>)  // of older programs
      if (!j.value("learned_positions", true)) c.positions = Positions::Sinusoidal;
    each_size(c, [&](const Size& size, auto& field) {
      if (size.since && !j.contains(size.name)) return;
      using Kept = Stored<std::remove_cvref_t<decltype(field)>>;
      restore(size, field, j.at(size.name).template get<Kept>());
    });
    return c;
  });
}

}  // namespace glim

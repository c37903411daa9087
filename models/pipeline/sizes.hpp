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

// A field as options and files have it: the name of a choice, and below 0 for one that is not given.
template <class Field>
auto stored(const Field& field) {
  if constexpr (std::is_enum_v<Field>)
    return kNames<Field>.print(field);
  else if constexpr (std::is_same_v<Field, std::optional<double>>)
    return field.value_or(-1);
  else if constexpr (std::is_same_v<Field, std::optional<bool>>)
    return field ? static_cast<double>(*field) : -1.0;
  else
    return field;
}
template <class Field>
using Stored = decltype(stored(std::declval<Field>()));

// ValueError naming the size for an unknown choice.
template <class Field>
void restore(const char* size, Field& field, const Stored<Field>& value) {
  if constexpr (std::is_enum_v<Field>)
    field = kNames<Field>.parse(size, value);
  else if constexpr (std::is_same_v<Field, std::optional<double>>)
    field = value < 0 ? std::nullopt : std::optional<double>(value);
  else if constexpr (std::is_same_v<Field, std::optional<bool>>)
    field = value < 0 ? std::nullopt : std::optional<bool>(value != 0);
  else
    field = value;
}

// f(size, field) for each size that this kind of model has.
template <class C, class F>
void each_size(C& c, const F& f) {
#define GLIM_SIZE(name) \
  if constexpr (requires { c.name; }) f(#name, c.name)
  // of images
  GLIM_SIZE(channels);
  GLIM_SIZE(height);
  GLIM_SIZE(width);
  GLIM_SIZE(classes);
  GLIM_SIZE(patch);
  GLIM_SIZE(pooling);
  // of text
  GLIM_SIZE(vocab);
  GLIM_SIZE(context);
  GLIM_SIZE(src_vocab);
  GLIM_SIZE(tgt_vocab);
  GLIM_SIZE(max_len);
  GLIM_SIZE(pad);
  GLIM_SIZE(tie);
  GLIM_SIZE(copy);
  // of layers
  GLIM_SIZE(d_embed);
  GLIM_SIZE(d_model);
  GLIM_SIZE(d_ff);
  GLIM_SIZE(layers);
  GLIM_SIZE(encoder_layers);
  GLIM_SIZE(decoder_layers);
  GLIM_SIZE(cell);
  GLIM_SIZE(kernel);
  GLIM_SIZE(activation);
  GLIM_SIZE(dropout);
  GLIM_SIZE(attention_dropout);
  GLIM_SIZE(activation_dropout);
  GLIM_SIZE(norm);
  GLIM_SIZE(norm_eps);
  GLIM_SIZE(final_norm);
  // of attention
  GLIM_SIZE(heads);
  GLIM_SIZE(attention);
  GLIM_SIZE(share_qk);
  GLIM_SIZE(positions);
  GLIM_SIZE(position_base);
  // of gpt
  if constexpr (requires { c.never_predicted; }) {
    GLIM_SIZE(bias);
    GLIM_SIZE(never_predicted);
  }
  // of non-autoregressive
  GLIM_SIZE(eos);
  GLIM_SIZE(length);
  GLIM_SIZE(length_reach);
  GLIM_SIZE(copy_sharpness);
#undef GLIM_SIZE
}

template <class Config>
std::string to_json(const Config& c) {
  auto j = nlohmann::json::object();
  each_size(c, [&](const char* size, const auto& field) { j[size] = stored(field); });
  return j.dump();
}

template <class Config>
Config sizes_from_json(const std::string& text, const std::string& where) {
  return read_json(text, to_json(Config{}), where, "model description", [](const auto& j) {
    Config c;
    each_size(c, [&](const char* size, auto& field) {
      using Kept = Stored<std::remove_cvref_t<decltype(field)>>;
      restore(size, field, j.at(size).template get<Kept>());
    });
    return c;
  });
}

}  // namespace glim

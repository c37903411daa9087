// The sizes of a model that the options of training set: sizes and options that have the same name
// (models/pipeline/sizes.hpp), and a few.
//
//   auto c = sizes_of<GptConfig>(options);       what the options say; the rest is the caller's
#pragma once

#include <string>

#include "models/pipeline/described.hpp"
#include "tools/train/option_names.hpp"
#include "tools/train/options.hpp"

namespace glim {

template <class Config>
std::string option_of(const std::string& size) {
  if (size == "encoder_layers") return "layers";
  if (size == "context") return "block";
  if (std::is_same_v<Config, BertConfig> && size == "max_len") return "max_length";
  return size;
}

// f(field, option) for those that only training reads.
template <class Config, class Options, class F>
void each_size_of_training(Config& c, Options& o, const F& f) {
  if constexpr (requires { c.recompute; }) f(c.recompute, o.recompute);
  if constexpr (requires { c.embedding_init; }) f(c.embedding_init, o.embedding_init);
  if constexpr (requires { c.init; }) f(c.init, o.init);
}

// ValueError naming the option for an unknown choice.
template <class Config>
Config sizes_of(const TrainOptions& o) {
  const auto all = nlohmann::json::parse(o.to_json());
  Config c;
  auto set = [](const char* size, auto& field, const auto& value) {
    using Field = std::remove_cvref_t<decltype(field)>;
    if constexpr (std::is_enum_v<Field>)
      field = parse_choice<Field>(size, value);
    else
      restore(size, field, value);
  };
  each_size(c, [&](const char* size, auto& field) {
    using Value = Stored<std::remove_cvref_t<decltype(field)>>;
    const auto at = all.find(option_of<Config>(size));
    if (at != all.end()) set(size, field, at->template get<Value>());
  });
  each_size_of_training(c, o, [&](auto& field, const auto& value) { set("", field, value); });
  return c;
}

// The other way round: sets the options that say these sizes.
template <class Config>
void set_sizes(TrainOptions& o, const Config& c) {
  auto all = nlohmann::json::parse(o.to_json());
  each_size(c, [&](const char* size, const auto& field) {
    const auto at = all.find(option_of<Config>(size));
    if (at != all.end()) *at = stored(field);
  });
  o = TrainOptions::from_json(all.dump(), "sizes");
  each_size_of_training(c, o, [](const auto& field, auto& option) { option = stored(field); });
}

}  // namespace glim

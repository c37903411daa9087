// The names that options give to the choices of a model, for parsing, printing and checking.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "models/bert/bert.hpp"
#include "models/decoding/scheduled_sampling.hpp"
#include "models/non_autoregressive/non_autoregressive.hpp"
#include "models/rnn/seq2seq_rnn.hpp"
#include "models/transformer/transformer.hpp"
#include "models/vit/vit.hpp"
#include "tensor/error.hpp"
#include "tools/common/nearest.hpp"

namespace glim {

template <class E>
struct OptionNames {
  std::vector<std::pair<std::string, E>> list;
  // ValueError naming the option and its choices.
  E parse(const std::string& option, const std::string& name) const {
    std::string known;
    for (auto& [n, e] : list) {
      if (n == name) return e;
      known += (known.empty() ? "" : ", ") + n;
    }
    throw ValueError("--" + option,
                     list.size() == 1
                         ? "can only be " + known + " for this kind of model, not '" + name + "'"
                         : "'" + name + "' is not one of " + known + did_you_mean(name, names()));
  }
  std::vector<std::string> names() const {
    std::vector<std::string> r;
    for (auto& [n, e] : list) r.push_back(n);
    return r;
  }
  std::string print(E value) const {
    for (auto& [n, e] : list)
      if (e == value) return n;
    return "?";
  }
};

// kNames<Activation>.parse("activation", "gelu")
template <class E>
inline const OptionNames<E> kNames;

template <>
inline const OptionNames<NormPlacement> kNames<NormPlacement>{
    {{"pre", NormPlacement::Pre}, {"post", NormPlacement::Post}}};
template <>
inline const OptionNames<Activation> kNames<Activation>{{{"relu", Activation::Relu},
                                                         {"gelu", Activation::Gelu},
                                                         {"gelu-tanh", Activation::GeluTanh},
                                                         {"silu", Activation::Silu}}};
template <>
inline const OptionNames<Tie> kNames<Tie>{
    {{"none", Tie::None}, {"decoder", Tie::Decoder}, {"all", Tie::All}}};
template <>
inline const OptionNames<Recompute> kNames<Recompute>{
    {{"none", Recompute::None}, {"encoder", Recompute::Encoder}, {"all", Recompute::All}}};
template <>
inline const OptionNames<Positions> kNames<Positions>{{{"sinusoidal", Positions::Sinusoidal},
                                                       {"learned", Positions::Learned},
                                                       {"rotary", Positions::Rotary},
                                                       {"alibi", Positions::Alibi}}};
template <>
inline const OptionNames<CellKind> kNames<CellKind>{
    {{"gru", CellKind::Gru}, {"lstm", CellKind::Lstm}, {"rnn", CellKind::Tanh}}};
template <>
inline const OptionNames<AttentionScore> kNames<AttentionScore>{
    {{"additive", AttentionScore::Additive},
     {"dot", AttentionScore::Dot},
     {"general", AttentionScore::General},
     {"concat", AttentionScore::Concat}}};
template <>
inline const OptionNames<OutputLength> kNames<OutputLength>{
    {{"predict", OutputLength::Predict}, {"long", OutputLength::Long}}};
template <>
inline const OptionNames<Pooling> kNames<Pooling>{
    {{"first", Pooling::First}, {"mean", Pooling::Mean}}};

template <>
inline const OptionNames<SamplingSchedule> kNames<SamplingSchedule>{
    {{"constant", SamplingSchedule::Constant},
     {"linear", SamplingSchedule::Linear},
     {"exponential", SamplingSchedule::Exponential},
     {"inverse-sigmoid", SamplingSchedule::InverseSigmoid}}};

inline void one_of(const std::string& option, const std::string& value,
                   std::initializer_list<const char*> known) {
  OptionNames<int> names;
  for (const char* k : known) names.list.emplace_back(k, 0);
  names.parse(option, value);
}

}  // namespace glim

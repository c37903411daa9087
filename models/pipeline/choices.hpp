// The names that options and files give to the choices of a model.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/bert/bert.hpp"
#include "models/non_autoregressive/non_autoregressive.hpp"
#include "models/rnn/seq2seq_rnn.hpp"
#include "models/transformer/transformer.hpp"
#include "models/vit/vit.hpp"
#include "tensor/error.hpp"

namespace glim {

template <class E>
struct ChoiceNames {
  std::vector<std::pair<std::string, E>> list;
  // ValueError of `op` with the names for an unknown one; `hint` follows them.
  E parse(const std::string& op, const std::string& name, const std::string& hint = {}) const {
    std::string known;
    for (auto& [n, e] : list) {
      if (n == name) return e;
      known += (known.empty() ? "" : ", ") + n;
    }
    throw ValueError(op, list.size() == 1 ? "can only be " + known +
                                                " for this kind of model, not '" + name + "'"
                                          : "'" + name + "' is not one of " + known + hint);
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
inline const ChoiceNames<E> kNames;

template <>
inline const ChoiceNames<NormPlacement> kNames<NormPlacement>{
    {{"pre", NormPlacement::Pre}, {"post", NormPlacement::Post}}};
template <>
inline const ChoiceNames<Activation> kNames<Activation>{{{"relu", Activation::Relu},
                                                         {"gelu", Activation::Gelu},
                                                         {"gelu-tanh", Activation::GeluTanh},
                                                         {"silu", Activation::Silu}}};
template <>
inline const ChoiceNames<Tie> kNames<Tie>{
    {{"none", Tie::None}, {"decoder", Tie::Decoder}, {"all", Tie::All}}};
template <>
inline const ChoiceNames<Recompute> kNames<Recompute>{
    {{"none", Recompute::None}, {"encoder", Recompute::Encoder}, {"all", Recompute::All}}};
template <>
inline const ChoiceNames<Positions> kNames<Positions>{{{"sinusoidal", Positions::Sinusoidal},
                                                       {"learned", Positions::Learned},
                                                       {"rotary", Positions::Rotary},
                                                       {"alibi", Positions::Alibi},
                                                       {"none", Positions::None}}};
template <>
inline const ChoiceNames<CellKind> kNames<CellKind>{
    {{"gru", CellKind::Gru}, {"lstm", CellKind::Lstm}, {"rnn", CellKind::Tanh}}};
template <>
inline const ChoiceNames<AttentionScore> kNames<AttentionScore>{
    {{"additive", AttentionScore::Additive},
     {"dot", AttentionScore::Dot},
     {"general", AttentionScore::General},
     {"concat", AttentionScore::Concat},
     {"none", AttentionScore::None}}};
template <>
inline const ChoiceNames<OutputLength> kNames<OutputLength>{
    {{"predict", OutputLength::Predict}, {"long", OutputLength::Long}}};
template <>
inline const ChoiceNames<Pooling> kNames<Pooling>{
    {{"first", Pooling::First}, {"mean", Pooling::Mean}}};

}  // namespace glim

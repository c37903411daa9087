// The names that options give to the choices of a model, for parsing, printing and checking.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "models/rnn/seq2seq_rnn.hpp"
#include "models/transformer/transformer.hpp"
#include "tensor/error.hpp"

namespace glim {

template <class E>
struct OptionNames {
  std::vector<std::pair<std::string, E>> list;
  // ValueError naming the option and what it may be.
  E parse(const std::string& option, const std::string& name) const {
    std::string known;
    for (auto& [n, e] : list) {
      if (n == name) return e;
      known += (known.empty() ? "" : ", ") + n;
    }
    throw ValueError("--" + option, "'" + name + "' is none of " + known);
  }
  std::string print(E value) const {
    for (auto& [n, e] : list)
      if (e == value) return n;
    return "?";
  }
};

inline const OptionNames<NormPlacement> kNorms{
    {{"pre", NormPlacement::Pre}, {"post", NormPlacement::Post}}};
inline const OptionNames<Activation> kActivations{
    {{"relu", Activation::Relu}, {"gelu", Activation::Gelu}, {"silu", Activation::Silu}}};
inline const OptionNames<Tie> kTies{
    {{"none", Tie::None}, {"decoder", Tie::Decoder}, {"all", Tie::All}}};
inline const OptionNames<Recompute> kRecomputes{
    {{"none", Recompute::None}, {"encoder", Recompute::Encoder}, {"all", Recompute::All}}};
inline const OptionNames<Positions> kPositions{{{"sinusoidal", Positions::Sinusoidal},
                                                {"learned", Positions::Learned},
                                                {"rotary", Positions::Rotary},
                                                {"alibi", Positions::Alibi}}};
inline const OptionNames<CellKind> kCells{
    {{"gru", CellKind::Gru}, {"lstm", CellKind::Lstm}, {"rnn", CellKind::Tanh}}};
inline const OptionNames<AttentionScore> kAttentionScores{{{"additive", AttentionScore::Additive},
                                                           {"dot", AttentionScore::Dot},
                                                           {"general", AttentionScore::General},
                                                           {"concat", AttentionScore::Concat}}};

inline void one_of(const std::string& option, const std::string& value,
                   std::initializer_list<const char*> known) {
  OptionNames<int> names;
  for (const char* k : known) names.list.emplace_back(k, 0);
  names.parse(option, value);
}

}  // namespace glim

// Words and keywords that layers and models take.
#pragma once

#include <set>
#include <string>

#include "nn/activation.hpp"
#include "nn/attention/positions.hpp"
#include "nn/attention/scored.hpp"
#include "nn/recurrent/cell.hpp"
#include "tools/python/modules.hpp"

namespace glim::python {

// One of a list of words.
template <class E>
E choice(const char* what, const std::string& given,
         std::initializer_list<std::pair<const char*, E>> known) {
  std::string names;
  for (const auto& [name, value] : known) {
    if (given == name) return value;
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  throw ValueError(what, "is \"" + given + "\"; it is one of " + names);
}

inline Activation activation_named(const std::string& s) {
  return choice<Activation>("activation", s,
                            {{"relu", Activation::Relu},
                             {"gelu", Activation::Gelu},
                             {"gelu-tanh", Activation::GeluTanh},
                             {"silu", Activation::Silu}});
}
inline Positions positions_named(const std::string& s) {
  return choice<Positions>("positions", s,
                           {{"sinusoidal", Positions::Sinusoidal},
                            {"learned", Positions::Learned},
                            {"rotary", Positions::Rotary},
                            {"alibi", Positions::Alibi},
                            {"none", Positions::None}});
}
inline CellKind cell_named(const std::string& s) {
  return choice<CellKind>("cell", s,
                          {{"gru", CellKind::Gru},
                           {"lstm", CellKind::Lstm},
                           {"tanh", CellKind::Tanh},
                           {"relu", CellKind::Relu}});
}
inline AttentionScore score_named(const std::string& s) {
  return choice<AttentionScore>("attention", s,
                                {{"additive", AttentionScore::Additive},
                                 {"dot", AttentionScore::Dot},
                                 {"general", AttentionScore::General},
                                 {"concat", AttentionScore::Concat}});
}

}  // namespace glim::python

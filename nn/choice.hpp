// The names of an enumeration's values, as options, files and Python have them. Each enumeration states its own, beside it.
//
//   kNames<Activation>.parse("activation", "gelu")      Activation::Gelu
//   kNames<Activation>.print(Activation::Gelu)          "gelu"
#pragma once

#include <string>
#include <utility>
#include <vector>

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

template <class E>
inline const ChoiceNames<E> kNames;

}  // namespace glim

// Sizes as letters: (1, 2, 5, 7) as (B, H, T, S).
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tensor/shape.hpp"

namespace glim::derive {

struct Letters {
  std::map<Index, std::string> of;  // a size's letter
  std::set<Index> shared;           // sizes of two kinds of extent, which have no letter
  std::vector<std::string> notes;   // on extents that are equal
  std::string size(Index n) const {
    const auto found = of.find(n);
    return found == of.end() ? std::to_string(n) : found->second;
  }
  // A batch's first axis is 1 here.
  std::string shape(const Shape& s, bool batch) const {
    std::string text = "(";
    for (int i = 0; i < s.rank(); ++i)
      text += (i ? ", " : "") +
              (i == 0 && batch && s[0] == 1 && s.rank() > 1 && !of.empty() ? "B" : size(s[i]));
    return text + (s.rank() == 1 ? ",)" : ")");
  }
};

}  // namespace glim::derive

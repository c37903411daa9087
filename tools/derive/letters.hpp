// Sizes as letters: (1, 2, 5, 7) as (B, H, T, S).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tensor/shape.hpp"

namespace glim::derive {

struct Extent {
  std::string letter, means;
  Index size;
};

struct Letters {
  std::map<Index, std::string> names;  // a size's letter
  std::vector<Extent> extents;         // what the letters stand for in the user's model
  std::vector<Shape> shapes;           // by value, of a pass whose sizes the letters are; or none
  std::string size(Index n) const {
    const auto found = names.find(n);
    return found == names.end() ? std::to_string(n) : found->second;
  }
  std::string shape(int value, const Shape& recorded, bool batch) const {
    const auto v = static_cast<std::size_t>(value);
    return shape(v < shapes.size() ? shapes[v] : recorded, batch);
  }
  // A batch's first axis is 1 here.
  std::string shape(const Shape& s, bool batch) const {
    std::string text = "(";
    for (int i = 0; i < s.rank(); ++i)
      text += (i ? ", " : "") +
              (i == 0 && batch && s[0] == 1 && s.rank() > 1 && !names.empty() ? "B" : size(s[i]));
    return text + (s.rank() == 1 ? ",)" : ")");
  }
};

}  // namespace glim::derive

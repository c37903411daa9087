// Which sentences of a corpus are kept to validate on.
//
// A share of them, drawn with the seed. A sentence that occurs several times is on one side as a whole, so
// that nothing of the validation data is trained on.
#pragma once

#include <string>
#include <vector>

#include "tensor/shape.hpp"

namespace glim {

// Of each sentence whether it is kept: round(share · n) of them, more where the last drawn occurs often, but
// at least one, and never all. ValueError for --valid-share when there are not two different sentences.
std::vector<bool> validation_rows(const std::vector<std::string>& sentences, double share,
                                  Index seed);

// The items that are kept, which leave `items`.
template <class T>
std::vector<T> take_rows(std::vector<T>& items, const std::vector<bool>& kept) {
  std::vector<T> taken, rest;
  for (std::size_t i = 0; i < items.size(); ++i)
    (kept[i] ? taken : rest).push_back(std::move(items[i]));
  items = std::move(rest);
  return taken;
}

}  // namespace glim

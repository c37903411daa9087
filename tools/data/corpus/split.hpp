// Which sentences of a corpus are kept to validate on.
//
// A share of them, drawn with the seed. A sentence that occurs several times is on one side as a whole, so
// that nothing of the validation data is trained on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/shape.hpp"

namespace glim {

// The items at the end of a text of n that are kept: all of a share begun, and a tenth if it is below 0.
std::size_t held_out_end(std::size_t n, double share);

// True for each sentence kept: round(share · n) of them, more where the last drawn occurs often,
// but at least one, and never all. ValueError for --valid-share without two different sentences.
// Below 0 the share is a tenth, at most 1,000 sentences, and none of fewer than 20; a sentence that
// occurs more often than there is room is trained on, and nothing is kept where no sentence fits.
std::vector<bool> validation_rows(const std::vector<std::string>& sentences, double share,
                                  Index seed);

// "  held out to validate on: 300 of 3000 pairs, drawn with --seed (lines 4, 17, 25, …)", or that there were too few.
// Empty for a share of 0.
std::string describe_held_out(const std::vector<std::int64_t>& lines, std::size_t n, double share,
                              const std::string& noun, const std::string& numbered = "lines");

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

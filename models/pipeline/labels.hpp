// The classes of a classifier: their names, in the order of the outputs.
//
// Labels are those of the training data, sorted by number if all are whole numbers, else by their bytes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tensor/tensor.hpp"

namespace glim {

class Labels {
 public:
  Labels() = default;
  // FileError naming `where` for fewer than two different ones.
  static Labels of(std::span<const std::string> all, const std::string& where);
  // FileError naming `where` for text that is not to_json's.
  static Labels from_json(const std::string& text, const std::string& where);
  std::string to_json() const;

  Index size() const { return static_cast<Index>(names_.size()); }
  const std::string& name(Index label) const { return names_.at(static_cast<std::size_t>(label)); }
  // -1 for an unknown label.
  Index find(const std::string& name) const;
  // FileError naming `where` for an unknown label.
  Index number(const std::string& name, const std::string& where) const;
  // "0, 1": for messages.
  std::string list() const;

 private:
  std::vector<std::string> names_;
};

}  // namespace glim

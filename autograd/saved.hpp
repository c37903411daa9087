// A value that a rule reads as it was in forward. If it has changed since, the rule's reading it is a StateError, never
// a wrong gradient. A storage counts how often Glim has written to it. Memory that others may write to is hashed.
#pragma once

#include <string>
#include <string_view>

#include "autograd/var.hpp"

namespace glim {

struct SavedValue {
  static constexpr int kOutput = -1;

  SavedValue(int number, const Var& v);
  bool changed() const;  // since it was saved
  // StateError: `op` needs the value, which the message calls `what`, as it was.
  [[noreturn]] void refuse(std::string_view op, const std::string& what) const;

  int input;  // its number, or kOutput
  Var value;
  std::uint64_t version;      // its storage's version then
  std::uint64_t fingerprint;  // hash of its elements at saving, if its memory is shared; else 0
};

}  // namespace glim

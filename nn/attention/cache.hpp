// Keys and values that attention keeps while a sequence is decoded, one row for each prefix.
//
// Errors: IndexError for a row that is not there, StateError for keys and values that have a gradient: a cache would lose it.
#pragma once

#include "autograd/var.hpp"

namespace glim {

// Keys and values of the positions seen so far, split into heads, for decoding.
struct KeyValueCache {
  Tensor key, value;  // (B, H, capacity, Dh); the first `length` positions are filled
  Index length = 0;
  Tensor keys() const { return narrow(key, 2, 0, length); }
  Tensor values() const { return narrow(value, 2, 0, length); }
  // Appends (B, H, n, Dh); grows by doubling.
  void append(const Var& key_var, const Var& value_var);
  // Row i becomes what row `rows[i]` was: beams are re-ordered.
  void select_rows(const Tensor& rows);
};

}  // namespace glim

// The gradient at inputs other than the given ones, each compared along one random direction.
#pragma once

#include "tools/foreign/checks.hpp"

namespace glim::foreign {

inline constexpr const char* kRaises = "backward raises an exception";
inline constexpr const char* kState =
    "backward keeps state: its last gradient is not its first, at the same inputs";

struct Found {
  // Doubtful: wrong at another size, or where an integer comes twice, in every process. Backward may be for the given ones
  // alone.
  enum { Right, Wrong, Doubtful, Unknown, Refused } kind = Unknown;
  std::string why{};       // one line: "the gradient of x is wrong"
  bool of_values = false;  // wrong finite numbers, in a gradient of the right shape
};

// Where the direction does not agree, the checker decides, input by input. `gradient` receives the gradient.
Found compare_at(const Probe& p, Calls& c, const Tensors& x, const Tensors& dy,
                 Tensors* gradient = nullptr);
// True if f has a kink at x along that direction, or bends too sharply for a difference: it decides nothing there.
bool bends(const Probe& p, Calls& c, const Tensors& x, const Tensors& dy);

Found other_values(Probe& p);
Found other_sizes(Probe& p);

// The largest element is scaled by between 0.6 and 1 (other_values.cpp).
Tensor shrunk(const Tensor& x);

}  // namespace glim::foreign

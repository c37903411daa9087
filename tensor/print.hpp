// Tensors as text, character for character as NumPy 2.4 prints them.
//
//   to_string(x)   numpy.array2string(x), also std::cout << x:  [[1.  0.5]
//                                                                [2.  nan]]
//
// NumPy's rules, with its defaults (PrintOptions): a number has as many digits as tell it from its
// neighbours of the same dtype, at most `precision` after the point; one array has one width. The
// exponent form is chosen when a finite element other than 0 is at least 1e8 (float32: 1e6) or
// below 1e-4, or when the largest is over 1000 times the smallest. More than `threshold` elements
// are summarised to `edgeitems` at either end of each axis. An undefined tensor prints "undefined".
#pragma once

#include <charconv>
#include <string>

#include "tensor/tensor.hpp"

namespace glim {

struct PrintOptions {
  int precision = 8;
  Index threshold = 1000;
  Index edgeitems = 3;
  int linewidth = 75;
};

std::string to_string(const Tensor& x, const PrintOptions& options = {});

// A number as printf's %g (fixed: %f, scientific: %e) has it, with a point in every locale.
std::string number_text(double x, int precision = 6,
                        std::chars_format form = std::chars_format::general);

}  // namespace glim

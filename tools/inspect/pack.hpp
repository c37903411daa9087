// Tensors in a page: each number has three significant digits, in 16 bits, as base64. A page then prints the
// same digits as the program would.
//
//   x = ± m · 10^(e - 2), m = 100 … 999:   code 8 + (m - 100) + 900 [x < 0] + 1800 (e - e0)
//   0: zero   1: not a number   2: ∞   3: -∞
//
// e0 belongs to the tensor and leaves room for 36 decades; a tensor that needs more is written as
// plain numbers.
#pragma once

#include <nlohmann/json.hpp>

#include "tensor/tensor.hpp"

namespace glim {

// {"shape": [...], "e0": -7, "data": "..."}, or {"shape": [...], "numbers": [...]}.
nlohmann::json packed(const Tensor& x);

// A tensor of any rank as at most `rows` by `columns` cells, its last axis to the right: each cell
// has the element of the largest size in its part. As packed, with "full": the shape before.
nlohmann::json packed_picture(const Tensor& x, Index rows, Index columns);

}  // namespace glim

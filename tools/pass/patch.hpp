// A part of a tensor by name, and a change of it:
//
//   [0,1] rows and columns by number (from the end if negative), [0,1:3] a range, [:,0] all of an axis; or :2, head 2
//   of attention, whose tensors are (batch, head, query, key or feature)
#pragma once

#include <optional>
#include <string>

#include "tensor/tensor.hpp"

namespace glim {

struct NodeName {
  std::string name, part;  // "scores", "0,1:3" or "head 2"; an empty part is the whole
};
// ValueError for brackets that do not close, and for a head that is no number.
NodeName split_part(const std::string& text);
// The part as a view. ValueError for what is no number or range, or has no heads; IndexError outside the extents.
Tensor part_of(const Tensor& x, const std::string& part);
// ValueError for a factor that the dtype makes 0 or infinite.
void require_factor(double factor, DType dtype);
// A change of a gradient, or of a value: the part of it, or all, times the factor. None of a frozen one goes on.
struct Patch {
  std::string part;
  std::optional<double> factor = 0.0;  // 0 gives zeros, whatever was there; none: freeze
};
// x with the change made, undefined if it is frozen. Errors as those of part_of and require_factor.
Tensor patched(const Patch& patch, const Tensor& x);

}  // namespace glim

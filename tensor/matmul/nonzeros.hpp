// A tensor without its zeros: a bit for each element, whether any of its own is set, and those elements
// in order. What max(0, x) leaves takes half its memory that way, and not one bit is lost: -0 and NaN
// are elements like others. "Sparse storage and dense compute" of Jain et al. 2018 (Gist: Efficient
// Data Encoding for Deep Neural Network Training, ISCA), which use it for the same purpose.
#pragma once

#include <vector>

#include "tensor/tensor.hpp"

namespace glim {

class NonZeros {
 public:
  NonZeros() = default;
  // Of x, of a floating dtype (DTypeError). Undefined where more than 3/4 of the elements are kept:
  // that is not worth the time.
  explicit NonZeros(const Tensor& x);
  bool defined() const { return values_.defined(); }
  Tensor dense() const;  // x, row-major
  Index bytes() const;   // what is kept

 private:
  template <class F>
  void each_piece(Index n, const F& f) const;
  Shape shape_;
  Storage bits_;               // element i: bit i mod 8 of byte i / 8
  std::vector<Index> starts_;  // of each piece in values_, and their number
  Tensor values_;
};

}  // namespace glim

// A tensor stored without its zeros: one bit for each element says whether it is kept, and the kept
// elements follow in order. The output of max(0, x) takes half its memory this way. No bit is lost: -0 and
// NaN are kept. This is "sparse storage and dense compute" of Jain et al. 2018 (Gist: Efficient Data
// Encoding for Deep Neural Network Training, ISCA), who use it for the same purpose.
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

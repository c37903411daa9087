#include "tensor/matmul/nonzeros.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "tensor/error.hpp"
#include "tensor/parallel.hpp"
#include "tensor/simd/kernels.hpp"

namespace glim {
namespace {

constexpr Index kBitsPiece = 16384;  // elements, a multiple of 8

}  // namespace

// f(elements from, their number, their bits, place in values_, number of values), in parallel.
template <class F>
void NonZeros::each_piece(Index n, const F& f) const {
  parallel_each((n + kBitsPiece - 1) / kBitsPiece, [&](Index p) {
    Index begin = p * kBitsPiece;
    f(begin, std::min(kBitsPiece, n - begin),
      reinterpret_cast<std::uint8_t*>(bits_.data()) + begin / 8, starts_[p],
      starts_[p + 1] - starts_[p]);
  });
}

NonZeros::NonZeros(const Tensor& x) : shape_(x.shape()) {
  require_floating(x, "nonzeros");
  visit_floating(x.dtype(), [&]<class T>() {
    Tensor in = x.contiguous();
    Index n = x.numel();
    bits_ = Storage((n + 7) / 8);
    starts_.assign((n + kBitsPiece - 1) / kBitsPiece + 1, 0);
    each_piece(n, [&](Index begin, Index count, std::uint8_t* bits, Index, Index) {
      starts_[begin / kBitsPiece + 1] =
          row_kernels<T>().mark_nonzeros(count, in.data<T>() + begin, bits);
    });
    std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
    if (starts_.back() > n - n / 4) return;
    // In steps of n/16, so that the next one, with a few more, fits where this one was.
    Index step = n / 16 + 1;
    values_ = empty({(starts_.back() + step - 1) / step * step}, x.dtype());
    each_piece(n, [&](Index begin, Index count, std::uint8_t* bits, Index first, Index values) {
      row_kernels<T>().gather_nonzeros(count, in.data<T>() + begin, bits, values,
                                       values_.data<T>() + first);
    });
  });
  if (!defined()) bits_ = {};
}

Tensor NonZeros::dense() const {
  if (!defined()) throw StateError("nonzeros", "nothing is kept");
  Tensor x = empty(shape_, values_.dtype());
  visit_floating(x.dtype(), [&]<class T>() {
    each_piece(x.numel(),
               [&](Index begin, Index count, std::uint8_t* bits, Index first, Index values) {
                 row_kernels<T>().spread_nonzeros(count, bits, values, values_.data<T>() + first,
                                                  x.data<T>() + begin);
               });
  });
  return x;
}

Index NonZeros::bytes() const {
  return static_cast<Index>((bits_ ? bits_.bytes() : 0) +
                            (defined() ? values_.storage().bytes() : 0));
}

}  // namespace glim

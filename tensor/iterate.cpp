#include "tensor/iterate.hpp"

#include <algorithm>

#include "tensor/parallel.hpp"

namespace glim {

Loop::Loop(const Shape& shape, std::initializer_list<const Strides*> strides)
    : operands_(strides.size()) {
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    if (shape[axis] == 1) continue;
    // It continues the axis inside it when a step along it is as far as that axis reaches.
    bool merges = rank_ > 0;
    for (std::size_t n = 0; n < operands_ && merges; ++n)
      merges = (*strides.begin()[n])[axis] == stride_[n][rank_ - 1] * extent_[rank_ - 1];
    if (merges) {
      extent_[rank_ - 1] *= shape[axis];
      continue;
    }
    extent_[rank_] = shape[axis];
    for (std::size_t n = 0; n < operands_; ++n) stride_[n][rank_] = (*strides.begin()[n])[axis];
    ++rank_;
  }
  if (rank_ > 0) return;
  rank_ = 1;
  extent_[0] = 1;
  for (std::size_t n = 0; n < operands_; ++n) stride_[n][0] = 1;
}

bool Loop::unit() const {
  return std::all_of(stride_.begin(), stride_.begin() + static_cast<std::ptrdiff_t>(operands_),
                     [](const auto& stride) { return stride[0] == 1; });
}

void Loop::runs(FunctionRef<void(Index, const Index*)> f) const {
  using Offsets = std::array<Index, kMaxOperands>;
  constexpr Index kPiece = 16384;  // elements, about, that are worth a thread's while
  Index rows = 1;
  for (std::size_t i = 1; i < rank_; ++i) rows *= extent_[i];
  if (rows == 0 || extent_[0] == 0) return;
  if (rows == 1) {
    if (extent_[0] <= kPiece) return f(extent_[0], Offsets{}.data());
    parallel_for(extent_[0], kPiece, [&](Index begin, Index end) {
      Offsets offsets{};
      for (std::size_t n = 0; n < operands_; ++n) offsets[n] = begin * stride_[n][0];
      f(end - begin, offsets.data());
    });
    return;
  }
  parallel_for(rows, std::max<Index>(1, kPiece / extent_[0]), [&](Index begin, Index end) {
    std::array<Index, kMaxRank> counter{};
    Offsets offsets{};
    Index rest = begin;
    for (std::size_t i = 1; i < rank_; ++i) {
      counter[i] = rest % extent_[i];
      rest /= extent_[i];
      for (std::size_t n = 0; n < operands_; ++n) offsets[n] += counter[i] * stride_[n][i];
    }
    for (Index row = begin; row < end; ++row) {
      f(extent_[0], offsets.data());
      for (std::size_t i = 1; i < rank_; ++i) {
        for (std::size_t n = 0; n < operands_; ++n) offsets[n] += stride_[n][i];
        if (++counter[i] < extent_[i]) break;
        for (std::size_t n = 0; n < operands_; ++n) offsets[n] -= counter[i] * stride_[n][i];
        counter[i] = 0;
      }
    }
  });
}

}  // namespace glim

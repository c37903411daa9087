#include "tensor/iterate.hpp"

#include "tensor/parallel.hpp"

namespace glim::detail {

void run_loop(int operands, int rank, const Index* extent, const Index* const* strides,
              FunctionRef<void(Index, const Index*)> f) {
  using Offsets = std::array<Index, kMaxOperands>;
  constexpr Index kPiece = 16384;  // elements, about, that are worth a thread's while
  Index rows = 1;
  for (int i = 1; i < rank; ++i) rows *= extent[i];
  if (rows == 0 || extent[0] == 0) return;
  if (rows == 1) {
    if (extent[0] <= kPiece) return f(extent[0], Offsets{}.data());
    parallel_for(extent[0], kPiece, [&](Index begin, Index end) {
      Offsets at{};
      for (int n = 0; n < operands; ++n) at[static_cast<std::size_t>(n)] = begin * strides[n][0];
      f(end - begin, at.data());
    });
    return;
  }
  parallel_for(rows, std::max<Index>(1, kPiece / extent[0]), [&](Index begin, Index end) {
    std::array<Index, kMaxRank> counter{};
    Offsets at{};
    Index rest = begin;
    for (int i = 1; i < rank; ++i) {
      Index c = rest % extent[i];
      rest /= extent[i];
      counter[static_cast<std::size_t>(i)] = c;
      for (int n = 0; n < operands; ++n) at[static_cast<std::size_t>(n)] += c * strides[n][i];
    }
    for (Index row = begin; row < end; ++row) {
      f(extent[0], at.data());
      for (int i = 1; i < rank; ++i) {
        Index& c = counter[static_cast<std::size_t>(i)];
        for (int n = 0; n < operands; ++n) at[static_cast<std::size_t>(n)] += strides[n][i];
        if (++c < extent[i]) break;
        for (int n = 0; n < operands; ++n) at[static_cast<std::size_t>(n)] -= c * strides[n][i];
        c = 0;
      }
    }
  });
}

}  // namespace glim::detail

// Shapes and strides: up to kMaxRank extents, stored in place so that a view costs no allocation.
//
// Errors: ShapeError for a rank above kMaxRank, a negative extent, or a product beyond int64;
// IndexError for an axis outside [-rank, rank).
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace glim {

using Index = std::int64_t;

inline constexpr int kMaxRank = 8;

// A short list of integers (extents, strides, axes).
class Dims {
 public:
  Dims() noexcept { leave(); }
  Dims(const Dims& o) noexcept : rank_(o.rank_) {
    leave();
    copy(o);
  }
  Dims& operator=(const Dims& o) noexcept {
    rank_ = o.rank_;
    copy(o);
    return *this;
  }
  Dims(std::initializer_list<Index> list)
      : Dims(std::span<const Index>(list.begin(), list.size())) {}
  Dims(const std::vector<Index>& list) : Dims(std::span<const Index>(list)) {}
  explicit Dims(std::span<const Index> list) : rank_(static_cast<int>(list.size())) {
    check_rank(rank_);
    for (int i = 0; i < rank_; ++i) (*this)[i] = list[i];
  }
  static Dims filled(int rank, Index value) {
    check_rank(rank);
    Dims d;
    d.rank_ = rank;
    for (int i = 0; i < rank; ++i) d[i] = value;
    return d;
  }

  int rank() const { return rank_; }
  bool empty() const { return rank_ == 0; }
  Index operator[](int i) const { return d_[i]; }
  Index& operator[](int i) { return d_[i]; }
  Index back() const { return d_[rank_ - 1]; }
  const Index* begin() const { return d_.data(); }
  const Index* end() const { return d_.data() + rank_; }
  void push_back(Index v) {
    check_rank(rank_ + 1);
    (*this)[rank_++] = v;
  }
  void insert(int axis, Index v);
  void erase(int axis);
  std::vector<Index> vec() const { return {begin(), end()}; }

  friend bool operator==(const Dims& a, const Dims& b) {
    if (a.rank_ != b.rank_) return false;
    for (int i = 0; i < a.rank_; ++i)
      if (a[i] != b[i]) return false;
    return true;
  }

 private:
  static void check_rank(int rank) {
    if (rank > kMaxRank) [[unlikely]]
      refuse_rank(rank);
  }
  [[noreturn]] static void refuse_rank(int rank);
  // Leaves what is behind the rank unset. The statement is empty, and tells the compiler that this is no mistake.
  void leave() noexcept { asm("" : "=m"(d_)); }
  // Number by number, which the empty statement keeps the compiler from changing: a vector that is read just after its
  // parts were written waits for them, and most lists are short.
  void copy(const Dims& o) noexcept {
    for (int i = 0; i < rank_; ++i) {
      d_[i] = o.d_[i];
      asm("");
    }
  }
  int rank_ = 0;
  std::array<Index, kMaxRank> d_;  // the first rank_ have values
};

using Shape = Dims;
using Strides = Dims;

std::string to_string(const Dims& d);  // "(2, 3)", "(2,)", "()"

// Product of the extents; ShapeError(op) for a negative extent or an overflow of int64.
Index checked_numel(const Shape& shape, std::string_view op);
// Product of extents already known to be valid.
inline Index numel_of(const Shape& s) {
  Index n = 1;
  for (Index e : s) n *= e;
  return n;
}
Strides contiguous_strides(const Shape& shape);
Shape leading(const Shape& shape);  // all axes but the last two
Shape with_matrix(Shape leading, Index rows, Index columns);

// Axis in [0, rank) from an axis in [-rank, rank); IndexError(op) otherwise.
[[noreturn]] void refuse_axis(Index axis, int rank, std::string_view op);
inline int normalize_axis(Index axis, int rank, std::string_view op) {
  if (axis < -rank || axis >= rank) [[unlikely]]
    refuse_axis(axis, rank, op);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}
// Sorted distinct axes; an empty list means all. IndexError for one named twice.
Dims normalize_axes(const Dims& axes, int rank, std::string_view op);

// NumPy's rule: right-aligned extents are equal, or one of them is 1. ShapeError(op) otherwise.
Shape broadcast_shapes(const Shape& a, const Shape& b, std::string_view op);

}  // namespace glim

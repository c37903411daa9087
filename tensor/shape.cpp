#include "tensor/shape.hpp"

#include <algorithm>

#include "tensor/error.hpp"

namespace glim {

void Dims::refuse_rank(int rank) {
  throw ShapeError("shape", "rank " + std::to_string(rank) + " exceeds the maximum of " +
                                std::to_string(kMaxRank));
}

void Dims::insert(int axis, Index v) {
  check_rank(rank_ + 1);
  for (int i = rank_; i > axis; --i) (*this)[i] = (*this)[i - 1];
  (*this)[axis] = v;
  ++rank_;
}

void Dims::erase(int axis) {
  for (int i = axis; i + 1 < rank_; ++i) (*this)[i] = (*this)[i + 1];
  --rank_;
}

std::string to_string(const Dims& d) {
  std::string s = "(";
  for (int i = 0; i < d.rank(); ++i) s += (i ? ", " : "") + std::to_string(d[i]);
  return s + (d.rank() == 1 ? ",)" : ")");
}

Index checked_numel(const Shape& shape, std::string_view op) {
  // Extents of 0 are left out of the check: strides are products of the others.
  Index n = 1;
  bool overflow = false, none = false;
  for (Index e : shape) {
    if (e < 0) throw ShapeError(op, "negative extent in shape " + to_string(shape));
    none = none || e == 0;
    overflow = overflow || __builtin_mul_overflow(n, std::max<Index>(e, 1), &n);
  }
  // The bytes must fit as well: no dtype is wider than 8.
  Index bytes;
  if (overflow || __builtin_mul_overflow(n, Index{8}, &bytes))
    throw ShapeError(op,
                     "shape " + to_string(shape) + " has more elements than memory can address");
  return none ? 0 : n;
}

Strides contiguous_strides(const Shape& shape) {
  Strides s = Dims::filled(shape.rank(), 1);
  for (int i = shape.rank() - 2; i >= 0; --i) s[i] = s[i + 1] * std::max<Index>(shape[i + 1], 1);
  return s;
}

Shape leading(const Shape& shape) {
  Shape batch_dims;
  for (int i = 0; i + 2 < shape.rank(); ++i) batch_dims.push_back(shape[i]);
  return batch_dims;
}

Shape with_matrix(Shape leading, Index rows, Index columns) {
  leading.push_back(rows);
  leading.push_back(columns);
  return leading;
}

void refuse_axis(Index axis, int rank, std::string_view op) {
  throw IndexError(
      op, "axis " + std::to_string(axis) + " is outside a tensor of rank " + std::to_string(rank));
}

Dims normalize_axes(const Dims& axes, int rank, std::string_view op) {
  Dims out;
  if (axes.empty()) {
    for (int i = 0; i < rank; ++i) out.push_back(i);
    return out;
  }
  std::array<bool, kMaxRank> marks{};
  for (Index a : axes) {
    int i = normalize_axis(a, rank, op);
    if (marks[i]) throw IndexError(op, "axis " + std::to_string(a) + " is named twice");
    marks[i] = true;
  }
  for (int i = 0; i < rank; ++i)
    if (marks[i]) out.push_back(i);
  return out;
}

Shape broadcast_shapes(const Shape& a, const Shape& b, std::string_view op) {
  if (a == b) return a;
  Shape out = Dims::filled(std::max(a.rank(), b.rank()), 1);
  for (int i = 1; i <= out.rank(); ++i) {
    Index ea = i <= a.rank() ? a[a.rank() - i] : 1;
    Index eb = i <= b.rank() ? b[b.rank() - i] : 1;
    if (ea != eb && ea != 1 && eb != 1)
      throw ShapeError(op, "shapes " + to_string(a) + " and " + to_string(b) +
                               " do not broadcast: axis " + std::to_string(-i) + " has " +
                               std::to_string(ea) + " and " + std::to_string(eb));
    out[out.rank() - i] = ea == 1 ? eb : ea;
  }
  return out;
}

}  // namespace glim

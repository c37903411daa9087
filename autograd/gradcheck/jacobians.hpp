// The two Jacobians of one input, and what mistakes.cpp and factors.cpp ask about them.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "autograd/gradcheck/mistakes.hpp"
#include "tensor/function_ref.hpp"

namespace glim::detail {

// A and N of one input, as functions of the row i and the column j.
struct Jacobians {
  const JacobianPair& pair;
  const Shape& output;
  Index rows, columns;
  double near;  // numbers that are closer are equal

  double a(Index i, Index j) const { return pair.analytic[i * columns + j]; }
  double n(Index i, Index j) const { return pair.numeric[i * columns + j]; }
  bool right(Index i, Index j) const { return std::abs(a(i, j) - n(i, j)) <= near; }
  bool no_a(Index i, Index j) const { return std::abs(a(i, j)) <= near; }
  bool no_n(Index i, Index j) const { return std::abs(n(i, j)) <= near; }

  bool everywhere(FunctionRef<bool(Index i, Index j)> holds) const {
    for (Index i = 0; i < rows; ++i)
      for (Index j = 0; j < columns; ++j)
        if (!holds(i, j)) return false;
    return true;
  }
  bool a_is(FunctionRef<double(Index i, Index j)> expected) const {
    return everywhere([&](Index i, Index j) { return std::abs(a(i, j) - expected(i, j)) <= near; });
  }
  bool square() const { return rows == columns && columns > 1; }
  bool a_diagonal() const {
    return square() && everywhere([&](Index i, Index j) { return i == j || no_a(i, j); });
  }
  bool n_diagonal() const {
    return square() && everywhere([&](Index i, Index j) { return i == j || no_n(i, j); });
  }
};

inline Index stride_of(const Shape& s, int axis) {
  Index stride = 1;
  for (int k = axis + 1; k < s.rank(); ++k) stride *= s[k];
  return stride;
}

inline Index coordinate(const Shape& s, int axis, Index i) {
  return i / stride_of(s, axis) % s[axis];
}

// The name of a mistake by a factor (factors.cpp); empty where nothing fits.
std::string constant_factor(const Jacobians& j);  // A = c N
std::string factor_missing(const Jacobians& j,
                           const JacobianPairs& all);       // A = N of known elements
std::string passed_on(const Jacobians& j, bool times_one);  // A = c where N is not 0
bool other_factor(const Jacobians& j, bool by_row);         // A_ij = r_i N_ij, or N_ij c_j
Index wrong_lines(const Jacobians& j, bool by_row);  // rows with a wrong derivative, or columns

}  // namespace glim::detail

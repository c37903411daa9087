#include <algorithm>
#include <cmath>
#include <numeric>

#include "autograd/gradcheck/jacobians.hpp"

namespace glim::detail {
namespace {

// The rows of A are all alike: Jᵀ1, whatever dy is.
bool ones_for_dy(const Jacobians& j) {
  std::vector<double> sum(j.columns);
  j.everywhere([&](Index i, Index k) {
    sum[k] += j.n(i, k);
    return true;
  });
  return j.rows > 1 && j.a_is([&](Index, Index k) { return sum[k]; });
}

// Positions with two axes of equal length exchanged: the identity first, each beside its name.
struct Exchange {
  std::string axes;
  std::vector<Index> target;
};
std::vector<Exchange> exchanges(const Shape& s) {
  std::vector<Exchange> all{{"", std::vector<Index>(numel_of(s))}};
  std::iota(all[0].target.begin(), all[0].target.end(), Index{0});
  for (int p = 0; p < s.rank(); ++p)
    for (int q = p + 1; q < s.rank(); ++q) {
      if (s[p] != s[q] || s[p] < 2) continue;
      Exchange e{std::to_string(p) + " and " + std::to_string(q), all[0].target};
      for (Index& i : e.target)
        i += (coordinate(s, q, i) - coordinate(s, p, i)) * (stride_of(s, p) - stride_of(s, q));
      all.push_back(std::move(e));
    }
  return all;
}

std::string exchanged(const Jacobians& j) {
  for (const Exchange& in : exchanges(j.pair.shape))
    for (const Exchange& out : exchanges(j.output))
      for (const bool transposed : {false, true}) {
        if (transposed && (!j.square() || !in.axes.empty() || !out.axes.empty())) continue;
        if (!j.a_is([&](Index i, Index k) {
              const Index row = out.target[i], column = in.target[k];
              return transposed ? j.n(column, row) : j.n(row, column);
            }))
          continue;
        std::string text = transposed ? "a missing transpose: J dy instead of Jᵀ dy" : "";
        if (!in.axes.empty())
          text += (text.empty() ? "" : "; ") + ("the gradient's axes " + in.axes) + " exchanged";
        if (!out.axes.empty())
          text += (text.empty() ? "" : "; ") + ("dy's axes " + out.axes) + " exchanged";
        return text;
      }
  return "";
}

// The elements along an axis paired by halves (i and i + n/2) instead of in turn (2i and 2i + 1), or the other way round.
std::string other_pairs(const Jacobians& j) {
  const Shape& s = j.pair.shape;
  for (int axis = 0; j.output == s && axis < s.rank(); ++axis) {
    const Index half = s[axis] / 2;
    if (half < 2 || s[axis] % 2 != 0) continue;
    for (const bool halves : {true, false}) {
      const auto moved = [&](Index i) {
        const Index c = coordinate(s, axis, i);
        const Index target = halves ? c % 2 * half + c / 2 : c % half * 2 + c / half;
        return i + (target - c) * stride_of(s, axis);
      };
      if (j.a_is([&](Index i, Index k) { return j.n(moved(i), moved(k)); }))
        return std::string("pairs along axis ") + std::to_string(axis) +
               (halves ? " are taken in turn instead of by halves (a rotary embedding)"
                       : " are taken by halves instead of in turn (a rotary embedding)");
    }
  }
  return "";
}

// A = N ∓ I, as of x + f(x).
std::string residual(const Jacobians& j) {
  for (const double c : {-1.0, 1.0})
    if (j.square() && j.a_is([&](Index i, Index k) { return j.n(i, k) + (i == k ? c : 0); }))
      return c < 0 ? "a residual path lost: dx lacks dy itself" : "dy added once too often";
  return "";
}

// The gradient moved by one along an axis; what falls off is lost, or comes in again.
std::string shifted(const Jacobians& j) {
  for (const bool of_dy : {false, true}) {
    const Shape& s = of_dy ? j.output : j.pair.shape;
    for (int axis = 0; axis < s.rank(); ++axis)
      for (const Index shift : {-1, 1})
        for (const bool around : {false, true})
          if (s[axis] > 2 && j.a_is([&](Index i, Index k) {
                const Index p = coordinate(s, axis, of_dy ? i : k), q = p + shift;
                if (!around && (q < 0 || q >= s[axis])) return 0.0;
                const Index move = ((q + s[axis]) % s[axis] - p) * stride_of(s, axis);
                return of_dy ? j.n(i + move, k) : j.n(i, k + move);
              }))
            return (of_dy ? "dy's index" : "an index") +
                   (" off by one along axis " + std::to_string(axis));
  }
  return "";
}

bool opposite_mask(const Jacobians& j) {
  return j.a_diagonal() && j.n_diagonal() &&
         j.everywhere([&](Index i, Index k) { return i != k || j.no_a(i, i) != j.no_n(i, i); });
}

// -1, or the only axis along which outputs depend on several elements each (a flip or a sort sums nothing).
int mixed_axis(const Jacobians& j, double (Jacobians::*matrix)(Index, Index) const) {
  const Shape& s = j.pair.shape;
  if (j.output != s) return -1;
  for (int axis = 0; axis < s.rank(); ++axis) {
    Index row = -1, mixes = 0;  // `row`: of the last element that is not 0
    if (s[axis] > 1 && j.everywhere([&](Index i, Index k) {
          if (std::abs((j.*matrix)(i, k)) <= j.near) return true;
          mixes += row == i, row = i;
          return (i - k) % stride_of(s, axis) == 0 &&
                 i / (stride_of(s, axis) * s[axis]) == k / (stride_of(s, axis) * s[axis]);
        }) &&
        mixes)
      return axis;
  }
  return -1;
}

std::string other_axis(const Jacobians& j) {
  const int n = mixed_axis(j, &Jacobians::n), a = mixed_axis(j, &Jacobians::a);
  return n < 0 || a < 0 || n == a
             ? ""
             : "a sum along axis " + std::to_string(a) + " instead of axis " + std::to_string(n);
}

// The axis that a reduction took away, or keeps with length 1; -1 when none.
int reduced_axis(const Jacobians& j) {
  const Shape& s = j.pair.shape;
  for (int axis = 0; axis < s.rank(); ++axis)
    if (s[axis] > 2 && numel_of(j.output) * s[axis] == numel_of(s)) {
      const Index stride = stride_of(s, axis), length = s[axis];
      if (j.everywhere([&](Index i, Index k) {
            return j.no_n(i, k) || i == k / (stride * length) * stride + k % stride;
          }))
        return axis;
    }
  return -1;
}

// A - N is the same for all elements that a sum takes together.
std::string mean_missing(const Jacobians& j) {
  const int axis = reduced_axis(j);
  if (axis < 0) return "";
  const Index stride = stride_of(j.pair.shape, axis);
  if (!j.everywhere([&](Index i, Index k) {
        const Index first = k - coordinate(j.pair.shape, axis, k) * stride;
        return std::abs(j.a(i, k) - j.n(i, k) - j.a(i, first) + j.n(i, first)) <= j.near;
      }))
    return "";
  return "a term along axis " + std::to_string(axis) + " missing or wrong (a mean)";
}

// A - N = v_i w_k among the elements along an axis, 0 between others.
std::string term_along_axis(const Jacobians& j) {
  const Shape& s = j.pair.shape;
  if (j.output != s || j.n_diagonal()) return "";
  auto d = [&](Index i, Index k) { return j.a(i, k) - j.n(i, k); };
  for (int axis = 0; axis < s.rank(); ++axis) {
    const Index stride = stride_of(s, axis), length = s[axis];
    if (length < 3) continue;
    auto first = [&](Index i) { return i - coordinate(s, axis, i) * stride; };
    std::vector<Index> pivot(j.rows);  // the largest of row i
    for (Index i = 0; i < j.rows; ++i)
      for (Index k = 0; k < j.columns; ++k)
        if (std::abs(d(i, k)) > std::abs(d(i, pivot[i]))) pivot[i] = k;
    if (j.everywhere([&](Index i, Index k) {
          if (first(i) != first(k)) return j.right(i, k);
          // Row i is a multiple of the first row of its kind.
          const Index f = first(i), p = pivot[f];
          return std::abs(d(i, k) * d(f, p) - d(i, p) * d(f, k)) <= j.near * std::abs(d(f, p));
        }))
      return "a term along axis " + std::to_string(axis) +
             " missing or wrong (a mean, softmax's sum)";
  }
  return "";
}

}  // namespace

Mistake likely_mistake(const JacobianPairs& all, std::size_t k, double relative) {
  const JacobianPair& pair = all.inputs[k];
  const Index columns = numel_of(pair.shape), rows = std::ssize(all.y);
  double largest = 0;
  for (const auto* m : {&pair.analytic, &pair.numeric})
    for (double x : *m) {
      if (!std::isfinite(x)) return {};
      largest = std::max(largest, std::abs(x));
    }
  const Jacobians j{pair, all.output, rows, columns, relative * largest};
  Index wrong = 0;
  j.everywhere([&](Index i, Index c) {
    wrong += !j.right(i, c);
    return true;
  });
  if (wrong == 0 && pair.linear) return {};
  if (!pair.linear)
    return {ones_for_dy(j) ? "dy used as ones: the gradient is the same whatever dy is"
                           : "dy ignored, or used not linearly (squared, its size or its sign)",
            std::max(wrong, rows)};
  // No name without a derivative that speaks for it: as many constants fit anything.
  auto named = [&](std::string name, Index fitted = 0) {
    return wrong > fitted ? Mistake{std::move(name), wrong - fitted} : Mistake{};
  };
  if (j.everywhere([&](Index i, Index c) { return j.no_a(i, c); }))
    return named("no gradient reaches the input (detached, or a rule without it)");
  if (j.a_is([&](Index i, Index c) { return -j.n(i, c); })) return named("the sign");
  if (std::string text = constant_factor(j); !text.empty()) return named(text, 1);
  for (const JacobianPair& other : all.inputs)
    if (&other != &pair && other.shape == pair.shape &&
        j.a_is([&](Index i, Index c) { return other.numeric[i * columns + c]; }))
      return named("the gradient of another input, " + other.name);
  for (auto explain : {exchanged, shifted, residual, other_pairs})
    if (std::string text = explain(j); !text.empty()) return named(text);
  if (std::string text = passed_on(j, true); !text.empty()) return named(text);
  if (opposite_mask(j)) return named("the mask the wrong way round");
  if (j.a_diagonal() && !j.n_diagonal() &&
      j.everywhere([&](Index i, Index c) { return i != c || j.no_a(i, i) || !j.no_n(i, i); }))
    return named(
        "a term missing: each output is taken to depend on its own element alone (a mean, "
        "softmax's sum)");
  if (std::string text = other_axis(j); !text.empty()) return named(text);
  if (j.everywhere([&](Index i, Index c) { return j.right(i, c) || j.no_n(i, c); }))
    return named("a mask ignored: a gradient where the derivative is 0");
  if (j.everywhere([&](Index i, Index c) { return j.right(i, c) || j.no_a(i, c); }))
    return named(
        "contributions lost: some derivatives are 0 and the others right "
        "(assigned where it should be added, or a broadcast not summed)");
  if (std::string text = factor_missing(j, all); !text.empty()) return named(text, 1);
  if (std::string text = passed_on(j, false); !text.empty()) return named(text, 1);
  for (auto explain : {term_along_axis, mean_missing})
    if (std::string text = explain(j); !text.empty()) return named(text);
  for (const bool by_row : {false, true})  // one constant for each line
    if (wrong > wrong_lines(j, by_row) && other_factor(j, by_row))
      return named(std::string("a factor that belongs to the ") + (by_row ? "output" : "input") +
                       "'s element is missing or wrong",
                   wrong_lines(j, by_row));
  return {};
}

}  // namespace glim::detail

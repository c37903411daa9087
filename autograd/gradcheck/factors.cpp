// Gradients that a factor would make right.
#include <cmath>
#include <utility>
#include <vector>

#include "autograd/gradcheck/jacobians.hpp"
#include "tensor/print.hpp"

namespace glim::detail {
namespace {

// "2", "1/6", "√8" or digits.
std::string text_of(double c) {
  const double size = std::abs(c), from_one = std::abs(size - 1);
  if (from_one > 0 && from_one < 1e-3)
    return number_text(c, 2 - static_cast<int>(std::floor(std::log10(from_one))));
  for (bool root : {false, true})
    for (bool below : {false, true}) {
      const double magnitude = root ? size * size : size, k = below ? 1 / magnitude : magnitude;
      if (std::abs(k - std::round(k)) > 1e-4 * k || k > 1000) continue;
      return std::string(c < 0 ? "-" : "") + (below ? "1/" : "") + (root ? "√" : "") +
             number_text(k, 0, std::chars_format::fixed);
    }
  return number_text(c);
}

// c of A_ij = c_j N_ij (by_row: c_i N_ij), NaN where N has nothing; empty when there is none.
std::vector<double> factors(const Jacobians& j, bool by_row) {
  const Index lines = by_row ? j.rows : j.columns, length = by_row ? j.columns : j.rows;
  auto a = [&](Index l, Index m) { return by_row ? j.a(l, m) : j.a(m, l); };
  auto n = [&](Index l, Index m) { return by_row ? j.n(l, m) : j.n(m, l); };
  std::vector<double> c(lines, std::nan(""));
  for (Index l = 0; l < lines; ++l) {
    Index pivot = 0;
    for (Index m = 0; m < length; ++m)
      if (std::abs(n(l, m)) > std::abs(n(l, pivot))) pivot = m;
    double& factor = c[l];
    if (std::abs(n(l, pivot)) > j.near) factor = a(l, pivot) / n(l, pivot);
    for (Index m = 0; m < length; ++m)
      if (std::abs(a(l, m) - (std::isnan(factor) ? 0 : factor * n(l, m))) > j.near) return {};
  }
  return c;
}

// The elements of v that belong to the columns: v itself, or those of the only row of each column.
std::vector<double> by_column(const std::vector<double>& v, const Jacobians& j) {
  if (std::ssize(v) == j.columns) return v;
  if (std::ssize(v) != j.rows) return {};
  std::vector<double> result(j.columns);
  for (Index k = 0; k < j.columns; ++k) {
    Index found = 0;
    for (Index i = 0; i < j.rows; ++i) {
      if (j.no_n(i, k)) continue;
      result[k] = v[i];
      if (++found > 1) return {};
    }
  }
  return result;
}

// r when c_k v_k^power = r for every k; NaN when not.
double left_over(const std::vector<double>& c, const std::vector<double>& v, int power) {
  double r = std::nan("");
  Index told = 0;
  for (std::size_t k = 0; k < c.size(); ++k) {
    if (std::isnan(c[k])) continue;
    const double product = c[k] * std::pow(v[k], power);
    if (++told == 1) r = product;
    if (!(std::abs(product - r) <= 1e-4 * std::abs(r))) return std::nan("");
  }
  return told < 3 ? std::nan("") : r;
}

}  // namespace

// c by least squares.
std::string constant_factor(const Jacobians& j) {
  double an = 0, nn = 0;
  Index told = 0;
  j.everywhere([&](Index i, Index k) {
    an += j.a(i, k) * j.n(i, k);
    nn += j.n(i, k) * j.n(i, k);
    told += !j.no_n(i, k);
    return true;
  });
  const double c = nn > 0 ? an / nn : 0;
  if (told < 2 || c == 0 || !j.a_is([&](Index i, Index k) { return c * j.n(i, k); })) return "";
  return "a constant factor: " + text_of(c) + " times the derivative";
}

std::string factor_missing(const Jacobians& j, const JacobianPairs& all) {
  const std::vector<double> c = factors(j, false);
  if (c.empty()) return "";
  std::vector<double> rest;
  for (double y : all.y) rest.push_back(1 - y);
  std::vector<std::pair<std::string, const std::vector<double>*>> known{{"the output", &all.y},
                                                                        {"1 - the output", &rest}};
  for (const JacobianPair& p : all.inputs) known.emplace_back(p.name, &p.x);
  for (const auto& [name, elements] : known) {
    const std::vector<double> v = by_column(*elements, j);
    if (v.empty()) continue;
    for (const int power : {1, 2, -1, -2}) {
      const double r = left_over(c, v, power);
      if (std::isnan(r)) continue;
      std::string text = "the factor " + name + (power * power > 1 ? "²" : "") +
                         (power > 0 ? " missing" : " too many");
      if (std::abs(r - 1) > 1e-4) text += ", and " + text_of(r) + " times";
      return text;
    }
  }
  return "";
}

std::string passed_on(const Jacobians& j, bool times_one) {
  double c = 0;
  Index told = 0, right = 0;
  j.everywhere([&](Index i, Index k) {
    if (!j.no_a(i, k)) c = j.a(i, k), ++told, right += j.right(i, k);
    return true;
  });
  // Where most derivatives are right, c is the op's own, as 1/n of a mean.
  if (c == 0 || (!times_one && 4 * right > 3 * told) || (std::abs(c - 1) <= 1e-6) != times_one ||
      !j.a_is([&](Index i, Index k) { return j.no_n(i, k) ? 0 : c; }))
    return "";
  return "dy passed on without the op's own derivative" +
         (times_one ? "" : ", " + text_of(c) + " times");
}

bool other_factor(const Jacobians& j, bool by_row) { return !factors(j, by_row).empty(); }

Index wrong_lines(const Jacobians& j, bool by_row) {
  std::vector<bool> wrong(by_row ? j.rows : j.columns);
  j.everywhere([&](Index i, Index k) {
    if (!j.right(i, k)) wrong[by_row ? i : k] = true;
    return true;
  });
  return std::count(wrong.begin(), wrong.end(), true);
}

}  // namespace glim::detail

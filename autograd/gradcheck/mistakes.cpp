#include "autograd/gradcheck/mistakes.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>

namespace glim::detail {
namespace {

class Jacobians {
 public:
  Jacobians(const JacobianPair& pair, double relative)
      : input_(pair.input), a_(pair.analytic), n_(pair.numeric), columns_(numel_of(pair.input)) {
    rows_ = columns_ > 0 ? std::ssize(a_) / columns_ : 0;
    double largest = 0;
    for (double x : a_) largest = std::max(largest, std::abs(x));
    for (double x : n_) largest = std::max(largest, std::abs(x));
    near_ = relative * largest;
    finite_ = std::isfinite(largest) &&
              std::none_of(a_.begin(), a_.end(), [](double x) { return std::isnan(x); });
  }

  bool comparable() const { return finite_ && rows_ > 0; }
  bool agree() const {
    return equals([this](Index i, Index j) { return n(i, j); });
  }
  bool nothing() const {
    return equals([](Index, Index) { return 0.0; });
  }
  bool negative() const {
    return equals([this](Index i, Index j) { return -n(i, j); });
  }
  bool equals(const std::vector<double>& other) const {
    return other.size() == a_.size() && equals([&](Index i, Index j) {
             return other[static_cast<std::size_t>(i * columns_ + j)];
           });
  }

  // c with A = c N, by least squares; 0 when there is none, or only one derivative to tell.
  double factor() const {
    double an = 0, nn = 0;
    Index told = 0;
    for (std::size_t i = 0; i < a_.size(); ++i) {
      an += a_[i] * n_[i];
      nn += n_[i] * n_[i];
      told += std::abs(n_[i]) > near_;
    }
    const double c = nn > 0 ? an / nn : 0;
    return told > 1 && equals([&](Index i, Index j) { return c * n(i, j); }) ? c : 0;
  }

  bool transposed() const {
    return rows_ == columns_ && columns_ > 1 &&
           equals([this](Index i, Index j) { return n(j, i); });
  }

  // The gradient's last two axes exchanged.
  bool axes_exchanged() const {
    const int rank = input_.rank();
    if (rank < 2 || input_[rank - 1] != input_[rank - 2] || input_[rank - 1] < 2) return false;
    const Index d = input_[rank - 1];
    return equals(
        [=, this](Index i, Index j) { return n(i, j / (d * d) * d * d + j % d * d + j / d % d); });
  }

  bool shifted() const {
    for (Index by : {-1, 1})
      if (columns_ > 2 && equals([=, this](Index i, Index j) {
            return j + by >= 0 && j + by < columns_ ? n(i, j + by) : 0.0;
          }))
        return true;
    return false;
  }

  // Is every derivative, wherever `where` holds, zero in one of the two and right elsewhere?
  bool lost() const {
    return equals([this](Index i, Index j) { return std::abs(a(i, j)) > near_ ? n(i, j) : 0.0; });
  }
  bool beyond_mask() const {
    return masked() && holds([this](Index i, Index j) {
             return std::abs(n(i, j)) <= near_ || std::abs(a(i, j) - n(i, j)) <= near_;
           });
  }
  bool disjoint() const {
    return masked() && holds([this](Index i, Index j) {
             return (i != j || (std::abs(a(i, j)) > near_) != (std::abs(n(i, j)) > near_)) &&
                    (i == j || (std::abs(a(i, j)) <= near_ && std::abs(n(i, j)) <= near_));
           });
  }

  bool own_element_alone() const {
    return rows_ == columns_ && columns_ > 1 && diagonal(a_) && !diagonal(n_);
  }

  // A - N is the same for all elements along an axis: a mean's term. -1 when along none.
  int mean_axis() const {
    if (diagonal(n_)) return -1;
    Index stride = columns_;
    for (int axis = 0; axis < input_.rank(); ++axis) {
      stride /= input_[axis];
      const Index length = input_[axis];
      if (length > 1 && holds([=, this](Index i, Index j) {
            const Index first = j - j / stride % length * stride;
            return std::abs(a(i, j) - n(i, j) - a(i, first) + n(i, first)) <= near_;
          }))
        return axis;
    }
    return -1;
  }

  // A = N times a factor of each column (of the element of x), of at least two derivatives each.
  bool factor_of_element() const {
    if (rows_ < 2 || columns_ < 2) return false;
    for (Index j = 0; j < columns_; ++j) {
      Index pivot = 0, told = 0;
      for (Index i = 0; i < rows_; ++i) {
        if (std::abs(n(i, j)) > std::abs(n(pivot, j))) pivot = i;
        told += std::abs(n(i, j)) > near_;
      }
      if (told < 2) return false;
      const double c = a(pivot, j) / n(pivot, j);
      for (Index i = 0; i < rows_; ++i)
        if (std::abs(a(i, j) - c * n(i, j)) > near_) return false;
    }
    return true;
  }

 private:
  double a(Index i, Index j) const { return a_[static_cast<std::size_t>(i * columns_ + j)]; }
  double n(Index i, Index j) const { return n_[static_cast<std::size_t>(i * columns_ + j)]; }
  bool holds(const std::function<bool(Index i, Index j)>& at) const {
    for (Index i = 0; i < rows_; ++i)
      for (Index j = 0; j < columns_; ++j)
        if (!at(i, j)) return false;
    return true;
  }
  bool equals(const std::function<double(Index i, Index j)>& expected) const {
    return holds([&](Index i, Index j) { return std::abs(a(i, j) - expected(i, j)) <= near_; });
  }
  bool diagonal(const std::vector<double>& m) const {
    return rows_ == columns_ && holds([&](Index i, Index j) {
             return i == j || std::abs(m[static_cast<std::size_t>(i * columns_ + j)]) <= near_;
           });
  }
  // An element-wise function whose derivative is zero somewhere.
  bool masked() const {
    bool zero = false;
    for (Index i = 0; i < std::min(rows_, columns_); ++i) zero = zero || std::abs(n(i, i)) <= near_;
    return zero && columns_ > 1 && diagonal(n_) && diagonal(a_);
  }

  const Shape& input_;
  const std::vector<double>&a_, &n_;
  Index columns_, rows_ = 0;
  double near_ = 0;
  bool finite_ = true;
};

std::string factor_text(double c) {
  char text[64];
  std::snprintf(text, sizeof text, "a constant factor: %.6g times the derivative", c);
  return text;
}

}  // namespace

std::string likely_mistake(const std::vector<JacobianPair>& jacobians, std::size_t k,
                           double relative) {
  const Jacobians j(jacobians[k], relative);
  if (!j.comparable()) return "";
  if (j.agree())
    return jacobians[k].right_along_u ? "" : "not linear in dy (dy used as ones, or twice)";
  if (j.nothing()) return "no gradient reaches the input (detached, or a rule without it)";
  if (j.negative()) return "the sign";
  if (const double c = j.factor(); c != 0) return factor_text(c);
  for (std::size_t other = 0; other < jacobians.size(); ++other)
    if (other != k && jacobians[other].input == jacobians[k].input &&
        j.equals(jacobians[other].numeric))
      return "the gradient of another input, number " + std::to_string(other) + " of those checked";
  if (j.transposed()) return "a missing transpose: J dy instead of Jᵀ dy";
  if (j.axes_exchanged()) return "the gradient transposed: its last two axes are exchanged";
  if (j.shifted()) return "an index off by one";
  if (j.disjoint()) return "the mask the wrong way round";
  if (j.beyond_mask()) return "a mask ignored: a gradient where the derivative is 0";
  if (j.own_element_alone())
    return "a term missing: each output is taken to depend on its own element alone (a mean, "
           "softmax's sum)";
  if (j.lost())
    return "contributions lost: some derivatives are 0 and the others right (assigned where it "
           "should be "
           "added, or a broadcast not summed)";
  if (j.factor_of_element())
    return "a factor that belongs to the input's element is missing or wrong";
  if (const int axis = j.mean_axis(); axis >= 0)
    return "a term that is the same along axis " + std::to_string(axis) + " is missing (a mean)";
  return "";
}

}  // namespace glim::detail

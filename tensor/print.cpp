// The digits are those of Steele & White 1990 ("How to print floating-point numbers accurately"):
// shortest by std::to_chars, which is exact and knows no locale; where they are too many, the
// correctly rounded decimal takes their place.
#include "tensor/print.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <ostream>

namespace glim {
namespace {

template <class T, class... Format>
std::string chars(T value, Format... format) {
  if (value != value)
    return "nan";    // its sign says nothing, and a C++ library writes it as it likes
  char buffer[400];  // the longest double in positional form has 309 digits and the precision
  auto end = std::to_chars(buffer, buffer + sizeof buffer, value, format...).ptr;
  return std::string(buffer, end);
}

// A number cut at its decimal point and at its exponent: "-12.5e-07" is "-12", "5", "-07".
struct Parts {
  std::string whole, fraction, exponent;
};

Parts cut(const std::string& text) {
  Parts p;
  std::size_t e = text.find('e'), point = text.find('.');
  std::string mantissa = text.substr(0, e);
  p.whole = mantissa.substr(0, point);
  if (point != std::string::npos) p.fraction = mantissa.substr(point + 1);
  if (e != std::string::npos) p.exponent = text.substr(e + 1);
  return p;
}

// At most `precision` digits after the point, none of them needless.
template <class T>
Parts shortest(T x, std::chars_format form, int precision) {
  Parts p = cut(chars(x, form));
  if (static_cast<int>(p.fraction.size()) <= precision) return p;
  p = cut(chars(x, form, precision));
  p.fraction.erase(p.fraction.find_last_not_of('0') + 1);
  return p;
}

std::string padded(const std::string& s, std::size_t width) {
  return s.size() < width ? std::string(width - s.size(), ' ') + s : s;
}

// One format for all the elements of an array, chosen after a look at those that will be shown.
template <class T>
class Format {
 public:
  Format(const std::vector<T>& shown, const PrintOptions& options, bool scalar) : scalar_(scalar) {
    if constexpr (std::is_floating_point_v<T>) {
      choose(shown, options);
    } else if constexpr (!std::is_same_v<T, bool>) {
      for (T v : shown) width_ = std::max(width_, std::to_string(v).size());
    }
  }

  std::string operator()(T x) const {
    if constexpr (std::is_same_v<T, bool>) {
      return x ? (scalar_ ? "True" : " True") : "False";
    } else if constexpr (std::is_integral_v<T>) {
      return padded(std::to_string(x), width_);
    } else {
      if (std::isnan(x)) return padded("nan", left_ + right_ + 1);
      if (std::isinf(x)) return padded(x < 0 ? "-inf" : "inf", left_ + right_ + 1);
      if (exponent_form_) {
        Parts p = cut(chars(x, std::chars_format::scientific, static_cast<int>(digits_)));
        std::string e = p.exponent.substr(1);
        if (e.size() < exponent_) e.insert(0, exponent_ - e.size(), '0');
        return padded(p.whole, left_) + "." + p.fraction + "e" + p.exponent[0] + e;
      }
      Parts p = shortest(x, std::chars_format::fixed, precision_);
      p.fraction.resize(right_, ' ');
      return padded(p.whole, left_) + "." + p.fraction;
    }
  }

 private:
  void choose(const std::vector<T>& shown, const PrintOptions& options) {
    precision_ = options.precision;
    T largest = 0, smallest = std::numeric_limits<T>::infinity();
    std::size_t special = 0;  // width that NaN and infinity need
    for (T v : shown) {
      if (std::isnan(v)) special = std::max<std::size_t>(special, 3);
      if (std::isinf(v)) special = std::max<std::size_t>(special, v < 0 ? 4 : 3);
      if (!std::isfinite(v) || v == 0) continue;
      largest = std::max(largest, std::abs(v));
      smallest = std::min(smallest, std::abs(v));
    }
    const T cutoff = std::is_same_v<T, float> ? T(1e6) : T(1e8);
    exponent_form_ = largest > 0 && (largest >= cutoff || smallest < static_cast<T>(0.0001) ||
                                     largest / smallest > 1000);
    for (T v : shown) {
      if (!std::isfinite(v)) continue;
      Parts p = shortest(
          v, exponent_form_ ? std::chars_format::scientific : std::chars_format::fixed, precision_);
      left_ = std::max(left_, p.whole.size());
      digits_ = std::max(digits_, p.fraction.size());
      if (exponent_form_) exponent_ = std::max(exponent_, p.exponent.size() - 1);
    }
    right_ = exponent_form_ ? digits_ + exponent_ + 2 : digits_;
    if (special > right_ + 1) left_ = std::max(left_, special - (right_ + 1));
  }

  bool scalar_, exponent_form_ = false;
  int precision_ = 8;
  std::size_t width_ = 0;             // integers
  std::size_t left_ = 0, right_ = 0;  // before and after the point, exponent included
  std::size_t digits_ = 0, exponent_ = 0;
};

// Brackets, blanks and line breaks; an element is fetched by its offset.
class Layout {
 public:
  Layout(const Tensor& x, const PrintOptions& o) : x_(x), options_(o) {}

  // Positions shown along an axis; -1 means the dots.
  std::vector<Index> positions(int axis) const {
    std::vector<Index> indices;
    Index n = x_.shape()[axis], edge = options_.edgeitems;
    bool dots = x_.numel() > options_.threshold && n > 2 * edge;
    for (Index i = 0; i < n; ++i) {
      if (dots && i == edge) {
        indices.push_back(-1);
        i = n - edge;
        if (edge == 0) break;
      }
      indices.push_back(i);
    }
    return indices;
  }

  void collect(int axis, Index offset, const std::function<void(Index)>& use) const {
    if (axis == x_.rank()) return use(offset);
    for (Index i : positions(axis))
      if (i >= 0) collect(axis + 1, offset + i * x_.strides()[axis], use);
  }

  std::string text(int axis, Index offset, const std::string& indent, int width,
                   const std::function<std::string(Index)>& element) const {
    if (axis == x_.rank()) return element(offset);
    std::vector<Index> indices = positions(axis);
    auto part = [&](Index i) {
      return i < 0 ? std::string("...")
                   : text(axis + 1, offset + i * x_.strides()[axis], indent + " ", width - 1,
                          element);
    };
    std::string s;
    if (axis + 1 == x_.rank()) {  // a row: broken where it gets too wide
      std::string line = indent;
      for (std::size_t k = 0; k < indices.size(); ++k) {
        std::string word = part(indices[k]);
        if (static_cast<int>(line.size() + word.size()) > width - 1 &&
            line.size() > indent.size()) {
          s += without_trailing_blanks(line) + "\n";
          line = indent;
        }
        line += word;
        if (k + 1 < indices.size()) line += ' ';
      }
      s += line;
    } else {
      std::string end(x_.rank() - axis - 1, '\n');
      for (std::size_t k = 0; k < indices.size(); ++k)
        s += indent + part(indices[k]) + (k + 1 < indices.size() ? end : "");
    }
    s.replace(0, indent.size(), 1, '[');
    return s + "]";
  }

 private:
  static std::string without_trailing_blanks(std::string s) {
    s.erase(s.find_last_not_of(' ') + 1);
    return s;
  }
  const Tensor& x_;
  const PrintOptions& options_;
};

}  // namespace

std::string to_string(const Tensor& x, const PrintOptions& options) {
  if (!x.defined()) return "undefined";
  if (x.numel() == 0) return "[]";
  Layout layout(x, options);
  return visit_dtype(x.dtype(), [&]<class T>() {
    const T* p = x.data<T>();
    std::vector<T> shown;
    layout.collect(0, 0, [&](Index i) { shown.push_back(p[i]); });
    Format<T> format(shown, options, x.rank() == 0);
    return layout.text(0, 0, " ", options.linewidth, [&](Index i) { return format(p[i]); });
  });
}

std::string number_text(double x, int precision, std::chars_format form) {
  return chars(x, form, precision);
}

std::ostream& operator<<(std::ostream& out, const Tensor& x) { return out << to_string(x); }

}  // namespace glim

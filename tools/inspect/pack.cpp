#include "tools/inspect/pack.hpp"

#include <cmath>

#include "models/tokenizers/base64.hpp"
#include "tensor/parallel.hpp"
#include "tensor/print.hpp"

namespace glim {
namespace {

constexpr int kDecades = 36;

struct Decimal {
  int mantissa = 0, exponent = 0;  // |x| = mantissa · 10^(exponent - 2)
};

Decimal decimal(double x) {
  const double size = std::abs(x);
  if (size > 1e-280 && size < 1e280) {
    const int exponent = static_cast<int>(std::floor(std::log10(size)));
    const double mantissa = size * std::pow(10.0, 2 - exponent), rounded = std::nearbyint(mantissa);
    // Near the middle of two decimals, or at a power of ten, a rounding of `mantissa` could decide.
    if (rounded > 100 && rounded < 999 && std::abs(std::abs(mantissa - rounded) - 0.5) > 1e-6)
      return {static_cast<int>(rounded), exponent};
  }
  const std::string text = number_text(std::abs(x), 2, std::chars_format::scientific);  // d.dde±dd
  return {(text[0] - '0') * 100 + (text[2] - '0') * 10 + (text[3] - '0'),
          std::stoi(text.substr(5))};
}

nlohmann::json packed_values(const std::vector<double>& values) {
  int lowest = 0, highest = 0;
  bool any = false;
  std::vector<Decimal> decimals(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == 0 || !std::isfinite(values[i])) continue;
    decimals[i] = decimal(values[i]);
    const int e = decimals[i].exponent;
    lowest = any ? std::min(lowest, e) : e;
    highest = any ? std::max(highest, e) : e;
    any = true;
  }
  if (highest - lowest >= kDecades) return {{"numbers", values}};
  std::string bytes(2 * values.size(), '\0');
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double v = values[i];
    int code;
    if (v == 0) {
      code = 0;
    } else if (!std::isfinite(v)) {
      code = std::isnan(v) ? 1 : v > 0 ? 2 : 3;
    } else {
      const Decimal d = decimals[i];
      code = 8 + (d.mantissa - 100) + (v < 0 ? 900 : 0) + 1800 * (d.exponent - lowest);
    }
    bytes[2 * i] = static_cast<char>(code & 255);
    bytes[2 * i + 1] = static_cast<char>(code >> 8);
  }
  return {{"e0", lowest}, {"data", base64_encode(bytes)}};
}

}  // namespace

nlohmann::json packed(const Tensor& x) {
  nlohmann::json j = packed_values(x.to(DType::Float64).to_vector<double>());
  j["shape"] = x.shape().vec();
  return j;
}

nlohmann::json packed_picture(const Tensor& x, Index rows, Index columns) {
  Index c = x.rank() == 0 ? 1 : x.size(-1);
  Index r = c > 0 ? x.numel() / c : 0;
  Index shown_r = std::min(r, rows), shown_c = std::min(c, columns);
  std::vector<double> cells(static_cast<std::size_t>(shown_r * shown_c), 0);
  const Tensor all = x.contiguous();
  auto begin = [](Index cell, Index shown, Index n) { return (cell * n + shown - 1) / shown; };
  visit_dtype(all.dtype(), [&]<class T>() {
    const T* values = all.data<T>();
    parallel_each(shown_r, [&](std::int64_t row) {
      for (Index i = begin(row, shown_r, r); i < begin(row + 1, shown_r, r); ++i)
        for (Index column = 0; column < shown_c; ++column) {
          double& cell = cells[static_cast<std::size_t>(row * shown_c + column)];
          for (Index k = begin(column, shown_c, c); k < begin(column + 1, shown_c, c); ++k)
            if (const auto v = static_cast<double>(values[i * c + k]);
                std::isnan(v) || std::abs(v) > std::abs(cell))
              cell = v;
        }
    });
  });
  nlohmann::json j = packed_values(cells);
  j["shape"] = {shown_r, shown_c};
  j["full"] = x.shape().vec();
  return j;
}

}  // namespace glim

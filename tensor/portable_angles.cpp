// Sine and cosine; declared in tensor/portable.hpp.
//
//   x = q π/2 + r,  |r| ≤ π/4:   ± sin r or ± cos r, by their Taylor series
//
// r comes from the bits of 2/π that matter for the exponent of x (Payne & Hanek 1983, "Radian reduction for
// trigonometric functions"), so that the largest x loses nothing.
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "tensor/portable.hpp"
#include "tensor/portable_pairs.hpp"

namespace glim::portable {
namespace {

__extension__ typedef unsigned __int128 Wide;

// 64 zeros, then the bits of 2/π after the point.
constexpr std::array<std::uint64_t, 20> kTwoOverPi = {
    0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
    0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e,
    0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b,
    0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
};
constexpr HiLo kHalfPi{0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};

struct Reduced {
  unsigned quadrant;
  HiLo rest;
};

// The reduction of a finite |x| > π/4, for x > 0.
Reduced reduce(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const int exponent = static_cast<int>(bits >> 52) - 1075;  // x = m 2^exponent
  const std::uint64_t m = (bits & 0xFFFFFFFFFFFFF) | 0x10000000000000;
  // 192 bits of 2/π, the first of which is worth 2 in m 2^exponent 2/π: those before it, multiples of 4.
  const int from = 64 + exponent - 2;
  auto word = [&](int i) {
    auto at = static_cast<std::size_t>(from / 64 + i);
    int shift = from % 64;
    return shift == 0 ? kTwoOverPi[at]
                      : kTwoOverPi[at] << shift | kTwoOverPi[at + 1] >> (64 - shift);
  };
  // m times them, modulo 4: the quadrant in two bits, then the fraction of π/2.
  Wide low = static_cast<Wide>(word(2)) * m;
  Wide middle = static_cast<Wide>(word(1)) * m + static_cast<std::uint64_t>(low >> 64);
  std::uint64_t top = word(0) * m + static_cast<std::uint64_t>(middle >> 64);
  Wide next =
      static_cast<Wide>(static_cast<std::uint64_t>(middle)) << 64 | static_cast<std::uint64_t>(low);
  auto quadrant = static_cast<unsigned>(top >> 62);
  // 128 bits of the fraction and the rest, as 64 and 128 bits after the point.
  std::uint64_t first = top << 2 | static_cast<std::uint64_t>(next >> 126);
  Wide rest = next << 2;
  bool above = first >> 63;  // more than 1/2: the next quadrant, less 1
  if (above) {
    ++quadrant;
    rest = ~rest + 1;
    first = ~first + (rest == 0);
  }
  int zeros = 0;  // before the fraction's first bit
  while (zeros < 128 && !(first >> 63)) {
    first = first << 1 | static_cast<std::uint64_t>(rest >> 127);
    rest <<= 1;
    ++zeros;
  }
  double hi = static_cast<double>(first >> 11) * 0x1p-53;
  double lo = static_cast<double>(first & 0x7FF) * 0x1p-64 +
              static_cast<double>(static_cast<std::uint64_t>(rest >> 64)) * 0x1p-128;
  double scale = std::bit_cast<double>(static_cast<std::uint64_t>(1023 - zeros) << 52);
  if (above) scale = -scale;
  return {quadrant % 4, HiLo{hi * scale, lo * scale} * kHalfPi};
}

double sine(HiLo r) {
  constexpr std::array<double, 7> c = {
      1.0 / 355687428096000, -1.0 / 1307674368000, 1.0 / 6227020800, -1.0 / 39916800,
      1.0 / 362880,          -1.0 / 5040,          1.0 / 120};
  double x = r.hi, z = x * x, cube = z * x;
  // sin(x + lo) = x - x³/6 + ... + lo (1 - x²/2)
  return x - ((z * (0.5 * r.lo - cube * horner(z, c)) - r.lo) + cube * (1.0 / 6));
}

double cosine(HiLo r) {
  constexpr std::array<double, 7> c = {
      1.0 / 20922789888000, -1.0 / 87178291200, 1.0 / 479001600, -1.0 / 3628800,
      1.0 / 40320,          -1.0 / 720,         1.0 / 24};
  double x = r.hi, z = x * x, half = 0.5 * z, w = 1 - half;
  return w + (((1 - w) - half) + (z * z * horner(z, c) - x * r.lo));
}

// sin(x + quarter π/2)
double turned(double x, unsigned quarter) {
  if (!std::isfinite(x)) return std::numeric_limits<double>::quiet_NaN();
  double size = std::abs(x);
  Reduced r = size <= 0.785 ? Reduced{0, {size, 0}} : reduce(size);
  if (quarter == 0 && size < 0x1p-28) return x;
  // cos is even; sin is odd.
  unsigned quadrant = (r.quadrant + quarter) % 4;
  double y = quadrant % 2 == 0 ? sine(r.rest) : cosine(r.rest);
  if (quadrant >= 2) y = -y;
  return quarter == 0 && x < 0 ? -y : y;
}

}  // namespace

double sin(double x) { return turned(x, 0); }
double cos(double x) { return turned(x, 1); }

}  // namespace glim::portable

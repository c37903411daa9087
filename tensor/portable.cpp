#include "tensor/portable.hpp"

#include <array>

#include "tensor/portable_angles.hpp"

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
constexpr HiLo<double> kHalfPi{0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};

struct Reduced {
  unsigned quadrant;
  HiLo<double> rest;
};

// The reduction of a finite x > π/4.
Reduced reduce(double x) {
  const auto bits = bits_of(x);
  const int exponent = static_cast<int>(bits >> 52) - 1075;  // x = m 2^exponent
  const std::uint64_t m = (bits & 0xFFFFFFFFFFFFF) | 0x10000000000000;
  // 192 bits of 2/π, the first of which is worth 2 in m 2^exponent 2/π: those before it, multiples of 4.
  const int first_bit = 64 + exponent - 2;
  auto word = [&](int i) {
    auto index = static_cast<std::size_t>(first_bit / 64 + i);
    int shift = first_bit % 64;
    return shift == 0 ? kTwoOverPi[index]
                      : kTwoOverPi[index] << shift | kTwoOverPi[index + 1] >> (64 - shift);
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
  double scale = number_of(static_cast<std::uint64_t>(1023 - zeros) << 52);
  if (above) scale = -scale;
  return {quadrant % 4, HiLo<double>{hi * scale, lo * scale} * kHalfPi};
}

}  // namespace

// From the bits of 2/π that matter for the exponent of an angle (Payne & Hanek 1983, "Radian reduction for
// trigonometric functions"), so that the largest angle loses nothing.
void reduce_large(int n, const double* angle, double* hi, double* lo, std::uint64_t* q) {
  for (int i = 0; i < n; ++i) {
    if (!(angle[i] > kMediumAngle)) continue;
    Reduced r = angle[i] < kInf ? reduce(angle[i]) : Reduced{0, {kNaN, kNaN}};
    hi[i] = r.rest.hi;
    lo[i] = r.rest.lo;
    q[i] = r.quadrant;
  }
}

double exp(double x) { return exp<double>(x); }
double log(double x) { return log<double>(x); }
double pow(double x, double y) { return pow<double>(x, y); }
double tanh(double x) { return tanh<double>(x); }
double erf(double x) { return erf<double>(x); }
double sin(double x) { return sin<double>(x); }
double cos(double x) { return cos<double>(x); }

}  // namespace glim::portable

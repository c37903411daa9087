#include "tensor/matmul/products.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "tensor/error.hpp"

namespace glim {
namespace {

// Times of a training step with OpenBLAS's product, of those with our own: medians of 5 pairs in turn, on
// two cores unless said (`tools/bench --only products`).
struct Measured {
  std::string_view vendor;
  int family;
  Isa widest, isa;
  Products ahead;
  std::string_view on;
};
constexpr Measured kMeasured[] = {
    // Not measured: OpenBLAS has the same kernels for Zen 1, 2 and 3.
    {"AuthenticAMD", 0x17, Isa::Avx2, Isa::Avx2, Products::OpenBlas,
     "Zen 3, whose kernels it takes here too"},
    // base 0.87, small 0.95, gpt-char 0.955, tiny 1.00: when packing still stored parts of vectors, which
    // made Zen 4's 0.99, 0.99, 0.95, 1.02
    {"AuthenticAMD", 0x19, Isa::Avx2, Isa::Avx2, Products::OpenBlas, "Zen 3"},
    // base 0.98, small 1.03, gpt-char 1.03, tiny 1.07 with OpenBLAS's Haswell kernels
    {"AuthenticAMD", 0x19, Isa::Avx512, Isa::Avx2, Products::Own, "Zen 4 held to AVX2"},
    // base 1.10, small 1.14, gpt-char 1.06, tiny 1.13
    {"AuthenticAMD", 0x19, Isa::Avx512, Isa::Avx512, Products::Own, "Zen 4"},
    // 1.03 to 1.05
    {"GenuineIntel", 0x6, Isa::Avx512, Isa::Avx2, Products::Own, "a Xeon held to AVX2"},
    // base 1.19
    {"GenuineIntel", 0x6, Isa::Avx512, Isa::Avx512, Products::Own, "a Xeon"},
};

std::string described(const CpuKind& cpu, Isa isa) {
  char family[16];
  std::snprintf(family, sizeof family, "0x%x", static_cast<unsigned>(cpu.family));
  return (cpu.vendor.empty() ? "an unknown CPU" : cpu.vendor + " family " + family) + " with " +
         std::string(name_of(isa));
}

}  // namespace

std::string_view name_of(Products products) {
  return products == Products::Own ? "own" : "openblas";
}

CpuKind cpu_kind() {
  CpuKind kind;
  kind.widest = supported_isas().back();
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(0, &a, &b, &c, &d)) return kind;
  char vendor[12];
  std::memcpy(vendor, &b, 4);
  std::memcpy(vendor + 4, &d, 4);
  std::memcpy(vendor + 8, &c, 4);
  kind.vendor.assign(vendor, sizeof vendor);
  __get_cpuid(1, &a, &b, &c, &d);
  kind.family = static_cast<int>(a >> 8 & 0xf);
  if (kind.family == 0xf) kind.family += static_cast<int>(a >> 20 & 0xff);
#endif
  return kind;
}

ProductChoice choose_products(const CpuKind& cpu, Isa isa, const char* asked) {
  bool own = isa != Isa::Baseline;
  if (asked) {
    std::string word = asked;
    if (word == "openblas") return {Products::OpenBlas, "GLIM_PRODUCTS"};
    if (word != "own") throw ValueError("GLIM_PRODUCTS", "'" + word + "' is none of own, openblas");
    if (!own)
      throw ValueError("GLIM_PRODUCTS", "there is no own product for " + std::string(name_of(isa)) +
                                            ", only openblas");
    return {Products::Own, "GLIM_PRODUCTS"};
  }
  if (!own) return {Products::OpenBlas, "there is no own one for " + std::string(name_of(isa))};
  for (const Measured& m : kMeasured)
    if (m.vendor == cpu.vendor && m.family == cpu.family && m.widest == cpu.widest && m.isa == isa)
      return {m.ahead, "ahead on " + std::string(m.on)};
  // OpenBLAS may not know the CPU either, and then takes kernels of older ones.
  return {Products::Own, "not measured on " + described(cpu, isa) +
                             ": tools/bench --only products does, GLIM_PRODUCTS overrides"};
}

const ProductChoice& product_choice() {
  static const ProductChoice choice =
      choose_products(cpu_kind(), best_isa(), std::getenv("GLIM_PRODUCTS"));
  return choice;
}

}  // namespace glim

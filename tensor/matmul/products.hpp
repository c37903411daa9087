// Which product computes large matrices: our own (tensor/matmul/packed.hpp), or OpenBLAS's.
//
// What was measured on this kind of CPU with the instruction set in use decides, once. A measurement at run
// time would turn with its noise, and the bits from run to run with it. GLIM_PRODUCTS in the environment
// ("own", "openblas") overrides the choice; ValueError for another word, and for "own" without AVX2.
#pragma once

#include <string>
#include <string_view>

#include "tensor/simd/isa.hpp"

namespace glim {

enum class Products { Own, OpenBlas };
std::string_view name_of(Products products);

// As cpuid tells it: "AuthenticAMD", 0x19; empty and 0 where there is none. `widest` of what it runs tells
// Zen 3 from Zen 4.
struct CpuKind {
  std::string vendor;
  int family = 0;
  Isa widest = Isa::Baseline;
};
CpuKind cpu_kind();

struct ProductChoice {
  Products products;
  std::string reason;
};
// `asked`: the value of GLIM_PRODUCTS, or null.
ProductChoice choose_products(const CpuKind& cpu, Isa isa, const char* asked);

const ProductChoice& product_choice();  // the one in use

}  // namespace glim

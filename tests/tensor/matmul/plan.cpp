// Which large product a CPU gets.
#include "tensor/matmul/plan.hpp"

#include "tensor/error.hpp"
#include "tests/catch.hpp"

namespace test_plan {

using namespace glim;

namespace {

std::string choice(const CpuKind& cpu, Isa isa, const char* asked = nullptr) {
  ProductChoice c = choose_products(cpu, isa, asked);
  return std::string(name_of(c.products)) + ": " + c.reason;
}

const CpuKind kZen3{"AuthenticAMD", 0x19, Isa::Avx2}, kZen4{"AuthenticAMD", 0x19, Isa::Avx512},
    kXeon{"GenuineIntel", 6, Isa::Avx512}, kOther{"NewVendor", 0x1a, Isa::Avx512};

std::string refusal(Isa isa, const char* asked) {
  try {
    return choice(kXeon, isa, asked);
  } catch (const ValueError& e) {
    return e.what();
  }
}

}  // namespace

TEST_CASE("a CPU that was measured gets the product that was ahead on it", "[products]") {
  CHECK(choice(kZen3, Isa::Avx2) == "openblas: faster on Zen 3");
  CHECK(choice({"AuthenticAMD", 0x17, Isa::Avx2}, Isa::Avx2)
            .starts_with("openblas: faster on Zen 3, "));
  CHECK(choice(kZen4, Isa::Avx2) == "own: faster on Zen 4 limited to AVX2");
  CHECK(choice(kZen4, Isa::Avx512) == "own: faster on Zen 4");
  CHECK(choice(kXeon, Isa::Avx2) == "own: faster on a Xeon limited to AVX2");
  CHECK(choice(kXeon, Isa::Avx512) == "own: faster on a Xeon");
}

TEST_CASE("a CPU that was not measured is named, with what to do", "[products]") {
  for (Isa isa : {Isa::Avx2, Isa::Avx512})
    CHECK(choice(kOther, isa) ==
          "own: not measured on NewVendor family 0x1a with " + std::string(name_of(isa)) +
              "; `tools/bench --only products` measures it, GLIM_PRODUCTS chooses");
  CHECK(choice({}, Isa::Avx2).starts_with("own: not measured on an unknown CPU with avx2;"));
}

TEST_CASE("without AVX2 there is OpenBLAS's product alone", "[products]") {
  for (const CpuKind& cpu : {kZen3, kXeon, kOther, CpuKind{}})
    CHECK(choice(cpu, Isa::Baseline) == "openblas: Glim has none of its own for baseline");
  CHECK(choice(kXeon, Isa::Baseline, "openblas") == "openblas: GLIM_PRODUCTS");
}

TEST_CASE("GLIM_PRODUCTS overrides the choice or is refused", "[products]") {
  for (Isa isa : {Isa::Avx2, Isa::Avx512})
    for (const CpuKind& cpu : {kZen3, kXeon, kOther}) {
      CHECK(choice(cpu, isa, "own") == "own: GLIM_PRODUCTS");
      CHECK(choice(cpu, isa, "openblas") == "openblas: GLIM_PRODUCTS");
    }
  for (const char* wrong : {"", "OWN", "blas", "own,openblas"})
    CHECK(refusal(Isa::Avx2, wrong) ==
          "GLIM_PRODUCTS: '" + std::string(wrong) + "' is not one of own, openblas");
  CHECK(refusal(Isa::Baseline, "own") ==
        "GLIM_PRODUCTS: Glim has no products of its own for baseline; use openblas");
}

TEST_CASE("the CPU says what it is", "[products]") {
  CpuKind cpu = cpu_kind();
#if defined(__x86_64__)
  CHECK(cpu.vendor.size() == 12);
  CHECK(cpu.family >= 6);
#else
  CHECK(cpu.vendor.empty());
#endif
  CHECK(cpu.widest == supported_isas().back());
  CHECK_FALSE(product_choice().reason.empty());
}

}  // namespace test_plan

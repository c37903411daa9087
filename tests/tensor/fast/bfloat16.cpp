// Products of operands rounded to bfloat16: each instruction set against the recipe of tensor/numerics.md.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "tensor/error.hpp"
#include "tensor/fast/products.hpp"
#include "tensor/matmul/matmul.hpp"
#include "tensor/random.hpp"
#include "tests/catch.hpp"
#include "tests/tensor/common.hpp"

namespace test_bfloat16 {

using namespace glim;

float number(std::uint32_t bits) { return std::bit_cast<float>(bits); }

float read(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }

float rounded(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(read(x));
  if (std::isnan(x)) return x;
  const float down = number(bits & 0xffff0000), up = number((bits & 0xffff0000) + 0x10000);
  const std::uint32_t rest = bits & 0xffff;
  const bool odd = bits & 0x10000;
  return rest > 0x8000 || (rest == 0x8000 && odd) ? up : down;
}

// a b + c in one rounding; 0 where it would be subnormal with as many digits as any other number.
float multiply_add(float a, float b, float c) {
  a = read(a), b = read(b), c = read(c);
  const float y = std::fma(a, b, c);
  if (!(std::abs(y) <= 0x1p-126f)) return y;
  if (std::abs(a) > std::abs(b)) std::swap(a, b);
  const float scaled = std::fma(std::ldexp(a, 64), b, std::ldexp(c, 64));
  return std::abs(scaled) < 0x1p-62f ? std::copysign(0.0f, y) : y;
}

struct Case {
  bool transpose_a, transpose_b;
  Index m, n, k;
  float alpha, beta;
};

std::vector<float> recipe(const Case& x, const Tensor& a, const Tensor& b, const Tensor& c) {
  std::vector<float> result;
  for (Index i = 0; i < x.m; ++i)
    for (Index j = 0; j < x.n; ++j) {
      float sum = 0;
      for (Index begin = 0; begin < x.k; begin += 32) {
        float chain[2] = {0, 0};
        for (Index l = begin; l < begin + 32; ++l) {
          const float left =
              l >= x.k ? 0 : a.data<float>()[x.transpose_a ? l * x.m + i : i * x.k + l];
          const float right =
              l >= x.k ? 0 : b.data<float>()[x.transpose_b ? j * x.k + l : l * x.n + j];
          chain[l % 2] = multiply_add(rounded(left), rounded(right), chain[l % 2]);
        }
        sum = read(sum + read(chain[0] + chain[1]));
      }
      if (x.alpha != 1) sum = multiply_add(x.alpha, sum, 0);
      if (x.beta != 0) sum = multiply_add(x.beta, c.data<float>()[i * x.n + j], sum);
      result.push_back(sum);
    }
  return result;
}

// Numbers of ordinary size; of sizes of any exponent; any bits at all.
Tensor numbers(const char* sizes, Index count, std::uint64_t stream) {
  Tensor x = normal({count}, 0, 1, {7, stream}), other = normal({count}, 0, 1, {8, stream});
  for (Index i = 0; i < count; ++i) {
    float& value = x.data<float>()[i];
    const auto bits = std::bit_cast<std::uint32_t>(other.data<float>()[i]) * 2654435761u;
    if (sizes == std::string("wide")) value = std::ldexp(value, static_cast<int>(bits >> 8) % 126);
    if (sizes == std::string("tiny")) value = std::ldexp(value, -62 - static_cast<int>(bits >> 30));
    if (sizes == std::string("any")) value = number(bits);
  }
  return x;
}

// How many elements of the kernels' products differ from the recipe's; all NaN are one number.
Index differences(Isa isa, bool by_amx, const Case& x, const Tensor& a, const Tensor& b,
                  const Tensor& before, Index depth) {
  Tensor c = before.clone(), sums = empty({x.m, x.n}, DType::Float32);
  const PackedBlocks blocks{depth, by_amx ? 32 : 24, 64};
  const Index lda = x.transpose_a ? x.m : x.k, ldb = x.transpose_b ? x.k : x.n;
  Bfloat16Product p{x.transpose_a, x.transpose_b,   x.m, x.n,    x.k, x.alpha, a.data<float>(),
                    lda,           b.data<float>(), ldb, x.beta, {},  x.n,     {},
                    x.n,           blocks};
  p.c = c.data<float>();
  p.sums = x.beta == 0 ? p.c : sums.data<float>();
  Tensor scratch = empty({depth * (blocks.rows + blocks.columns) + 4096}, DType::Float32);
  if (by_amx)
    dispatch<simd::amx_product>.on(isa)(p, scratch.data<float>());
  else
    dispatch<simd::bfloat16_product>.on(isa)(p, scratch.data<float>());
  const std::vector<float> expected = recipe(x, a, b, before);
  Index count = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const float y = c.data<float>()[i];
    count +=
        std::memcmp(&y, &expected[i], sizeof y) != 0 && !(std::isnan(y) && std::isnan(expected[i]));
  }
  return count;
}

TEST_CASE("a product of bfloat16 has the bits of its recipe with every instruction set",
          "[products]") {
  const Case cases[] = {{false, false, 16, 16, 32, 1, 0},    {false, true, 17, 33, 63, 1, 0},
                        {true, false, 30, 70, 31, 1, 1},     {false, false, 50, 131, 97, 0.3f, 0},
                        {false, true, 25, 40, 130, 0.3f, 1}, {true, true, 13, 65, 1, 1, 0.5f},
                        {true, false, 61, 32, 64, 1, 0}};
  std::uint64_t stream = 0;
  for (const Case& x : cases)
    for (const char* sizes : {"ordinary", "wide", "tiny", "any"}) {
      Tensor a = numbers(sizes, x.m * x.k, ++stream), b = numbers(sizes, x.k * x.n, ++stream);
      Tensor c = reshape(numbers(sizes, x.m * x.n, ++stream), {x.m, x.n});
      for (Isa isa : supported_isas())
        for (Index depth : {32, 64, 256}) {
          INFO(sizes << ", " << name_of(isa) << ", " << x.m << " x " << x.n << " x " << x.k
                     << ", depth " << depth);
          CHECK(differences(isa, false, x, a, b, c, depth) == 0);
          if (isa == Isa::Avx512 && amx() == Amx::Used)
            CHECK(differences(isa, true, x, a, b, c, depth) == 0);
        }
    }
}

TEST_CASE("threads and tiles do not show in the bits of medium precision", "[products][slow]") {
  set_float32_matmul_precision(MatmulPrecision::Medium);
  const Case x{false, true, 300, 200, 1100, 1, 0};
  Tensor a = reshape(numbers("ordinary", x.m * x.k, 1), {x.m, x.k});
  Tensor b = reshape(numbers("ordinary", x.n * x.k, 2), {x.n, x.k});
  CHECK(same_for_any_threads([&] { return matmul(a, transpose(b)); }));
  Tensor y = matmul(a, transpose(b)), added = y.clone();
  matmul_into(added, a, transpose(b), 1, 1);  // sums are kept beside what they are added to
  CHECK(same_bits(added, mul(y, scalar(2, DType::Float32))));
  set_float32_matmul_precision(MatmulPrecision::Highest);
  const std::vector<float> expected = recipe(x, a, b, y);
  CHECK(std::memcmp(y.data<float>(), expected.data(), expected.size() * sizeof(float)) == 0);
}

TEST_CASE("a sum beside the smallest normal number is flushed as x86 does", "[products]") {
  for (Isa isa : supported_isas())
    for (int exponent = -153; exponent <= -147; ++exponent)
      for (float digits : {1.0f, 1.0078125f}) {
        Tensor a = zeros({16, 32}, DType::Float32), b = zeros({32, 16}, DType::Float32);
        a.data<float>()[0] = b.data<float>()[0] = 0x1p-63f;
        a.data<float>()[2] = 0x1p-60f;
        b.data<float>()[32] = -std::ldexp(digits, exponent + 60);
        Case x{false, false, 16, 16, 32, 1, 0};
        INFO(name_of(isa) << ", " << digits << " 2^" << exponent);
        for (bool by_amx : {false, isa == Isa::Avx512 && amx() == Amx::Used})
          CHECK(differences(isa, by_amx, x, a, b, zeros({16, 16}, DType::Float32), 32) == 0);
      }
}

}  // namespace test_bfloat16

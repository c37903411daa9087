// A tensor without its zeros comes back to the bit, with the kernels of every instruction set.
#include "tensor/matmul/nonzeros.hpp"

#include <cstring>
#include <limits>

#include "tensor/error.hpp"
#include "tensor/random.hpp"
#include "tensor/simd/kernels.hpp"
#include "tests/catch.hpp"

namespace test_nonzeros {

using namespace glim;

namespace {

// Every third element or so is kept; -0, NaN, a denormal and infinity are elements like others.
template <class T>
std::vector<T> sparse(Index n, double keep, std::uint64_t stream) {
  using Limits = std::numeric_limits<T>;
  const T odd[] = {-T(0), Limits::quiet_NaN(), Limits::denorm_min(), -Limits::infinity()};
  std::vector<T> x(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < x.size(); ++i) {
    double u = uniform_at({3, stream}, i);
    if (u < keep) x[i] = i % 5 == 0 ? odd[i / 5 % 4] : static_cast<T>(u - 0.1);
  }
  return x;
}

template <class T>
bool same_bits(const T* a, const T* b, Index n) {
  return n == 0 || std::memcmp(a, b, static_cast<std::size_t>(n) * sizeof(T)) == 0;
}

template <class T>
void check_kernels(Isa isa, Index n, double keep) {
  const T guard = T(77);
  std::vector<T> x = sparse<T>(n, keep, static_cast<std::uint64_t>(n));
  std::vector<std::uint8_t> bits(static_cast<std::size_t>(n / 8 + 2), 0xAA);
  auto& kernels = row_kernels<T>(isa);
  Index count = kernels.mark_nonzeros(n, x.data(), bits.data());
  CHECK(bits[static_cast<std::size_t>((n + 7) / 8)] == 0xAA);
  std::vector<T> wanted;
  for (Index i = 0; i < n; ++i) {
    auto at = static_cast<std::size_t>(i);
    T zero = 0;
    bool set = !same_bits(&x[at], &zero, 1);
    CHECK((bits[at / 8] >> at % 8 & 1) == set);
    if (set) wanted.push_back(x[at]);
  }
  REQUIRE(count == static_cast<Index>(wanted.size()));
  std::vector<T> values(wanted.size() + 1, guard), back(x.size() + 1, guard);
  kernels.gather_nonzeros(n, x.data(), bits.data(), count, values.data());
  CHECK(same_bits(values.data(), wanted.data(), count));
  CHECK(values.back() == guard);
  kernels.spread_nonzeros(n, bits.data(), count, wanted.data(), back.data());
  CHECK(same_bits(back.data(), x.data(), n));
  CHECK(back.back() == guard);
}

template <class T>
void check_tensor(const Shape& shape, double keep) {
  INFO(to_string(shape));
  std::vector<T> values = sparse<T>(numel_of(shape), keep, 9);
  Tensor x = from_vector(values, shape);
  NonZeros packed(x);
  REQUIRE(packed.defined());
  Tensor back = packed.dense();
  REQUIRE(back.shape() == shape);
  REQUIRE(back.dtype() == x.dtype());
  CHECK(same_bits(back.template data<T>(), values.data(), x.numel()));
}

}  // namespace

TEST_CASE("nonzeros: the kernels mark, gather and spread", "[nonzeros]") {
  for (Isa isa : supported_isas())
    for (Index n : {0, 1, 7, 8, 9, 15, 16, 17, 31, 64, 100, 1000})
      for (double keep : {0.0, 0.4, 1.0}) {
        INFO(name_of(isa) << " " << n << " " << keep);
        check_kernels<float>(isa, n, keep);
        check_kernels<double>(isa, n, keep);
      }
}

TEST_CASE("nonzeros: a tensor comes back to the bit", "[nonzeros]") {
  for (const Shape& shape : {Shape{0}, Shape{4, 0}, Shape{}, Shape{5}, Shape{16384}, Shape{16385},
                             Shape{3, 16384}, Shape{7, 11, 1300}})
    for (double keep : {0.0, 0.4}) {
      check_tensor<float>(shape, keep);
      check_tensor<double>(shape, keep);
    }
  Tensor x = from_vector(sparse<float>(600, 0.4, 1), {20, 30});
  Tensor turned = NonZeros(transpose(x)).dense(), wanted = transpose(x).contiguous();
  REQUIRE(turned.shape() == Shape{30, 20});
  CHECK(same_bits(turned.data<float>(), wanted.data<float>(), 600));
}

TEST_CASE("nonzeros: half of the elements take half of the memory", "[nonzeros]") {
  Index n = 1 << 20;
  Tensor x = zeros({n});
  for (Index i = 0; i < n; i += 2) x.data<float>()[i] = 1;
  NonZeros packed(x);
  CHECK(packed.bytes() >= n * 4 / 2 + n / 8);
  CHECK(packed.bytes() <= n * 4 * 9 / 16 + n / 8);
}

TEST_CASE("nonzeros: dense tensors are not packed, and only floating ones may be", "[nonzeros]") {
  Tensor x = ones({1000});
  CHECK_FALSE(NonZeros(x).defined());
  CHECK(NonZeros(x).bytes() == 0);
  CHECK_THROWS_AS(NonZeros(x).dense(), StateError);
  for (Index i = 0; i < 251; ++i) x.data<float>()[i] = 0;
  CHECK(NonZeros(x).defined());
  CHECK_THROWS_AS(NonZeros(arange(0, 8)), DTypeError);
}

}  // namespace test_nonzeros

// Which engine computes large products, and by which algorithm.
#include "tensor/matmul/plan.hpp"

#include <array>
#include <string>

#include "tensor/error.hpp"
#include "tests/catch.hpp"

namespace test_plan {

using namespace glim;

TEST_CASE("GLIM_GEMM chooses the engine or is refused", "[products]") {
  CHECK(choose_gemm_engine(nullptr) == GemmEngine::Builtin);
  CHECK(choose_gemm_engine("builtin") == GemmEngine::Builtin);
  CHECK(choose_gemm_engine("openblas") == GemmEngine::OpenBlas);
  for (const char* wrong : {"", "OWN", "blas", "own,openblas"})
    CHECK_THROWS_WITH(choose_gemm_engine(wrong),
                      "GLIM_GEMM: '" + std::string(wrong) + "' is not one of builtin, openblas");
}

TEST_CASE("what is chosen last computes", "[products][openblas]") {
  const GemmEngine before = gemm_engine();
  for (GemmEngine p : {GemmEngine::OpenBlas, GemmEngine::Builtin}) {
    use_gemm_engine(p);
    CHECK(gemm_engine() == p);
    CHECK(algorithm_for<float>(false, false, 300, 300, 40) ==
          (p == GemmEngine::Builtin ? Algorithm::Packed : Algorithm::Blas));
  }
  use_gemm_engine(before);
}

TEST_CASE("medium precision rounds large float32 products alone", "[products][openblas]") {
  CHECK(matmul_precision_of("medium") == MatmulPrecision::Medium);
  CHECK(matmul_precision_of(name_of(float32_matmul_precision())) == MatmulPrecision::Highest);
  CHECK_THROWS_WITH(matmul_precision_of("high"),
                    "float32_matmul_precision: 'high' is not one of highest, medium");
  const GemmEngine before = gemm_engine();
  use_gemm_engine(GemmEngine::Builtin);
  set_float32_matmul_precision(MatmulPrecision::Medium);
  CHECK(algorithm_for<float>(false, true, 32, 32, 32) == Algorithm::Bfloat16);
  CHECK(algorithm_for<double>(false, false, 32, 32, 32) == Algorithm::Packed);
  for (auto [m, n, k] : {std::array{31, 32, 32}, std::array{32, 31, 32}, std::array{32, 32, 31}})
    CHECK(algorithm_for<float>(false, false, m, n, k) == Algorithm::Packed);
  const char* refusal = "float32_matmul_precision: medium needs the builtin GEMM, not openblas";
  CHECK_THROWS_WITH(use_gemm_engine(GemmEngine::OpenBlas), refusal);
  CHECK(gemm_engine() == GemmEngine::Builtin);
  set_float32_matmul_precision(MatmulPrecision::Highest);
  use_gemm_engine(GemmEngine::OpenBlas);
  CHECK_THROWS_WITH(set_float32_matmul_precision(MatmulPrecision::Medium), refusal);
  use_gemm_engine(before);
}

TEST_CASE("extents alone choose between dot products and sums in blocks", "[products]") {
  auto own = [](bool ta, bool tb, Index m, Index n, Index k) {
    return algorithm_for<float>(ta, tb, m, n, k, GemmEngine::Builtin);
  };
  for (Index m : {2, 8}) CHECK(own(false, true, m, 300, 40) == Algorithm::Dots);
  CHECK(own(false, true, 9, 300, 40) != Algorithm::Dots);
  CHECK(own(false, true, 8, 300, 16) != Algorithm::Dots);
  CHECK(own(false, false, 8, 300, 40) == Algorithm::Packed);
  CHECK(own(true, true, 8, 300, 40) == Algorithm::Packed);
  CHECK(own(false, false, 1, 300, 40) == Algorithm::Vector);
  CHECK(own(true, false, 300, 1, 40) == Algorithm::Vector);
  CHECK(own(false, true, 300, 300, 0) == Algorithm::EmptySum);
  // Blocks of the inner dimension depend on it alone.
  CHECK(block_depth(256, 4) == 256);
  CHECK(block_depth(257, 4) == 144);
  CHECK(block_depth(7, 8) == 16);
}

}  // namespace test_plan

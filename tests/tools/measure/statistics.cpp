// A tensor in a few numbers, against the loop that their definition is.
#include "tools/measure/statistics.hpp"

#include <cmath>
#include <limits>

#include "tensor/random.hpp"
#include "tests/catch.hpp"

namespace test_statistics {

using namespace glim;

TEST_CASE("statistics of any number of elements", "[statistics]") {
  for (Index n : {0, 1, 7, 8, 9, 30, 1000}) {
    const Tensor x = normal({n}, 3, 1, {1, 2}, DType::Float64);
    double* v = x.data<double>();
    if (n > 7) v[5] = 0;
    if (n > 9)
      v[0] = std::numeric_limits<double>::quiet_NaN(),
      v[29] = std::numeric_limits<double>::infinity();
    Index finite = 0, zeros = 0;
    double squares = 0, sum = 0, low = 0, high = 0;
    for (Index i = 0; i < n; ++i) {
      if (!std::isfinite(v[i])) continue;
      low = finite ? std::min(low, v[i]) : v[i];
      high = finite ? std::max(high, v[i]) : v[i];
      squares += v[i] * v[i], sum += v[i], zeros += v[i] == 0, ++finite;
    }
    const Statistics s = statistics(x);
    INFO(n << " elements");
    CHECK(s.count == n);
    CHECK(s.not_finite == n - finite);
    CHECK(s.low == low);
    CHECK(s.high == high);
    CHECK(std::abs(s.norm - std::sqrt(squares)) <= 1e-13 * s.norm);
    if (finite) CHECK(std::abs(s.mean - sum / static_cast<double>(finite)) <= 1e-12);
    if (finite) CHECK(s.zeros == static_cast<double>(zeros) / static_cast<double>(finite));
  }
}

}  // namespace test_statistics

#include <array>
#include <vector>

#include "tensor/matmul/plan.hpp"
#include "tests/catch.hpp"

namespace test_tiles {

using namespace glim;

TEST_CASE("tiles for the threads there are", "[matmul]") {
  for (int threads : {1, 2, 3, 4, 7, 64})
    for (Index batches : {1, 2, 5})
      for (auto [m, n, k] : std::vector<std::array<Index, 3>>{{1024, 2048, 512},
                                                              {13, 4000, 3000},
                                                              {4000, 13, 3000},
                                                              {2, 2, 1 << 25},
                                                              {100, 100, 9}}) {
        Tiles t = tiles_for(Algorithm::Packed, m, n, k, batches, threads);
        INFO(threads << " threads, " << batches << " times " << m << " x " << n << " x " << k
                     << ": tiles of " << t.rows << " x " << t.columns);
        REQUIRE((t.rows > 0 && t.columns > 0));
        CHECK((t.rows == m || t.rows % 12 == 0));
        CHECK((t.columns == n || t.columns % 32 == 0));  // what dropout draws, whole
        Index tiles = ((m + t.rows - 1) / t.rows) * ((n + t.columns - 1) / t.columns);
        CHECK(tiles * batches <= threads + batches);
        if (threads == 1 || m * n * k * batches <= 1 << 22) CHECK(tiles == 1);
        // At most twice the time of an even share.
        Index rounds = (tiles * batches + threads - 1) / threads;
        if (m == 1024) CHECK(rounds * t.rows * t.columns * threads <= 2 * m * n * batches);
      }
}

}  // namespace test_tiles

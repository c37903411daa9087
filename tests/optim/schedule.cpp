// Learning-rate schedules against the reference, and at their corners.
#include "optim/schedule.hpp"

#include <cmath>

#include "tests/catch.hpp"
#include "tests/reference.hpp"

namespace test_schedule {

using namespace glim;

namespace {

Schedule schedule_for(const nlohmann::json& c) {
  if (c["schedule"] == "noam") return noam_schedule(c["d"], c["warmup"], c["factor"]);
  if (c["schedule"] == "inverse_sqrt")
    return inverse_sqrt_schedule(c["peak"], c["warmup"], c["start"]);
  return cosine_schedule(c["peak"], c["warmup"], c["total"], c["floor"]);
}

}  // namespace

TEST_CASE("schedules equal the reference", "[schedule][reference]") {
  Reference ref("optim");
  for (std::string name : {"noam", "noam_small", "noam_warmup1", "inverse_sqrt",
                           "inverse_sqrt_start", "cosine", "cosine_floor", "cosine_no_warmup"}) {
    INFO(name);
    Schedule schedule = schedule_for(ref.config(name));
    Tensor steps = ref.get(name + ".steps"), rates = ref.get(name + ".rates");
    for (Index i = 0; i < steps.numel(); ++i) {
      auto step = static_cast<Index>(steps.at<std::int64_t>({i}));
      INFO("step " << step);
      CHECK(schedule.rate(step) == Approx(rates.at<double>({i})).epsilon(1e-13));
    }
    double peak = ref.get(name + ".peak").item();
    CHECK(schedule.peak() == Approx(peak).epsilon(1e-13));
    for (Index step = 1; step < 9000; ++step) CHECK_FALSE(schedule.rate(step) > schedule.peak());
  }
}

TEST_CASE("steps count from 1, and 0 is read as 1", "[schedule]") {
  Schedule constant = constant_schedule(0.25);
  for (const Schedule& s : {noam_schedule(512, 4000), inverse_sqrt_schedule(1e-3, 100),
                            cosine_schedule(1e-3, 100, 1000), constant}) {
    CHECK(s.rate(0) == s.rate(1));
    CHECK(std::isfinite(s.rate(0)));
    CHECK(s.rate(1) > 0);
    CHECK_THROWS_AS(s.rate(-1), ValueError);
  }
  CHECK(constant.rate(1) == 0.25);
  CHECK(constant.rate(1000000) == 0.25);
  CHECK(constant.peak() == 0.25);
}

TEST_CASE("without warm-up every schedule starts at its peak", "[schedule]") {
  Schedule noam = noam_schedule(64, 0);
  CHECK(noam.rate(1) == Approx(0.125));
  CHECK(noam.peak() == Approx(0.125));
  CHECK(noam.rate(4) == Approx(0.0625));
  Schedule inverse = inverse_sqrt_schedule(1e-3, 0);
  CHECK(inverse.rate(1) == Approx(1e-3));
  CHECK(inverse.rate(4) == Approx(5e-4));
  Schedule cosine = cosine_schedule(1e-3, 0, 10);
  CHECK(cosine.peak() == cosine.rate(1));
  CHECK(cosine.rate(10) == Approx(0).margin(1e-18));
  CHECK(cosine.rate(11) == 0);
}

TEST_CASE("schedules describe themselves with their peak", "[schedule]") {
  CHECK(noam_schedule(512, 4000).describe() ==
        "noam: factor 1, d_model 512, warmup 4000; peak rate 0.0006988 at step 4000");
  CHECK(inverse_sqrt_schedule(5e-4, 4000).describe() ==
        "inverse_sqrt: warmup 4000, start 0; peak rate 0.0005 at step 4000");
  CHECK(cosine_schedule(1e-3, 100, 5000, 1e-5).describe() ==
        "cosine: warmup 100, total 5000, floor 1e-05; peak rate 0.001 at step 100");
  CHECK(constant_schedule(0.1).describe() == "constant; peak rate 0.1 at step 1");
}

TEST_CASE("what schedules refuse", "[schedule]") {
  CHECK_THROWS_AS(noam_schedule(0, 4000), ValueError);
  CHECK_THROWS_AS(noam_schedule(512, -1), ValueError);
  CHECK_THROWS_AS(noam_schedule(512, 4000, std::nan("")), ValueError);
  CHECK_THROWS_AS(inverse_sqrt_schedule(-1e-3, 10), ValueError);
  CHECK_THROWS_AS(inverse_sqrt_schedule(1e-3, 10, 1), ValueError);
  CHECK_THROWS_AS(cosine_schedule(1e-3, 10, 10), ValueError);
  CHECK_THROWS_AS(cosine_schedule(1e-3, 0, 10, 1), ValueError);
  CHECK_THROWS_AS(constant_schedule(-1), ValueError);
}

}  // namespace test_schedule

// An allocation that fails in the middle: a run has all of its options, or none.
#include "tests/no_memory.hpp"

#include "autograd/observe/watch.hpp"
#include "autograd/tape.hpp"
#include "tests/catch.hpp"
#include "tools/kinds/presets.hpp"

using namespace glim;

TEST_CASE("whichever allocation fails, a preset is taken whole or not at all", "[options]") {
  auto options_with = [](long n) {
    TrainOptions o;
    o.task = "copy";
    until_failure = n;
    apply_preset(o, [](const std::string&) { return false; });
    until_failure = -1;
    return o.to_json();
  };
  const std::string right = options_with(-1);
  REQUIRE(right != TrainOptions().to_json());
  bool failed = true;
  for (long n = 0; failed; ++n) {
    std::string options = right;
    failed = false;
    try {
      options = options_with(n);
    } catch (const std::bad_alloc&) {
      until_failure = -1;
      failed = true;
    }
    INFO("allocation " << n);
    CHECK(options == right);
  }
}

TEST_CASE("whichever allocation fails, a tape ends with the observers that it has", "[tape]") {
  bool failed = true;
  for (long n = 0; failed; ++n) {
    failed = false;
    try {
      Tape tape;
      until_failure = n;
      Watch watch(tape, "*");
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    until_failure = -1;
  }
  SUCCEED();
}

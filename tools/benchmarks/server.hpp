// A measurement on request. `tools/bench` runs it in turn with a peer's, A B A B, each kept warm in its own
// process:
//
//   prints   ready BYTES        resident memory before the work was built
//   reads    N                  prints  SECONDS…   one for each of N repetitions
//   reads    memory             prints  BYTES      highest resident memory since `ready`
//   reads    end of file        ends
#pragma once

#include <functional>
#include <memory>

namespace glim::bench {

// `build` is called after `ready` and returns the function to time.
void serve(const std::function<std::function<void()>()>& build);

}  // namespace glim::bench

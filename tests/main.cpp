// Catch2 2.x needs a translation unit with its main; 3.x brings one in its library. Every case begins with the same
// random numbers, whichever cases came before it.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Listener = Catch::EventListenerBase;
#else
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
using Listener = Catch::TestEventListenerBase;
#endif
#include "tensor/random.hpp"

struct Seeded final : Listener {
  using Listener::Listener;
  void testCaseStarting(const Catch::TestCaseInfo&) override { glim::seed(0); }
};
CATCH_REGISTER_LISTENER(Seeded)

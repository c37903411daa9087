// What nearly every test of the tools includes, compiled once.
#include "tests/catch.hpp"
#include "tools/precompiled.hpp"

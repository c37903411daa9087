// The tests of the example, which kill all of its mutants but one.
#include "tests/fuzz/mutants/example.hpp"

#include <cstdio>

namespace {

int failures = 0;
void check(bool right, const char* what) {
  if (right) return;
  std::printf("%s is wrong\n", what);
  ++failures;
}

}  // namespace

int main() {
  const double x[] = {3, 4, 8, 100};
  const bool keep[] = {true, false, true, false};
  const example::Norm norm;
  check(norm.mean(x, keep, 3) == 5.5, "mean");
  check(norm.mean(x, keep, 0) == 0, "mean of none");
  check(norm.mean(x + 1, keep + 1, 1) == 0, "mean of none kept");
  check(norm.mean(x + 1, keep + 1, 2) == 8, "mean of one");
  check(norm.dx(3, 0.5) == 2.25, "dx");
  check(example::sign(-2) == -1 && example::sign(2) == 1, "sign");
  example::Counter low, high;
  for (double v = 1; v < 4; ++v) example::count(v, low, high);
  check(low.n == 2 && high.n == 1, "count");
  return failures > 0;
}

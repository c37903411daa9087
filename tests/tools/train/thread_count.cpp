// A run finds the faster number of threads, on machines that are described by the speed of each number.
#include "tools/train/thread_count.hpp"

#include <functional>
#include <map>

#include "tests/catch.hpp"

namespace test_thread_count {

using namespace glim;

namespace {

struct Machine {
  std::map<int, double> speed;  // tokens a second, by the number of threads
  double share = 0.95;          // of the time, in which threads have processors
};

// Seconds with each number of threads, of `seconds` on the machine; updates have 10 tokens.
std::map<int, double> spent(ThreadCount& count, int& now, const Machine& m, double seconds) {
  std::map<int, double> by_number;
  for (double at = 0; at < seconds;) {
    const double step = 10 / m.speed.at(now);
    by_number[now] += step;
    at += step;
    now = count.after(step, 10, m.share * now * step);
  }
  return by_number;
}

const Machine kQuiet{{{1, 1000}, {2, 1900}, {4, 3500}}};
const Machine kBusy{{{1, 600}, {2, 300}, {4, 100}}, 0.7};
const Machine kBusyYetFaster{{{1, 600}, {2, 1000}, {4, 1500}}, 0.7};

}  // namespace

TEST_CASE("a quiet machine is left alone", "[threads]") {
  ThreadCount count(4);
  int now = 4;
  const auto by_number = spent(count, now, kQuiet, 60);
  CHECK(by_number.size() == 1);
  CHECK(now == 4);
}

TEST_CASE("a busy machine gets the number that is fastest on it", "[threads]") {
  ThreadCount count(4);
  int now = 4;
  spent(count, now, kBusy, 10);
  auto by_number = spent(count, now, kBusy, 100);
  CHECK(by_number[1] > 90);
  CHECK(by_number[4] == 0);

  ThreadCount other(4);
  now = 4;
  spent(other, now, kBusyYetFaster, 10);
  by_number = spent(other, now, kBusyYetFaster, 100);
  CHECK(by_number[4] > 90);
}

TEST_CASE("threads come back when the machine is quiet again", "[threads]") {
  ThreadCount count(4);
  int now = 4;
  spent(count, now, kBusy, 100);
  CHECK(now <= 2);
  spent(count, now, kQuiet, 40);
  CHECK(now == 4);
  const auto by_number = spent(count, now, kQuiet, 40);
  CHECK(by_number.size() == 1);
}

TEST_CASE("updates without tokens change nothing", "[threads]") {
  ThreadCount count(2);
  int now = 2;
  for (int i = 0; i < 1000; ++i) now = count.after(0.01, 0, 0);
  CHECK((now == 1 || now == 2));
  CHECK(ThreadCount(1).after(10, 0, 0) == 1);
}

}  // namespace test_thread_count

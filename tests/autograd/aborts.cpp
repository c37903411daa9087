// A tape that ends on another thread, or within its own backward, ends the program: a destructor cannot throw.
#include <algorithm>
#include <csignal>
#include <memory>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "tests/autograd/common.hpp"

namespace test_aborts {

using namespace glim;

// The standard error of a child process that runs `act`, if abort() ends it.
template <class Act>
std::string aborted_with(Act act) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);
    ::dup2(ends[1], STDERR_FILENO);
    act();
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text(1000, '\0');
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(::read(ends[0], text.data(), 1000), 0)));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? text : "not aborted: " + text;
}

TEST_CASE("a tape that ends where it must not ends the program", "[tape]") {
  CHECK_THAT(aborted_with([] {
               auto tape = std::make_unique<Tape>();
               std::thread([&] { tape.reset(); }).join();
             }),
             Catch::Matchers::StartsWith("glim: a Tape ends on another thread"));
  CHECK_THAT(aborted_with([] {
               Var x = leaf_of({1});
               auto tape = std::make_unique<Tape>();
               Hook ends(*tape, x, [&](const Var& g) {
                 tape.reset();
                 return g;
               });
               tape->backward(sum(x * x));
             }),
             Catch::Matchers::StartsWith("glim: a Tape ends within its own backward"));
}

}  // namespace test_aborts

// An allocation that fails in the middle: the tape, its scopes and its leaves are as before, and go on. A file is
// whole.
#include "tests/no_memory.hpp"

#include <filesystem>
#include <fstream>
#include <thread>
#include <unistd.h>

#include "tensor/io/atomic_file.hpp"
#include "tests/autograd/common.hpp"

namespace test_no_memory {

using namespace glim;

namespace {

struct Found {
  bool failed = false;
  bool open = false;  // the tape, and no scope
  std::vector<double> dx, dw, after;
  std::string path;
};

Var recorded(const Var& x, const Var& w) {
  Scope scope("a layer whose name is longer than a string keeps within itself");
  Scope replaced(
      std::vector<std::string>{"another", "path that is longer than a string keeps within itself"});
  Var h = named(exp(mul(x, w)), "h");
  return sum(mul(h, h));
}

Found fail_at(long n, TapeOptions options) {
  Found found;
  Var x = leaf64({3}, 1), w = leaf64({3}, 2);
  Tape tape(options);
  Var before = exp(x);
  until_failure = n;
  try {
    {
      Tape inner(options);
      inner.watch("*");
      inner.backward(recorded(x, w));
    }
    tape.backward(recorded(x, w));
  } catch (const std::bad_alloc&) {
    found.failed = true;
  }
  until_failure = -1;
  found.open = Tape::current() == &tape && Scope::path().empty();
  x.zero_grad();
  w.zero_grad();
  Var y = recorded(x, w);
  found.path = tape.path(tape.node_of(y));
  tape.backward(y);
  found.dx = list(x.grad());
  found.dw = list(w.grad());
  x.zero_grad();
  tape.backward(sum(before));
  found.after = list(x.grad());
  return found;
}

}  // namespace

TEST_CASE("whichever allocation fails, the tape goes on as before", "[tape]") {
  for (const TapeOptions options :
       {TapeOptions{}, TapeOptions{.profile = true, .check_finite = true, .replay = true}}) {
    // A thread of its own has no lists of earlier tapes.
    auto run = [&](long n) {
      Found found;
      std::thread([&] { found = fail_at(n, options); }).join();
      return found;
    };
    const Found right = run(-1);
    REQUIRE_FALSE(right.failed);
    long n = 0;
    for (bool failed = true; failed; ++n) {
      const Found found = run(n);
      INFO("allocation " << n);
      CHECK(found.open);
      CHECK(found.path == right.path);
      CHECK(found.dx == right.dx);
      CHECK(found.dw == right.dw);
      CHECK(found.after == right.after);
      failed = found.failed;
    }
    CHECK(n > 50);
  }
}

TEST_CASE("whichever allocation fails, a file is the old one or the new one", "[atomic_file]") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("glim-no-memory-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  const std::string path = folder / "file";
  auto content = [&] {
    std::ifstream in(path);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  write_file_atomically(path, "old");
  bool failed = true;
  for (long n = 0; failed; ++n) {
    failed = false;
    until_failure = n;
    try {
      write_file_atomically(path, "new");
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    until_failure = -1;
    const bool whole = content() == "new" || (failed && content() == "old");
    CHECK(whole);
  }
  std::filesystem::remove_all(folder);
}

TEST_CASE("whichever allocation fails, a listing is whole or none", "[atomic_file]") {
  const auto right = entries_of(".");
  REQUIRE_FALSE(right.empty());
  bool failed = true;
  for (long n = 0; failed; ++n) {
    auto found = right;
    failed = false;
    until_failure = n;
    try {
      found = entries_of(".");
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    until_failure = -1;
    CHECK(found == right);
  }
}

}  // namespace test_no_memory

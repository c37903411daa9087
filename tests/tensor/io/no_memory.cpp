// An allocation that fails in the middle: a file is whole, and so is a listing.
#include "tests/no_memory.hpp"

#include <filesystem>
#include <fstream>
#include <unistd.h>

#include "tensor/io/atomic_file.hpp"
#include "tests/catch.hpp"

namespace test_no_memory {

using namespace glim;

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

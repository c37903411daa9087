#include "tensor/io/atomic_file.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/catch.hpp"
#include "tests/tensor/common.hpp"
#include "tests/tensor/full_disk.hpp"

namespace test_atomic_file {

using namespace glim;
namespace fs = std::filesystem;
using Names = std::vector<std::string>;

TEST_CASE("a written file has the bytes, and nothing is beside it", "[atomic_file]") {
  Scratch scratch;
  std::string path = scratch / "f";
  write_file_atomically(path, "first");
  CHECK(contents(path) == "first");
  std::string expected;
  write_file_atomically(path, [&](FileSink& sink) {
    for (std::size_t n : {0, 1, 1000, 1 << 20, 5, (1 << 20) - 1, 3 << 20, 7}) {
      std::string part(n, static_cast<char>('a' + n % 7));
      sink.write(part);
      expected += part;
    }
  });
  CHECK(contents(path) == expected);
  std::vector<std::byte> bytes(3, std::byte{'x'});
  write_file_atomically(path, bytes);
  CHECK(contents(path) == "xxx");
  CHECK(scratch.names() == Names{"f"});
}

TEST_CASE("permissions stay, links are followed", "[atomic_file]") {
  Scratch scratch;
  write_file_atomically(scratch / "real", "old");
  fs::permissions(scratch / "real", fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("real", scratch / "link");
  write_file_atomically(scratch / "link", "new");
  CHECK(contents(scratch / "real") == "new");
  CHECK(fs::is_symlink(scratch / "link"));
  CHECK(fs::status(scratch / "real").permissions() ==
        (fs::perms::owner_read | fs::perms::owner_write));
}

TEST_CASE("a failing callback leaves the old file and nothing else", "[atomic_file]") {
  Scratch scratch;
  std::string path = scratch / "f";
  write_file_atomically(path, "old");
  CHECK_THROWS_AS(write_file_atomically(path,
                                        [](FileSink& sink) {
                                          sink.write(std::string(3 << 20, 'x'));
                                          throw ValueError("callback", "stops");
                                        }),
                  ValueError);
  CHECK(contents(path) == "old");
  CHECK(scratch.names() == Names{"f"});
}

TEST_CASE("a full disk gives a FileError, the old file survives", "[atomic_file]") {
  Scratch scratch;
  std::string path = scratch / "f";
  write_file_atomically(path, "old");
  std::string error = error_of<FileError>([&] {
    FullDisk disk(100'000);
    write_file_atomically(path, std::string(200'000, 'x'));
  });
  CHECK(error == path + ": cannot write: File too large");
  CHECK(contents(path) == "old");
  CHECK(scratch.names() == Names{"f"});
}

TEST_CASE("a device is written in place and reports its error", "[atomic_file]") {
  std::string error = error_of<FileError>([] { write_file_atomically("/dev/full", "some bytes"); });
  CHECK(error == "/dev/full: cannot write: No space left on device");
  CHECK(fs::is_character_file("/dev/full"));
  CHECK_NOTHROW(write_file_atomically("/dev/null", "some bytes"));
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("impossible targets give a FileError that names them", "[atomic_file]") {
  Scratch scratch;
  auto write_to = [](const std::string& path) {
    return error_of<FileError>([&] { write_file_atomically(path, "x"); });
  };
  CHECK(write_to(scratch / "no/such/folder") ==
        (scratch / "no/such/folder") + ": cannot write: No such file or directory");
  CHECK(write_to(scratch / ".") == (scratch / ".") + ": cannot write: Is a directory");
  CHECK(write_to("") == "cannot write: No such file or directory");
}

TEST_CASE("what a killed writer left is swept, what a living one writes is not", "[atomic_file]") {
  Scratch scratch;
  std::string path = scratch / "f";
  put(scratch / "f.tmp.1234.0", "left behind");
  put(scratch / "f.tmp.notes", "somebody's file");
  put(scratch / "g.tmp.1234.0", "of another target");
  write_file_atomically(path, [&](FileSink& outer) {
    outer.write("outer");
    write_file_atomically(path, "inner");  // sweeps while the outer one is being written
    CHECK(contents(path) == "inner");
  });
  CHECK(contents(path) == "outer");
  CHECK(scratch.names() == Names{"f", "f.tmp.notes", "g.tmp.1234.0"});
}

TEST_CASE("what killed writers left in a folder is removed, whichever file it was for",
          "[atomic_file]") {
  Scratch scratch;
  for (const char* name : {"f.tmp.1234.0", "g.tmp.56.7", "f.tmp.1234", "f.tmp.notes", "h"})
    put(scratch / name, "");
  fs::create_directory(scratch / ".trial.tmp.1234.0");
  write_file_atomically(scratch / "open", [&](FileSink&) {
    remove_temporary_files(scratch / ".");
    CHECK(scratch.names().size() == 4);  // with the one that is being written
  });
  CHECK(scratch.names() == Names{"f.tmp.1234", "f.tmp.notes", "h", "open"});
  CHECK_NOTHROW(remove_temporary_files(scratch / "nowhere"));
}

TEST_CASE("a writer killed at any moment leaves a whole file", "[atomic_file]") {
  Scratch scratch;
  std::string path = scratch / "f";
  write_file_atomically(path, std::string(1 << 20, 'a'));
  for (int round = 0; round < 20; ++round) {
    pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      for (char c = 'b';; c = c == 'z' ? 'a' : static_cast<char>(c + 1))
        write_file_atomically(path, std::string(1 << 20, c));
    }
    ::usleep(static_cast<useconds_t>(500 + 937 * round));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    std::string now = contents(path);
    CHECK(now.size() == 1 << 20);
    CHECK(now.find_first_not_of(now[0]) == std::string::npos);
  }
  write_file_atomically(path, "last");
  CHECK(scratch.names() == Names{"f"});
}

}  // namespace test_atomic_file

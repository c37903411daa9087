// Memory and disk that a safetensors file may take.
#include <functional>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tensor/io/safetensors.hpp"
#include "tests/catch.hpp"
#include "tests/tensor/common.hpp"
#include "tests/tensor/full_disk.hpp"

namespace test_safetensors_limits {

using namespace glim;

// Sanitizers have memory of their own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("a header takes a few times its size of memory, whatever it says", "[safetensors]") {
  constexpr std::uint64_t kSize = 2'000'000;
  Scratch scratch;
  std::string path = scratch / "f";
  // A file whose header is begin, item(0), item(1), ..., end, of 2 MB; data of 4 bytes an item.
  auto write = [&](const std::string& begin, const std::string& end,
                   const std::function<std::string(std::uint64_t)>& item) {
    std::ofstream file(path, std::ios::binary);
    std::uint64_t length = begin.size(), items = 0;
    file.seekp(8);
    file << begin;
    for (; length < kSize; ++items) {
      std::string text = (items ? "," : "") + item(items);
      length += text.size();
      file << text;
    }
    file << end;
    length += end.size();
    file.seekp(0);
    file.write(reinterpret_cast<const char*>(&length), 8);
    file.close();
    std::filesystem::resize_file(path, 8 + length + 4 * items);
  };
  // The memory that a process of its own takes to read it, in tenths of the header.
  auto tenths = [&](bool refused) {
    pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      auto peak = [] {
        struct rusage usage {};
        ::getrusage(RUSAGE_SELF, &usage);
        return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
      };
      std::uint64_t before = peak();
      bool failed = false;
      try {
        InputFile file(path);
        read_safetensors_header(file);
      } catch (const FileError&) {
        failed = true;
      }
      std::uint64_t taken = 10 * (peak() - before) / kSize;
      ::_exit(failed == refused ? static_cast<int>(std::min<std::uint64_t>(taken, 254)) : 255);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    REQUIRE(WIFEXITED(status));
    return WEXITSTATUS(status);
  };
  auto name = [](std::uint64_t i) { return "\"" + std::to_string(1'000'000 + i) + "\":"; };

  write("{", "}", [](std::uint64_t i) {
    return "\"model.layers." + std::to_string(i) +
           ".self_attn.out_proj.bias\":{\"dtype\":\"F32\"," + "\"shape\":[1],\"data_offsets\":[" +
           std::to_string(4 * i) + "," + std::to_string(4 * i + 4) + "]}";
  });
  CHECK(tenths(false) <= 60);
  for (std::string value : {"1", "[]", "{}"}) {
    INFO(value);
    std::string hundred = value;
    for (int k = 1; k < 100; ++k) hundred += "," + value;
    write("{\"w\":[", "]}", [&](std::uint64_t) { return hundred; });
    CHECK(tenths(true) <= 60);
    write("{\"w\":{\"dtype\":\"F32\",\"data_offsets\":[0,4],\"shape\":[", "]}}",
          [&](std::uint64_t) { return hundred; });
    CHECK(tenths(true) <= 60);
    write("{\"w\":{", "}}", [&](std::uint64_t i) { return name(i) + value; });
    CHECK(tenths(true) <= 60);
  }
  write("{", "}", [&](std::uint64_t i) { return name(i) + "1"; });
  CHECK(tenths(true) <= 120);
  write("{\"__metadata__\":{", "}}", [&](std::uint64_t i) { return name(i) + "\"\""; });
  CHECK(tenths(true) <= 120);
}
#endif

TEST_CASE("a full disk keeps the old model", "[safetensors]") {
  Scratch scratch;
  std::string path = scratch / "f";
  write_safetensors(path, {{"x", tensor({1, 2})}});
  std::string error = error_of<FileError>([&] {
    FullDisk disk(1'000'000);
    write_safetensors(path, {{"x", ones({1 << 19})}});
  });
  CHECK(error == path + ": cannot write: File too large");
  CHECK(same_bits(read_safetensors(path).tensors["x"], tensor({1, 2})));
  CHECK(scratch.names() == std::vector<std::string>{"f"});
}

}  // namespace test_safetensors_limits

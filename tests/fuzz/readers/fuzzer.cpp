// For clang's libFuzzer: readers NAME [libFuzzer's options and folders]. The script `fuzz` builds it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/readers/readers.hpp"

namespace {
const glim::fuzz::Reader* reader = nullptr;
}

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  reader = *argc > 1 ? glim::fuzz::reader_named((*argv)[1]) : nullptr;
  if (!reader) {
    std::fputs("usage: readers NAME [options of libFuzzer] [folders]; names:", stderr);
    for (const auto& r : glim::fuzz::readers()) std::fprintf(stderr, " %s", r.name.c_str());
    std::fputc('\n', stderr);
    std::exit(2);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  glim::fuzz::check(*reader, {reinterpret_cast<const char*>(bytes), size});
  return 0;
}

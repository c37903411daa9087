// For clang's libFuzzer. The program takes libFuzzer's options, and fuzzes the reader whose name it bears: the script
// `fuzz` builds it, and a link to it for each reader.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/readers/readers.hpp"

namespace {
const glim::fuzz::Reader* reader = nullptr;
}

// libFuzzer starts itself again, with the same name and other arguments.
extern "C" int LLVMFuzzerInitialize(int*, char*** argv) {
  std::string_view name = (*argv)[0];
  name.remove_prefix(name.rfind('/') + 1);
  reader = glim::fuzz::reader_named(name);
  if (!reader) {
    std::fputs("this program must bear the name of a reader:", stderr);
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

#include "tools/cli/output.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "tensor/error.hpp"

namespace glim {
namespace {

void require(bool written) {
  if (written) return;
  if (errno == EPIPE) throw Exit(0);
  throw FileError("standard output", std::string("cannot be written: ") + std::strerror(errno));
}

}  // namespace

void print(const std::string& text) {
  require(std::fwrite(text.data(), 1, text.size(), stdout) == text.size());
}

void print_flush() { require(std::fflush(stdout) == 0); }

void print_line(const std::string& text) {
  print(text + "\n");
  print_flush();
}

}  // namespace glim

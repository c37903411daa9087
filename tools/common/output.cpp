#include "tools/common/output.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tensor/error.hpp"
#include "tensor/system/process.hpp"
#include "tools/common/escape.hpp"

namespace glim {
namespace {

constexpr std::size_t kLongestMessage = 1000;
bool is_quiet = false, reader_needed = true;

void require(bool written) {
  if (written) return;
  const int reason = errno;
  if (reader_gone(reason) && reader_needed) throw Exit(0);
  if (reader_gone(reason) && drop_output()) return;
  throw FileError("standard output", std::string("cannot be written: ") + std::strerror(reason));
}

}  // namespace

std::string for_terminal(std::string_view text) { return visible(text, "\n\t"); }

std::string printable(std::string_view text) {
  std::string line = for_terminal(text);
  for (char& c : line)
    if (c == '\n' || c == '\t') c = ' ';
  if (line.size() <= kLongestMessage) return line;
  // The problem is at the end or at the beginning, what was typed between them.
  auto start_of_character = [&](std::size_t position) {
    while ((static_cast<unsigned char>(line[position]) & 0xC0) == 0x80) --position;
    return position;
  };
  std::size_t head = start_of_character(kLongestMessage / 2);
  std::size_t tail = start_of_character(line.size() - kLongestMessage / 2);
  return line.substr(0, head) + fmt::format(" … ({} bytes) … ", tail - head) + line.substr(tail);
}

void print(const std::string& text) {
  auto write = [](std::string_view s) {
    require(std::fwrite(s.data(), 1, s.size(), stdout) == s.size());
  };
  is_terminal(1) ? write(for_terminal(text)) : write(text);
}

void print_flush() { require(std::fflush(stdout) == 0); }

void print_json(const nlohmann::ordered_json& json) { print_line(in_json(json)); }

void go_on_without_reader() { reader_needed = false; }

void report_error(const std::string& text) {
  std::fflush(stdout);
  std::fprintf(stderr, "glim: error: %s\n", printable(text).c_str());
}

void set_quiet(bool on) { is_quiet = on; }
bool quiet() { return is_quiet; }

void say(const std::string& text) {
  if (!is_quiet) print_line(for_terminal(text));
}

void note(const std::string& text) {
  if (is_quiet) return;
  std::fflush(stdout);
  std::fprintf(stderr, "glim: note: %s\n", printable(text).c_str());
}

void print_line(const std::string& text) {
  print(text + "\n");
  print_flush();
}

}  // namespace glim

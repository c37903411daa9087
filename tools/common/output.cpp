#include "tools/common/output.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "models/tokenizers/utf8.hpp"
#include "tensor/error.hpp"
#include "tools/common/terminal.hpp"

namespace glim {
namespace {

constexpr std::size_t kLongestMessage = 1000;
bool is_quiet = false, reader_needed = true;

void require(bool written) {
  if (written) return;
  const int reason = errno;
  if (reason == EPIPE && reader_needed) throw Exit(0);
  if (reason == EPIPE && std::freopen("/dev/null", "w", stdout)) return;
  throw FileError("standard output", std::string("cannot be written: ") + std::strerror(reason));
}

// Neither a control character nor one that turns the direction of writing.
bool harmless(std::uint32_t c) {
  return c >= 0x20 && !(c >= 0x7F && c <= 0x9F) && c != 0x61C && c != 0x200E && c != 0x200F &&
         !(c >= 0x202A && c <= 0x202E) && !(c >= 0x2066 && c <= 0x2069);
}

std::string escaped(std::string_view text, bool one_line) {
  std::string line;
  for (const CodePoint& c : code_points(text)) {
    const std::string_view bytes = text.substr(c.offset, c.length);
    if (harmless(c.value) && !first_invalid_utf8(bytes))
      line += bytes;
    else if (c.value == '\n' || c.value == '\t')
      line += one_line ? ' ' : bytes[0];
    else
      for (char byte : bytes) line += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  }
  return line;
}

}  // namespace

std::string for_terminal(std::string_view text) { return escaped(text, false); }

std::string printable(std::string_view text) {
  std::string line = escaped(text, true);
  if (line.size() <= kLongestMessage) return line;
  // The problem is at the end or at the beginning, what was typed between them.
  auto start_of_character = [&](std::size_t at) {
    while ((static_cast<unsigned char>(line[at]) & 0xC0) == 0x80) --at;
    return at;
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

void print_json(const nlohmann::ordered_json& json) {
  print_line(json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./+,:@";
  if (!text.empty() && text.find_first_not_of(kPlain) == text.npos) return text;
  std::string quoted = "'";
  for (char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

void go_on_without_reader() { reader_needed = false; }

void report_error(const std::string& text) {
  std::fflush(stdout);
  std::fprintf(stderr, "glim: error: %s\n", printable(text).c_str());
}

void set_quiet(bool on) { is_quiet = on; }
bool quiet() { return is_quiet; }

void say(const std::string& text) {
  if (!is_quiet) print_line(text);
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

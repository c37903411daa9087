#include "tools/common/output.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tensor/error.hpp"
#include "tools/common/terminal.hpp"
#include "tools/common/utf8.hpp"

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

// How many bytes of valid UTF-8 the text begins with, neither a control character nor one that turns the
// direction of writing: 1 to 4, or 0.
std::size_t shown(std::string_view text) {
  auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return first >= 0x20 && first != 0x7F;
  std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  bool control = first == 0xC2 && text.size() > 1 && static_cast<unsigned char>(text[1]) < 0xA0;
  for (std::string_view turns : {"\xD8\x9C", "\xE2\x80\x8E", "\xE2\x80\x8F"})  // U+061C, 200E, 200F
    control = control || text.starts_with(turns);
  if (text.size() > 2 && text.starts_with("\xE2\x80"))  // U+202A to 202E
    control = control || (text[2] >= '\xAA' && text[2] <= '\xAE');
  if (text.size() > 2 && text.starts_with("\xE2\x81"))  // U+2066 to 2069
    control = control || (text[2] >= '\xA6' && text[2] <= '\xA9');
  return text.size() >= length && !first_invalid_utf8(text.substr(0, length)) && !control ? length
                                                                                          : 0;
}

std::string escaped(std::string_view text, bool one_line) {
  std::string line;
  for (std::size_t i = 0, length; i < text.size(); i += std::max<std::size_t>(length, 1)) {
    length = shown(text.substr(i));
    if (length > 0)
      line += text.substr(i, length);
    else if (text[i] == '\n' || text[i] == '\t')
      line += one_line ? ' ' : text[i];
    else
      line += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i]));
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

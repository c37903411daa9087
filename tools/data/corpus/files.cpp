#include "tools/data/corpus/files.hpp"

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "tensor/error.hpp"
#include "tensor/system/files.hpp"

namespace glim {
namespace {

[[noreturn]] void fail(std::string_view op, const std::string& path, int reason) {
  throw FileError(op, path + ": " + std::strerror(reason));
}

}  // namespace

void read_pieces(const std::string& path, std::string_view op,
                 const std::function<void(std::string_view)>& take) {
  const std::string name = shown_path(path);
  static bool input_was_read = false;
  if (path == "-" && std::exchange(input_was_read, true))
    throw FileError(op, name + ": has been read already; '-' can be given once");
  const Descriptor file(path == "-" ? open_standard_input() : open_file(path, Access::Read));
  if (file.get() < 0) fail(op, name, errno);
  if (path.ends_with(".gz")) throw FileError(op, name + ": is packed: gunzip unpacks it");
  if (status_of(file.get()).type == FileType::Device)
    throw FileError(op, name + ": is a device, which may have no end");
  std::vector<char> buffer(std::size_t{1} << 16);
  for (;;) {
    const std::ptrdiff_t n = read_some(file.get(), buffer.data(), buffer.size());
    if (n == 0) return;
    if (n < 0) fail(op, name, errno);
    take({buffer.data(), static_cast<std::size_t>(n)});
  }
}

std::string read_file(const std::string& path, std::string_view op) {
  std::string content;
  read_pieces(path, op, [&](std::string_view piece) { content += piece; });
  return content;
}

std::string shown_path(const std::string& path) { return path == "-" ? "standard input" : path; }

}  // namespace glim

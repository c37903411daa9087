#include "tools/train/json_lines.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "tensor/error.hpp"
#include "tensor/io/atomic_file.hpp"
#include "tools/data/corpus/files.hpp"

namespace glim {
namespace {

std::string lines_until(const std::string& text, Index step) {
  std::string kept;
  for (std::size_t start = 0, end; (end = text.find('\n', start)) != std::string::npos;
       start = end + 1) {
    auto line = nlohmann::json::parse(text.substr(start, end - start), nullptr, false);
    if (!line.is_object() || !line.contains("step") || !line["step"].is_number_integer()) continue;
    if (line["step"].get<Index>() <= step) kept += text.substr(start, end + 1 - start);
  }
  return kept;
}

}  // namespace

JsonLines::JsonLines(std::string path, Index from_step, const std::string& head)
    : path_(std::move(path)) {
  if (from_step > 0 && (::access(path_.c_str(), F_OK) == 0 || errno != ENOENT))
    write_file_atomically(
        path_, (head.empty() ? "" : head + "\n") + lines_until(read_file(path_, path_), from_step));
  else
    from_step = 0;
  int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (from_step == 0 ? O_TRUNC : 0);
  fd_ = ::open(path_.c_str(), flags, 0666);
  if (fd_ < 0) throw FileError(path_, std::string("cannot write: ") + std::strerror(errno));
  if (from_step == 0 && !head.empty()) write(head);
}

JsonLines::~JsonLines() { ::close(fd_); }

void JsonLines::write(const std::string& line) {
  std::string whole = line + "\n";
  std::string_view rest = whole;
  while (!rest.empty()) {
    ssize_t n = ::write(fd_, rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw FileError(path_, std::string("cannot write: ") + std::strerror(errno));
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
}

}  // namespace glim

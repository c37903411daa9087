#include "tools/train/json_lines.hpp"

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "tensor/error.hpp"
#include "tensor/io/atomic_file.hpp"
#include "tensor/system/files.hpp"
#include "tools/common/folder.hpp"
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
  if (from_step > 0 && is_there(path_))
    write_file_atomically(
        path_, (head.empty() ? "" : head + "\n") + lines_until(read_file(path_, path_), from_step));
  else
    from_step = 0;
  fd_ = open_file(path_, from_step == 0 ? Access::Replace : Access::Append);
  if (fd_ < 0) throw FileError(path_, std::string("cannot write: ") + std::strerror(errno));
  if (from_step == 0 && !head.empty()) write(head);
}

JsonLines::~JsonLines() { close_file(fd_); }

void JsonLines::write(const std::string& line) {
  if (!write_all(fd_, line + "\n"))
    throw FileError(path_, std::string("cannot write: ") + std::strerror(errno));
}

}  // namespace glim

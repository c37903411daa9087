#include "tensor/io/atomic_file.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "tensor/error.hpp"
#include "tensor/system/files.hpp"
#include "tensor/system/process.hpp"

namespace glim {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, int error) {
  throw FileError(path, std::string("cannot write: ") + std::strerror(error));
}

// Removes temporary files whose writer is gone (their lock is free): those of one file, or of every file if `stem` is
// empty.
void sweep(const fs::path& folder, const std::string& stem) try {
  const std::string_view mark = ".tmp.";
  for (const fs::path& path : entries_of(folder)) {
    const std::string name = path.filename().string();
    const std::size_t i = name.rfind(mark);
    if (i == std::string::npos || (!stem.empty() && name.compare(0, i, stem) != 0)) continue;
    const std::string numbers = name.substr(i + mark.size());  // PID.N
    if (numbers.find_first_not_of("0123456789.") != std::string::npos ||
        std::count(numbers.begin(), numbers.end(), '.') != 1)
      continue;
    remove_abandoned(path.string());
  }
} catch (const FileError&) {  // a folder that cannot be listed may be written to
}

void write_in_place(const std::string& path, const std::function<void(FileSink&)>& write) {
  Descriptor fd(open_file(path, Access::Write));
  if (fd.get() < 0) fail(path, errno);
  FileSink sink(fd.get(), path);
  write(sink);
  sink.flush();
  if (fd.close() != 0) fail(path, errno);
}

}  // namespace

void FileSink::write(const void* data, std::size_t bytes) {
  constexpr std::size_t kBuffer = std::size_t{1} << 20;
  auto p = static_cast<const char*>(data);
  if (buffer_.size() + bytes > kBuffer) flush();
  if (bytes < kBuffer)
    buffer_.insert(buffer_.end(), p, p + bytes);
  else if (!write_all(fd_, {p, bytes}))
    fail(path_, errno);
}

void FileSink::flush() {
  if (!write_all(fd_, {buffer_.data(), buffer_.size()})) fail(path_, errno);
  buffer_.clear();
}

fs::path folder_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<std::string> names;
  if (!list_folder(folder.string(), names))
    throw FileError(folder.string(), std::string("cannot be read: ") + std::strerror(errno));
  std::vector<fs::path> entries;
  for (const std::string& name : names) entries.push_back(folder / name);
  std::sort(entries.begin(), entries.end());
  return entries;
}

void sync_folder(const fs::path& folder, const std::string& path) {
  if (!flush_folder(folder.string())) fail(path, errno);
}

void remove_temporary_files(const std::string& folder) { sweep(folder, ""); }

void write_file_atomically(const std::string& path, const std::function<void(FileSink&)>& write) {
  fs::path target = path;
  std::error_code none;
  if (fs::is_symlink(target, none)) {
    fs::path resolved = fs::canonical(target, none);
    if (!none) target = resolved;
  }
  const FileStatus old = status_of(target.string());
  if (old.type == FileType::Folder) fail(path, EISDIR);
  if (old.type != FileType::None && old.type != FileType::Regular)
    return write_in_place(path, write);
  sweep(folder_of(target), target.filename().string());

  static std::atomic<unsigned> count{0};
  std::string temporary;
  for (;;) {
    temporary =
        target.string() + ".tmp." + std::to_string(process_id()) + "." + std::to_string(count++);
    Descriptor fd(create_temporary(temporary));
    if (fd.get() < 0 && errno == EEXIST) continue;  // a killed process with this number left it
    if (fd.get() < 0) fail(path, errno);
    try {
      if (old.type != FileType::None) set_permissions(fd.get(), old);
      FileSink sink(fd.get(), path);
      write(sink);
      sink.flush();
      if (!flush_to_disk(fd.get()) || !replace_file(fd, temporary, target.string()))
        fail(path, errno);
    } catch (...) {
      fd.close();
      remove_file(temporary);
      throw;
    }
    break;
  }
  sync_folder(folder_of(target), path);
}

void write_file_atomically(const std::string& path, std::span<const std::byte> bytes) {
  write_file_atomically(path, [&](FileSink& sink) { sink.write(bytes.data(), bytes.size()); });
}

void write_file_atomically(const std::string& path, std::string_view text) {
  write_file_atomically(path, [&](FileSink& sink) { sink.write(text); });
}

}  // namespace glim

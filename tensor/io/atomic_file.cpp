#include "tensor/io/atomic_file.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tensor/error.hpp"
#include "tensor/io/input_file.hpp"

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
    const std::string name = path.filename();
    const std::size_t i = name.rfind(mark);
    if (i == std::string::npos || (!stem.empty() && name.compare(0, i, stem) != 0)) continue;
    const std::string numbers = name.substr(i + mark.size());  // PID.N
    if (numbers.find_first_not_of("0123456789.") != std::string::npos ||
        std::count(numbers.begin(), numbers.end(), '.') != 1)
      continue;
    Descriptor fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (fd.get() >= 0 && ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) std::remove(path.c_str());
  }
} catch (const FileError&) {  // a folder that cannot be listed may be written to
}

void write_in_place(const std::string& path, const std::function<void(FileSink&)>& write) {
  Descriptor fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (fd.get() < 0) fail(path, errno);
  FileSink sink(fd.get(), path);
  write(sink);
  sink.flush();
  if (fd.close() != 0) fail(path, errno);
}

}  // namespace

void FileSink::put(const char* data, std::size_t bytes) {
  while (bytes > 0) {
    ssize_t n = ::write(fd_, data, std::min<std::size_t>(bytes, std::size_t{1} << 30));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(path_, errno);
    data += n;
    bytes -= n;
  }
}

void FileSink::write(const void* data, std::size_t bytes) {
  constexpr std::size_t kBuffer = std::size_t{1} << 20;
  auto p = static_cast<const char*>(data);
  if (buffer_.size() + bytes > kBuffer) flush();
  if (bytes >= kBuffer)
    put(p, bytes);
  else
    buffer_.insert(buffer_.end(), p, p + bytes);
}

void FileSink::flush() {
  put(buffer_.data(), buffer_.size());
  buffer_.clear();
}

fs::path folder_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), ::closedir);
  std::vector<fs::path> entries;
  while (open) {
    errno = 0;
    const dirent* entry = ::readdir(open.get());
    if (!entry) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") entries.push_back(folder / name);
  }
  if (errno)
    throw FileError(folder.string(), std::string("cannot be read: ") + std::strerror(errno));
  std::sort(entries.begin(), entries.end());
  return entries;
}

void sync_folder(const std::string& folder, const std::string& path) {
  Descriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0 || (::fsync(fd.get()) != 0 && errno != EINVAL)) fail(path, errno);
}

void remove_temporary_files(const std::string& folder) { sweep(folder, ""); }

void write_file_atomically(const std::string& path, const std::function<void(FileSink&)>& write) {
  fs::path target = path;
  std::error_code none;
  if (fs::is_symlink(target, none)) {
    fs::path resolved = fs::canonical(target, none);
    if (!none) target = resolved;
  }
  struct stat old {};
  bool exists = ::stat(target.c_str(), &old) == 0;
  if (exists && S_ISDIR(old.st_mode)) fail(path, EISDIR);
  if (exists && !S_ISREG(old.st_mode)) return write_in_place(path, write);
  sweep(folder_of(target), target.filename());

  static std::atomic<unsigned> count{0};
  fs::path temporary;
  for (;;) {
    temporary = target;
    temporary += ".tmp." + std::to_string(::getpid()) + "." + std::to_string(count++);
    Descriptor fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (fd.get() < 0 && errno == EEXIST) continue;  // a killed process with this number left it
    if (fd.get() < 0) fail(path, errno);
    ::flock(fd.get(), LOCK_EX);  // a file system without locks only loses the sweeping
    struct stat mine {};
    if (::fstat(fd.get(), &mine) == 0 && mine.st_nlink == 0) continue;  // swept before the lock
    try {
      if (exists) ::fchmod(fd.get(), old.st_mode & 07777);  // where the file system has modes
      FileSink sink(fd.get(), path);
      write(sink);
      sink.flush();
      if (::fsync(fd.get()) != 0) fail(path, errno);
      if (::rename(temporary.c_str(), target.c_str()) != 0) fail(path, errno);
    } catch (...) {
      ::unlink(temporary.c_str());
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

// Writing a file so that it is never half written.
//
// The bytes go to `PATH.tmp.PID.N` beside the target; that file is flushed to the disk (fsync) and
// renamed over the target, and the directory is flushed as well. A reader, a crash, a kill or a
// power cut sees the old file or the new one, whole. When anything fails (a full disk, a limit, an
// exception of the callback) the old file is untouched and the temporary one is removed. A temporary file
// that a killed process left is removed by the next write to the target: a temporary file is
// locked (flock) as long as its writer lives.
//
// A symbolic link is followed, so the file it points to is replaced. An existing target that is
// not a regular file (a device, a pipe) is written in place. A replaced file keeps its permissions.
//
// Errors: FileError "PATH: cannot write: REASON".
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace glim {

// Where the callback of write_file_atomically puts its bytes, in order.
class FileSink {
 public:
  FileSink(int fd, const std::string& path) : fd_(fd), path_(path) {}
  FileSink(const FileSink&) = delete;
  FileSink& operator=(const FileSink&) = delete;

  void write(const void* data, std::size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  void flush();  // to the system; the writer itself flushes to the disk

 private:
  int fd_;
  const std::string& path_;
  std::vector<char> buffer_;
};

void write_file_atomically(const std::string& path, const std::function<void(FileSink&)>& write);
void write_file_atomically(const std::string& path, std::span<const std::byte> bytes);
void write_file_atomically(const std::string& path, std::string_view text);

// Removes what killed processes left in a folder that is the program's own: the temporary files of all targets.
void remove_temporary_files(const std::string& folder);

// The folder that holds a file: "." for a name alone.
std::filesystem::path folder_of(const std::filesystem::path& file);

// A folder's entries, in order of their names. FileError if it cannot be read. (A directory_iterator that finds no memory
// ends the program: libstdc++'s is noexcept.)
std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder);

// Makes the names in a folder durable: what was created in it, renamed and removed. Some file systems cannot
// (they say EINVAL), which is no error. FileError naming `path`.
void sync_folder(const std::filesystem::path& folder, const std::string& path);

}  // namespace glim

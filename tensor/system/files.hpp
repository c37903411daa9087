// Files of the system. Paths are UTF-8, and bytes pass as they are. A function that fails returns a negative number or
// false, with the reason in errno.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace glim {

enum class Access {
  Read,
  ReadAtOnce,  // opening a pipe does not wait for its writer
  Write,
  Append,   // creates the file
  Replace,  // creates the file, or empties it
};
int open_file(const std::string& path, Access access);
int open_standard_input();  // a number of its own
int close_file(int fd);

// An open file's number, which it closes; below 0 for none.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) close_file(fd_);
  }
  int get() const { return fd_; }
  int close() { return close_file(std::exchange(fd_, -1)); }

 private:
  int fd_;
};

std::ptrdiff_t read_some(int fd, void* into, std::size_t bytes);  // 0: the end
std::ptrdiff_t read_at(int fd, void* into, std::size_t bytes, std::uint64_t offset);
bool write_all(int fd, std::string_view bytes);
bool flush_to_disk(int fd);

enum class FileType { None, Regular, Folder, Terminal, Device, Other };
struct FileStatus {
  FileType type = FileType::None;
  std::uint64_t size = 0;
  int permissions = 0;  // of a system that has modes
};
FileStatus status_of(int fd);
FileStatus status_of(const std::string& path);

// A file that did not exist, for writing. Other processes cannot remove it with remove_abandoned while it is open.
int create_temporary(const std::string& path);
void remove_abandoned(const std::string& path);
void set_permissions(int fd, const FileStatus& status);
// An open file takes the place of another, at once. It may be closed afterwards.
bool replace_file(Descriptor& file, const std::string& source, const std::string& target);
bool remove_file(const std::string& path);

bool make_private_folder(const std::string& path);  // true if it exists
bool remove_empty_folder(const std::string& path);
// "glim-XXXXXX" at the end of the path becomes a new name.
bool make_temporary_folder(std::string& path);
bool list_folder(const std::string& path, std::vector<std::string>& names);
bool flush_folder(const std::string& path);
// A number that holds the folder until close_file, or until the process ends. EBUSY: another process holds it. EIDRM: a
// process that held it has removed it.
int lock_folder(const std::string& path);

}  // namespace glim

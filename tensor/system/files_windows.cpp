#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <io.h>

#include "tensor/system/files.hpp"
#include "tensor/system/windows.hpp"

namespace glim {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 30;  // of a call
constexpr DWORD kShareAll = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

int number_of(DWORD error) {
  switch (error) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
      return ENOENT;
    case ERROR_ACCESS_DENIED:
    case ERROR_WRITE_PROTECT:
      return EACCES;
    case ERROR_SHARING_VIOLATION:
    case ERROR_LOCK_VIOLATION:
      return EBUSY;
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS:
      return EEXIST;
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL:
      return ENOSPC;
    case ERROR_FILENAME_EXCED_RANGE:
      return ENAMETOOLONG;
    case ERROR_INVALID_NAME:
    case ERROR_BAD_PATHNAME:
      return EINVAL;
    case ERROR_DIRECTORY:
      return ENOTDIR;
    case ERROR_BROKEN_PIPE:
    case ERROR_NO_DATA:
      return EPIPE;
    case ERROR_INVALID_FUNCTION:  // to read a folder
      return EISDIR;
  }
  return EIO;
}
bool done(BOOL result) {
  if (!result) errno = number_of(GetLastError());
  return result;
}
HANDLE handle_of(int fd) { return reinterpret_cast<HANDLE>(_get_osfhandle(fd)); }

// Files that others hold open may be read, written and replaced, unless `share` says less. Backup semantics open folders.
int open_shared(const std::string& path, DWORD access, DWORD creation, int flags,
                DWORD share = kShareAll) {
  const HANDLE handle = CreateFileW(wide(path).c_str(), access, share, nullptr, creation,
                                    FILE_FLAG_BACKUP_SEMANTICS, nullptr);
  if (!done(handle != INVALID_HANDLE_VALUE)) return -1;
  return _open_osfhandle(reinterpret_cast<std::intptr_t>(handle), flags | _O_BINARY | _O_NOINHERIT);
}

FileStatus described(HANDLE handle) {
  FileStatus status{FileType::Other};
  DWORD mode;
  BY_HANDLE_FILE_INFORMATION info;
  if (GetFileType(handle) == FILE_TYPE_CHAR) {
    status.type = GetConsoleMode(handle, &mode) ? FileType::Terminal : FileType::Device;
  } else if (GetFileType(handle) == FILE_TYPE_DISK && GetFileInformationByHandle(handle, &info)) {
    const bool folder = info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY;
    status.type = folder ? FileType::Folder : FileType::Regular;
    status.size = std::uint64_t{info.nFileSizeHigh} << 32 | info.nFileSizeLow;
  }
  return status;
}

}  // namespace

int open_file(const std::string& path, Access access) {
  switch (access) {
    case Access::Read:
    case Access::ReadAtOnce:
      return open_shared(path, GENERIC_READ, OPEN_EXISTING, _O_RDONLY);
    case Access::Write:
      return open_shared(path, GENERIC_WRITE, OPEN_EXISTING, _O_WRONLY);
    case Access::Append:
      return open_shared(path, FILE_APPEND_DATA, OPEN_ALWAYS, _O_WRONLY | _O_APPEND);
    case Access::Replace:
      break;
  }
  return open_shared(path, GENERIC_WRITE, CREATE_ALWAYS, _O_WRONLY | _O_APPEND);
}
int open_standard_input() { return _dup(0); }
int close_file(int fd) { return _close(fd); }

std::ptrdiff_t read_some(int fd, void* into, std::size_t bytes) {
  DWORD n = 0;
  const auto most = static_cast<DWORD>(std::min(bytes, kMostBytes));
  if (ReadFile(handle_of(fd), into, most, &n, nullptr) || GetLastError() == ERROR_BROKEN_PIPE)
    return n;  // a pipe without writers is at its end
  return done(false) ? 0 : -1;
}
std::ptrdiff_t read_at(int fd, void* into, std::size_t bytes, std::uint64_t offset) {
  OVERLAPPED place{};
  place.Offset = static_cast<DWORD>(offset);
  place.OffsetHigh = static_cast<DWORD>(offset >> 32);
  DWORD n = 0;
  const auto most = static_cast<DWORD>(std::min(bytes, kMostBytes));
  if (ReadFile(handle_of(fd), into, most, &n, &place)) return n;
  return GetLastError() == ERROR_HANDLE_EOF || done(false) ? 0 : -1;
}
bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    DWORD n = 0;
    const auto most = static_cast<DWORD>(std::min(bytes.size(), kMostBytes));
    if (!done(WriteFile(handle_of(fd), bytes.data(), most, &n, nullptr))) return false;
    bytes.remove_prefix(n);
  }
  return true;
}
bool flush_to_disk(int fd) { return done(FlushFileBuffers(handle_of(fd))); }

FileStatus status_of(int fd) { return described(handle_of(fd)); }
FileStatus status_of(const std::string& path) {
  const Descriptor fd(open_shared(path, 0, OPEN_EXISTING, 0));
  return fd.get() < 0 ? FileStatus{} : status_of(fd.get());
}

int create_temporary(const std::string& path) {
  return open_shared(path, GENERIC_WRITE, CREATE_NEW, _O_WRONLY,
                     FILE_SHARE_READ | FILE_SHARE_WRITE);
}
void remove_abandoned(const std::string& path) { remove_file(path); }
void set_permissions(int, const FileStatus&) {}  // those of the folder are inherited

// An open file is not renamed. Scanners open a new file for a moment, so a refusal is no answer before two seconds.
bool replace_file(Descriptor& file, const std::string& source, const std::string& target) {
  if (file.close() != 0) return false;
  for (int trial = 0;; ++trial) {
    if (MoveFileExW(wide(source).c_str(), wide(target).c_str(),
                    MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH))
      return true;
    const DWORD error = GetLastError();
    if (trial == 100 || (error != ERROR_ACCESS_DENIED && error != ERROR_SHARING_VIOLATION)) break;
    Sleep(20);
  }
  return done(false);
}
bool remove_file(const std::string& path) { return done(DeleteFileW(wide(path).c_str())); }

bool make_private_folder(const std::string& path) {
  return done(CreateDirectoryW(wide(path).c_str(), nullptr)) || errno == EEXIST;
}
bool remove_empty_folder(const std::string& path) {
  return done(RemoveDirectoryW(wide(path).c_str()));
}
bool make_temporary_folder(std::string& path) {
  const std::string stem = path.substr(0, path.size() - 6);
  for (unsigned number = GetCurrentProcessId() * 1000u;; ++number) {
    path = stem + std::to_string(number);
    if (CreateDirectoryW(wide(path).c_str(), nullptr)) return true;
    if (GetLastError() != ERROR_ALREADY_EXISTS) return done(false);
  }
}
bool list_folder(const std::string& path, std::vector<std::string>& names) {
  WIN32_FIND_DATAW entry;
  const HANDLE search = FindFirstFileW(wide(path + "/*").c_str(), &entry);
  if (!done(search != INVALID_HANDLE_VALUE)) return false;
  do {
    const std::string name = utf8(entry.cFileName);
    if (name != "." && name != "..") names.push_back(name);
  } while (FindNextFileW(search, &entry));
  const bool complete = GetLastError() == ERROR_NO_MORE_FILES;
  FindClose(search);
  if (!complete) errno = EIO;
  return complete;
}
bool flush_folder(const std::string&) { return true; }  // replace_file writes names through

// A folder that is open for writing and not shared for it: files in it are free, and so is its name.
int lock_folder(const std::string& path) {
  return open_shared(path, FILE_ADD_FILE, OPEN_EXISTING, 0, FILE_SHARE_READ | FILE_SHARE_DELETE);
}

}  // namespace glim

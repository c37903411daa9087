#include "tools/common/folder.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "tensor/error.hpp"
#include "tensor/io/atomic_file.hpp"
#include "tools/common/escape.hpp"
#include "tools/common/output.hpp"

namespace glim {
namespace {

// Returns those that it made, the innermost first. They outlast a power cut.
std::vector<std::string> make_folders(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<std::string> missing;
  for (fs::path p = path; !p.empty() && !fs::exists(p, error) && !error; p = p.parent_path())
    if (p.filename() != "..") missing.push_back(p.string());
  fs::create_directories(path, error);
  if (error) throw FileError(path, "cannot be created: " + error.message());
  for (const std::string& made : missing) sync_folder(folder_of(made), made);
  return missing;
}

}  // namespace

void make_folder(const std::string& path) {
  make_folders(path);
  // Named as a temporary file: if the process is killed here, a FolderLock removes it.
  const std::string trial =
      (std::filesystem::path(path) / (".trial.tmp." + std::to_string(::getpid()) + ".0")).string();
  if (::mkdir(trial.c_str(), 0700) != 0 && errno != EEXIST)
    throw FileError(path, std::string("no file can be created in it: ") + std::strerror(errno));
  ::rmdir(trial.c_str());
}

void refuse_existing(const std::string& path, bool overwrite) {
  std::error_code error;
  // A pipe or /dev/stdout is not replaced.
  if (!overwrite && std::filesystem::exists(path, error) && !std::filesystem::is_other(path, error))
    throw FileError(path, "exists already: --overwrite replaces it, --out names another place");
}

bool is_there(const std::string& path) {
  std::error_code error;
  const bool exists = std::filesystem::exists(path, error);
  if (error) throw FileError(path, "cannot be read: " + error.message());
  return exists;
}

TemporaryFolder::TemporaryFolder() {
  std::error_code none;
  std::string name = (std::filesystem::temp_directory_path(none) / "glim-XXXXXX").string();
  if (!::mkdtemp(name.data()))
    throw FileError(name, std::string("cannot be made: ") + std::strerror(errno));
  path = name;
  try {
    removal_ = std::make_unique<AfterDeath>("exec rm -rf -- " + shell_word(name));
  } catch (...) {
    ::rmdir(name.c_str());
    throw;
  }
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

FolderLock::FolderLock(const std::string& path) {
  while (true) {
    for (std::string& made : make_folders(path)) made_.push_back(std::move(made));
    fd_ = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd_ < 0) return;  // what reads the folder says why
    if (::flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      ::close(fd_);
      throw FileError(path,
                      "another run is using it: wait until it ends, or name another folder with "
                      "--out");
    }
    struct stat mine {};
    if (::fstat(fd_, &mine) != 0 || mine.st_nlink > 0) break;
    ::close(fd_);  // the run that made it came to nothing and removed it
  }
  remove_temporary_files(path);
}

FolderLock::~FolderLock() {
  for (const std::string& folder : made_)
    if (::rmdir(folder.c_str()) != 0) break;  // what has something in it stays, and the way to it
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace glim

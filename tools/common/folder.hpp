// The folder that a program's results go to.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tensor/system/after_death.hpp"

namespace glim {

// Creates the folder and its parents if they are missing, and tests that a file can be created in it: minutes
// of work should not end in "cannot be written". FileError otherwise.
void make_folder(const std::string& path);

// FileError that names --overwrite and --out if the file exists and may not be replaced.
void refuse_existing(const std::string& path, bool overwrite);

// False only if there is no such file. FileError if that cannot be found out, as of a link to itself.
bool is_there(const std::string& path);

// A folder of its own among the system's temporary files, until the end of the block or of the process, whatever ends it.
struct TemporaryFolder {
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::filesystem::path path;

 private:
  std::unique_ptr<AfterDeath> removal_;
};

// Locks a folder for one run while this object lives; the system frees the lock when the process dies.
// FileError when another run has the lock. A missing folder is created, and removed again if it stays empty. Files
// that a killed run left half written are removed.
// The lock is flock(2) on the folder itself: it leaves no file behind, works among the programs of one
// machine, and has no effect on a file system without locks.
class FolderLock {
 public:
  explicit FolderLock(const std::string& path);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_ = -1;
  std::vector<std::string> made_;  // the innermost first
};

}  // namespace glim

// The folder that a program's results go to.
#pragma once

#include <string>
#include <vector>

namespace glim {

// Makes the folder, with those above it, where it is not there, and tries whether a file can be made
// in it: minutes of work should not end in "cannot be written". FileError otherwise.
void make_folder(const std::string& path);

// FileError that names --overwrite and --out, where a file is there that was not to be replaced.
void refuse_existing(const std::string& path, bool overwrite);

// A folder that belongs to one run as long as this lives; the system frees it when the process dies.
// FileError when another run has it. A folder that is not there is made, and goes again if nothing was
// put into it. The lock is flock(2) on the folder itself: it leaves no file, holds among the programs of
// one machine, and is not there on a file system without locks.
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

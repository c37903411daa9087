#include "tools/common/folder.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include "tensor/error.hpp"
#include "tensor/io/atomic_file.hpp"
#include "tensor/system/files.hpp"
#include "tensor/system/process.hpp"

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
      (std::filesystem::path(path) / (".trial.tmp." + std::to_string(process_id()) + ".0"))
          .string();
  if (!make_private_folder(trial))
    throw FileError(path, std::string("no file can be created in it: ") + std::strerror(errno));
  remove_empty_folder(trial);
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
  if (!make_temporary_folder(name))
    throw FileError(name, std::string("cannot be made: ") + std::strerror(errno));
  path = name;
  try {
    removal_ = std::make_unique<AfterDeath>(name);
  } catch (...) {
    remove_empty_folder(name);
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
    fd_ = lock_folder(path);
    if (fd_ >= 0) break;
    if (errno == EBUSY)
      throw FileError(path,
                      "another run is using it: wait until it ends, or name another folder with "
                      "--out");
    if (errno != EIDRM) return;  // what reads the folder says why
  }
  remove_temporary_files(path);
}

FolderLock::~FolderLock() {
  for (const std::string& folder : made_)
    if (!remove_empty_folder(folder)) break;  // what has something in it stays, and the way to it
  if (fd_ >= 0) close_file(fd_);
}

}  // namespace glim

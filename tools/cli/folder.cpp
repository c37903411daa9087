#include "tools/cli/folder.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <unistd.h>

#include "tensor/error.hpp"

namespace glim {

void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) throw FileError(path, "cannot be made: " + error.message());
  std::string trial = (std::filesystem::path(path) / ".glim-XXXXXX").string();
  if (!::mkdtemp(trial.data()))
    throw FileError(path, std::string("no file can be made in it: ") + std::strerror(errno));
  ::rmdir(trial.c_str());
}

}  // namespace glim

// A file for one test, deleted after it.
#pragma once

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <unistd.h>

namespace glim::test {

class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view content = {}) {
    static int count = 0;
    path_ = (std::filesystem::temp_directory_path() /
             ("glim-text-" + std::to_string(::getpid()) + "-" + std::to_string(count++)))
                .string();
    std::ofstream(path_, std::ios::binary) << content;
  }
  ~TemporaryFile() { std::filesystem::remove_all(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The message of the E that `act` throws; "nothing thrown" otherwise. Other exceptions pass.
template <class E, class Act>
std::string message_of(Act act) {
  try {
    act();
  } catch (const E& e) {
    return e.one_line();
  }
  return "nothing thrown";
}

}  // namespace glim::test

#include "tests/fuzz/readers/readers.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <sys/mman.h>
#include <unistd.h>

#include "tensor/error.hpp"
#include "tests/fuzz/readers/memory.hpp"

namespace glim::fuzz {
namespace {

constexpr std::size_t kRoom = 16'000'000;

void require_one_line(const Error& e) {
  const std::string said = e.one_line();
  require(!said.empty() && said.find('\n') == said.npos, "an error is not one line");
}

// A folder in memory where there is one.
class Folder {
 public:
  Folder() {
    namespace fs = std::filesystem;
    const fs::path shm = "/dev/shm";
    std::string name =
        ((fs::is_directory(shm) ? shm : fs::temp_directory_path()) / "glim-readers-XXXXXX")
            .string();
    require(::mkdtemp(name.data()) != nullptr, "there is no folder for temporary files");
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string path_;
};

struct InMemory {
  int fd = ::memfd_create("reader", MFD_CLOEXEC);
  std::string path = "/proc/self/fd/" + std::to_string(fd);
};

}  // namespace

const std::vector<Reader>& readers() {
  static const std::vector<Reader> list = {{"safetensors", read_safetensors_bytes},
                                           {"idx", read_idx_bytes, unpacked_size},
                                           {"gzip", read_idx_bytes, unpacked_size},
                                           {"png", read_png_bytes, png_size},
                                           {"toml", read_toml_bytes},
                                           {"vocabulary", read_vocabulary_bytes},
                                           {"sentencepiece", read_sentencepiece_bytes},
                                           {"text", read_text_bytes},
                                           {"table", read_table_bytes},
                                           {"json", read_json_bytes},
                                           {"checkpoint", read_checkpoint_bytes},
                                           {"model", read_model_bytes},
                                           {"recording", read_recording_bytes}};
  return list;
}

const Reader* reader_named(std::string_view name) {
  for (const Reader& r : readers())
    if (r.name == name) return &r;
  return nullptr;
}

bool check(const Reader& reader, std::string_view bytes) {
  HighWater water;
  bool taken = true;
  try {
    reader.read(bytes);
  } catch (const Error& e) {
    taken = false;
    require_one_line(e);
  }
  const std::size_t most = 4 * reader.size(bytes) + kRoom;
  if (const std::size_t bytes_taken = water.bytes(); bytes_taken > most)
    fault(fmt::format("{} takes {} bytes of memory for a file of {}", reader.name, bytes_taken,
                      bytes.size()));
  return taken;
}

void fault(const std::string& problem) {
  fmt::print(stderr, "FAULT: {}\n", problem);
  std::abort();
}

void attempt(void (*part)(const std::string& text), const std::string& text) {
  try {
    part(text);
  } catch (const Error& e) {
    require_one_line(e);
  }
}

const std::string& memory_file(std::string_view bytes, int place) {
  static std::map<int, InMemory> files;
  const InMemory& file = files[place];
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t n =
        ::pwrite(file.fd, bytes.data() + at, bytes.size() - at, static_cast<off_t>(at));
    require(n > 0, "a file in memory cannot be written");
    at += static_cast<std::size_t>(n);
  }
  require(::ftruncate(file.fd, static_cast<off_t>(bytes.size())) == 0,
          "a file in memory cannot be cut");
  return file.path;
}

std::string scratch(const std::string& name) {
  static const Folder folder;
  return folder.path_ + "/" + name;
}

}  // namespace glim::fuzz

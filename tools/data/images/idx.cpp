#include "tools/data/images/idx.hpp"

#include <algorithm>
#include <cstring>
#include <zlib.h>

#include "tensor/error.hpp"
#include "tensor/io/input_file.hpp"

namespace glim {
namespace {

// zlib reads uncompressed files unchanged.
class Bytes {
 public:
  explicit Bytes(const std::string& path)
      : path_(path),
        size_(InputFile(path).size()),  // FileError for a missing file or a folder
        file_(gzopen(path.c_str(), "rb")) {
    if (!file_) throw FileError(path, "cannot be read");
  }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  ~Bytes() { gzclose(file_); }

  std::uint64_t file_size() const { return size_; }
  bool compressed() { return gzdirect(file_) == 0; }
  // At most n bytes; fewer at the end. FileError where the compressed data break off or are damaged.
  std::size_t read(std::uint8_t* into, std::size_t n) {
    std::size_t done = 0;
    while (done < n) {
      auto part = static_cast<unsigned>(std::min<std::size_t>(n - done, 1 << 20));
      int got = gzread(file_, into + done, part);
      int code = Z_OK;
      const char* message = gzerror(file_, &code);
      if (code == Z_BUF_ERROR) fail("its gzip data end early: the file is truncated");
      if (got < 0 || code != Z_OK) fail(std::string("its gzip data are damaged (") + message + ")");
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }
  [[noreturn]] void fail(const std::string& problem) const { throw FileError(path_, problem); }

 private:
  std::string path_;
  std::uint64_t size_;
  gzFile file_;
};

std::string extents_text(const std::vector<Index>& extents) {
  std::string text;
  for (Index e : extents) text += (text.empty() ? "" : " x ") + std::to_string(e);
  return text;
}

}  // namespace

IdxFile read_idx(const std::string& path) {
  Bytes in(path);
  std::uint8_t head[4];
  const std::size_t read = in.read(head, 4);
  if (read == 4 && std::memcmp(head, "\x89PNG", 4) == 0)
    in.fail(
        "is a PNG image, not an IDX file: `glim classify FILE.png` classifies images, and "
        "--image-folder names a "
        "folder with a folder of PNGs for each class");
  if (read < 4 || head[0] != 0 || head[1] != 0)
    in.fail("is not an IDX file: it does not begin with two bytes of 0");
  if (head[2] != 8)
    in.fail("holds elements of IDX type " + std::to_string(head[2]) +
            "; they must be bytes, type 8");
  if (head[3] < 1 || head[3] > kMaxRank)
    in.fail("has " + std::to_string(head[3]) + " dimensions; it must have 1 to " +
            std::to_string(kMaxRank));
  IdxFile file;
  std::uint64_t count = 1,
                largest = 1;  // largest: without extents of 0, what others may be multiplied to
  for (int i = 0; i < head[3]; ++i) {
    std::uint8_t e[4];
    if (in.read(e, 4) < 4) in.fail("is truncated: it ends within its header");
    std::uint64_t extent = std::uint64_t{e[0]} << 24 | e[1] << 16 | e[2] << 8 | e[3];
    file.extents.push_back(static_cast<Index>(extent));
    count *= extent;
    largest *= std::max<std::uint64_t>(extent, 1);
    if (largest > (std::uint64_t{1} << 40))
      in.fail("promises " + extents_text(file.extents) + " bytes, which no data set has");
  }
  // A header is believed as far as the file can bear it out: deflate makes data at most 1,032 times
  // smaller. The memory is taken as the data come.
  if (count > (in.compressed() ? 1032 * in.file_size() : in.file_size()))
    in.fail("is truncated: its header promises " + extents_text(file.extents) + " = " +
            std::to_string(count) + " bytes, more than this file can contain");
  while (file.values.size() < count) {
    std::size_t begin = file.values.size();
    file.values.resize(std::min<std::uint64_t>(count, begin + (std::size_t{1} << 22)));
    std::size_t got = in.read(file.values.data() + begin, file.values.size() - begin);
    if (got < file.values.size() - begin)
      in.fail("is truncated: its header promises " + extents_text(file.extents) + " = " +
              std::to_string(count) + " bytes, " + std::to_string(begin + got) + " are there");
  }
  std::uint8_t rest;
  if (in.read(&rest, 1) > 0)  // at the end zlib compares the checksum, too
    in.fail("holds more than the " + extents_text(file.extents) +
            " bytes that its header promises");
  return file;
}

ImageSet read_idx_images(const std::string& images, const std::string& labels) {
  IdxFile file = read_idx(images);
  if (file.extents.size() != 3)
    throw FileError(images, "holds an array of " + extents_text(file.extents) +
                                "; images must be N x height x width");
  ImageSet set;
  set.name = images;
  set.channels = 1;
  set.height = file.extents[1];
  set.width = file.extents[2];
  set.pixels = std::move(file.values);
  if (set.size() < 1) throw FileError(images, "holds no images");
  if (labels.empty()) return set;
  IdxFile numbers = read_idx(labels);
  if (numbers.extents.size() != 1)
    throw FileError(labels, "holds an array of " + extents_text(numbers.extents) +
                                "; labels must be one number for each image");
  if (numbers.extents[0] != set.size())
    throw ValueError(labels, "has " + std::to_string(numbers.extents[0]) + " labels, " + images +
                                 " has " + std::to_string(set.size()) + " images");
  Index largest = 0;
  for (std::uint8_t v : numbers.values) {
    set.labels.push_back(v);
    largest = std::max<Index>(largest, v);
  }
  for (Index c = 0; c <= largest; ++c) set.classes.push_back(std::to_string(c));
  return set;
}

}  // namespace glim

#include "tools/data/images/png.hpp"

#include <algorithm>
#include <filesystem>
#include <png.h>

#include "tensor/error.hpp"
#include "tensor/io/atomic_file.hpp"
#include "tensor/io/input_file.hpp"

namespace glim {
namespace {

namespace fs = std::filesystem;

constexpr Index kLargestPngSide = 16384;
constexpr std::uint64_t kDeflateMost = 1032;  // deflate makes data at most so many times smaller

// By the header: behind 8 bytes of signature and 8 of the first chunk's head stand width, height, the bits of a
// channel, and which channels there are.
std::uint64_t bits_of_pixel(const InputFile& file) {
  unsigned char said[2];
  file.read(24, said, 2);
  return said[0] * std::uint64_t{said[1] == 2 ? 3u : said[1] == 4 ? 2u : said[1] == 6 ? 4u : 1u};
}

// libpng takes the memory that a chunk's length asks for before it has read the chunk.
void require_whole_chunks(const InputFile& file) {
  for (std::uint64_t at = 8; at + 8 <= file.size();) {
    unsigned char said[8];
    file.read(at, said, 8);
    const std::uint64_t length =
        std::uint64_t{said[0]} << 24 | said[1] << 16 | said[2] << 8 | said[3];
    if (at + 12 + length > file.size())
      file.fail("cannot be read as a PNG image: a chunk of " + std::to_string(length) +
                " bytes reaches beyond its end");
    if (std::equal(said + 4, said + 8, "IEND")) return;
    at += 12 + length;
  }
}

// libpng's image with what it holds freed.
class Png {
 public:
  explicit Png(const std::string& path) : path_(path) {
    InputFile file(path);  // FileError for what is missing or no file
    require_whole_chunks(file);
    image_.version = PNG_IMAGE_VERSION;
    if (!png_image_begin_read_from_file(&image_, path.c_str())) fail();
    std::string problem;
    const std::string size = std::to_string(image_.height) + " x " + std::to_string(image_.width);
    if (image_.width > kLargestPngSide || image_.height > kLargestPngSide)
      problem = "is an image of " + size + "; the limit is " + std::to_string(kLargestPngSide) +
                " pixels a side";
    // A header is believed as far as the file can bear it out.
    else if (std::uint64_t{image_.width} * image_.height * bits_of_pixel(file) / 8 >
             kDeflateMost * file.size())
      problem =
          "is truncated: its header promises " + size + " pixels, more than this file can contain";
    if (problem.empty()) return;
    png_image_free(&image_);
    file.fail(problem);
  }
  Png(const Png&) = delete;
  Png& operator=(const Png&) = delete;
  ~Png() { png_image_free(&image_); }

  PngHeader header() const {
    return {image_.height, image_.width, (image_.format & PNG_FORMAT_FLAG_COLOR) != 0};
  }
  // (H, W, channels) bytes
  std::vector<std::uint8_t> read(Index channels) {
    image_.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
    std::vector<std::uint8_t> bytes(PNG_IMAGE_SIZE(image_));
    png_color black{0, 0, 0};
    if (!png_image_finish_read(&image_, &black, bytes.data(), 0, nullptr)) fail();
    return bytes;
  }

 private:
  [[noreturn]] void fail() const {
    throw FileError(path_, std::string("cannot be read as a PNG image: ") + image_.message);
  }
  std::string path_;
  png_image image_{};
};

bool is_png_name(const fs::path& p) {
  std::string ending = p.extension().string();
  for (char& c : ending) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return ending == ".png";
}

std::vector<fs::path> shown_entries_of(const fs::path& folder) {
  std::vector<fs::path> list = entries_of(folder);
  std::erase_if(list, [](const fs::path& p) { return p.filename().string().front() == '.'; });
  return list;
}

std::string size_text(Index height, Index width) {
  return std::to_string(height) + " x " + std::to_string(width);
}

}  // namespace

PngHeader read_png_header(const std::string& path) { return Png(path).header(); }

void append_png(ImageSet& set, const std::string& path) {
  Png png(path);
  PngHeader h = png.header();
  if (h.height != set.height || h.width != set.width)
    throw FileError(path, "is an image of " + size_text(h.height, h.width) + "; it must be " +
                              size_text(set.height, set.width));
  std::vector<std::uint8_t> bytes = png.read(set.channels);
  Index plane = set.height * set.width;
  std::size_t at = set.pixels.size();
  set.pixels.resize(at + static_cast<std::size_t>(set.image_size()));
  for (Index i = 0; i < plane; ++i)
    for (Index c = 0; c < set.channels; ++c)
      set.pixels[at + static_cast<std::size_t>(c * plane + i)] =
          bytes[static_cast<std::size_t>(i * set.channels + c)];
}

ImageSet read_png_folders(const std::string& path, const ImageSet* like) {
  ImageSet set;
  set.name = path;
  if (like) {
    set.channels = like->channels;
    set.height = like->height;
    set.width = like->width;
    set.classes = like->classes;
  }
  std::vector<std::vector<fs::path>> images(set.classes.size());
  for (const fs::path& folder : shown_entries_of(path)) {
    std::error_code error;
    if (!fs::is_directory(folder, error)) continue;
    std::string name = folder.filename().string();
    auto known = std::find(set.classes.begin(), set.classes.end(), name);
    if (known == set.classes.end()) {
      if (like)
        throw FileError(folder.string(), "is the folder of a class that the model does not have");
      known = set.classes.insert(known, name);
      images.emplace_back();
    }
    auto& list = images[static_cast<std::size_t>(known - set.classes.begin())];
    for (const fs::path& file : shown_entries_of(folder)) {
      if (is_png_name(file))
        list.push_back(file);
      else
        ++set.left_out;
    }
    if (list.empty()) throw FileError(folder.string(), "holds no PNG image of its class");
  }
  std::size_t longest = 0;
  for (auto& list : images) longest = std::max(longest, list.size());
  if (longest == 0)
    throw FileError(path,
                    "holds no folders of images; it must have one for each class, with PNG files");
  for (std::size_t i = 0; i < longest; ++i)
    for (std::size_t c = 0; c < images.size(); ++c)
      if (i < images[c].size()) {
        set.files.push_back(images[c][i].string());
        set.labels.push_back(static_cast<Index>(c));
      }
  if (!like) {
    PngHeader first = read_png_header(set.files.front());
    set.height = first.height;
    set.width = first.width;
    set.channels = 1;
    for (const std::string& file : set.files)
      if (read_png_header(file).color) set.channels = 3;
  }
  for (const std::string& file : set.files) append_png(set, file);
  return set;
}

}  // namespace glim

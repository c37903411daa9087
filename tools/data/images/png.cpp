#include "tools/data/images/png.hpp"

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <new>
#include <png.h>

#include "tensor/error.hpp"
#include "tensor/io/atomic_file.hpp"
#include "tensor/io/input_file.hpp"
#include "tools/common/ascii.hpp"

namespace glim {
namespace {

namespace fs = std::filesystem;

constexpr Index kLargestPngSide = 16384;
constexpr std::uint64_t kDeflateMost = 1032;  // largest ratio of deflate

std::string size_text(Index height, Index width) {
  return std::to_string(height) + " x " + std::to_string(width);
}

// libpng's reader of a file, freed with it. Its simplified interface would take 16 bits for linear light, draw
// over black in linear light, and mix the rows of interlaced images of 16 bits (1.6.39).
class Png {
 public:
  explicit Png(const std::string& path) : path_(path) {
    InputFile file(path);  // FileError for a missing file or a folder
    file_.reset(std::fopen(path.c_str(), "rb"));
    if (!file_) file.fail("cannot be opened");
    if (file.size() > 1 && std::getc(file_.get()) == 0xFF && std::getc(file_.get()) == 0xD8)
      file.fail("is a JPEG image; `convert FILE.jpg FILE.png` (ImageMagick) makes a PNG");
    std::rewind(file_.get());
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, &Png::on_error, &Png::on_warning);
    info_ = png_ ? png_create_info_struct(png_) : nullptr;
    if (!info_) {
      png_destroy_read_struct(&png_, &info_, nullptr);
      throw std::bad_alloc();
    }
    try {
      run([&] {
        png_init_io(png_, file_.get());
        // Texts and the like are passed over; libpng would take the memory that their length asks for.
        png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
        png_read_info(png_, info_);
      });
      require_size(file);
    } catch (...) {
      png_destroy_read_struct(&png_, &info_, nullptr);
      throw;
    }
  }
  Png(const Png&) = delete;
  Png& operator=(const Png&) = delete;
  ~Png() { png_destroy_read_struct(&png_, &info_, nullptr); }

  PngHeader header() const {
    return {png_get_image_height(png_, info_), png_get_image_width(png_, info_),
            (png_get_color_type(png_, info_) & PNG_COLOR_MASK_COLOR) != 0};
  }
  // (H, W, channels) bytes. The samples count as they are: neither gAMA nor a colour profile is applied.
  std::vector<std::uint8_t> read(Index channels) {
    const PngHeader h = header();
    std::vector<std::uint8_t> rgba(static_cast<std::size_t>(h.height * h.width * 4)), bytes;
    std::vector<png_bytep> rows;
    for (Index r = 0; r < h.height; ++r) rows.push_back(rgba.data() + r * h.width * 4);
    run([&] {
      png_set_expand(png_);  // palettes, fewer bits than 8, transparent colours
      png_set_scale_16(png_);
      png_set_gray_to_rgb(png_);
      png_set_add_alpha(png_, 255, PNG_FILLER_AFTER);
      png_set_interlace_handling(png_);
      png_read_update_info(png_, info_);
      png_read_image(png_, rows.data());
    });
    for (auto p = rgba.begin(); p != rgba.end(); p += 4) {
      if (channels == 1) p[0] = static_cast<std::uint8_t>(luminance(p[0], p[1], p[2]));
      for (Index c = 0; c < channels; ++c)  // over black
        bytes.push_back(static_cast<std::uint8_t>((p[c] * p[3] + 127) / 255));
    }
    return bytes;
  }

 private:
  // The luminance of red, green and blue by ITU-R BT.709; that of a grey is itself.
  static int luminance(int r, int g, int b) {
    return (6966 * r + 23436 * g + 2366 * b + 16384) / 32768;
  }
  void require_size(const InputFile& file) const {
    const PngHeader h = header();
    const std::string size = size_text(h.height, h.width);
    if (h.width > kLargestPngSide || h.height > kLargestPngSide)
      file.fail("is an image of " + size + "; the limit is " + std::to_string(kLargestPngSide) +
                " pixels a side");
    // A header is believed as far as the file can bear it out.
    const Index bits = png_get_bit_depth(png_, info_) * png_get_channels(png_, info_);
    if (static_cast<std::uint64_t>(h.width * h.height * bits / 8) > kDeflateMost * file.size())
      file.fail("is truncated: its header promises " + size +
                " pixels, more than this file can contain");
  }
  // f calls libpng, which leaves it by longjmp where it fails: f may hold nothing that is to be destroyed.
  template <class F>
  void run(const F& f) {
    if (setjmp(png_jmpbuf(png_)))
      throw FileError(path_, std::string("cannot be read as a PNG image: ") + message_.data());
    f();
  }
  [[noreturn]] static void on_error(png_structp png, png_const_charp message) {
    auto& text = static_cast<Png*>(png_get_error_ptr(png))->message_;
    std::snprintf(text.data(), text.size(), "%s", message);
    png_longjmp(png, 1);
  }
  static void on_warning(png_structp, png_const_charp) {}

  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_{nullptr, std::fclose};
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::array<char, 128> message_{};
};

bool is_png_name(const fs::path& p) { return lower(p.extension().string()) == ".png"; }

std::vector<fs::path> shown_entries_of(const fs::path& folder) {
  std::vector<fs::path> list = entries_of(folder);
  std::erase_if(list, [](const fs::path& p) { return p.filename().string().front() == '.'; });
  return list;
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
  std::size_t begin = set.pixels.size();
  set.pixels.resize(begin + static_cast<std::size_t>(set.image_size()));
  for (Index i = 0; i < plane; ++i)
    for (Index c = 0; c < set.channels; ++c)
      set.pixels[begin + static_cast<std::size_t>(c * plane + i)] =
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
    throw FileError(
        path,
        std::string("holds no folders of images; it must have one for each class, with PNG files") +
            (like ? "; `glim classify FILE.png ...` classifies images without labels" : ""));
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

// make_images FOLDER: a data set for images.sh. 240 grey images of 8 x 8 in four classes: a bright
// square in one of the four corners over noise.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <png.h>
#include <string>
#include <vector>
#include <zlib.h>

#include "tensor/random.hpp"

namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes idx(std::initializer_list<int> extents, const Bytes& values) {
  Bytes b{0, 0, 8, static_cast<std::uint8_t>(extents.size())};
  for (int e : extents)
    for (int shift : {24, 16, 8, 0}) b.push_back(static_cast<std::uint8_t>(e >> shift & 255));
  b.insert(b.end(), values.begin(), values.end());
  return b;
}

void write(const std::string& path, const Bytes& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  gzFile out = gzopen((path + ".gz").c_str(), "wb");
  gzwrite(out, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(out);
}

void write_png(const std::string& path, int format, int height, int width, const Bytes& bytes) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.format = static_cast<png_uint_32>(format);
  image.height = static_cast<png_uint_32>(height);
  image.width = static_cast<png_uint_32>(width);
  if (!png_image_write_to_file(&image, path.c_str(), 0, bytes.data(), 0, nullptr))
    std::perror(path.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  namespace fs = std::filesystem;
  std::string folder = std::string(argv[1]) + "/";
  Bytes pixels, labels;
  for (std::uint8_t c = 0; c < 4; ++c)
    for (const char* set : {"folders/", "two-classes/"})
      if (c < 2 || set[0] == 'f') fs::create_directories(folder + set + std::to_string(c));
  for (int i = 0; i < 240; ++i) {
    auto draw = [&](int k) {
      return glim::uniform_at({5, static_cast<std::uint64_t>(i)}, static_cast<std::uint64_t>(k));
    };
    auto label = static_cast<int>(draw(0) * 4);
    int top = label / 2 * 4 + static_cast<int>(draw(1) * 2), left = label % 2 * 4 + 1;
    Bytes one;
    for (int h = 0; h < 8; ++h)
      for (int w = 0; w < 8; ++w) {
        bool bright = h >= top && h < top + 3 && w >= left && w < left + 3;
        one.push_back(static_cast<std::uint8_t>((bright ? 180 : 20) + 60 * draw(2 + h * 8 + w)));
      }
    static int count[4] = {};
    std::string name = std::to_string(label) + "/" + std::to_string(count[label]++) + ".png";
    write_png(folder + "folders/" + name, PNG_FORMAT_GRAY, 8, 8, one);
    if (label < 2) write_png(folder + "two-classes/" + name, PNG_FORMAT_GRAY, 8, 8, one);
    pixels.insert(pixels.end(), one.begin(), one.end());
    labels.push_back(static_cast<std::uint8_t>(label));
  }
  write(folder + "images.idx", idx({240, 8, 8}, pixels));
  write(folder + "labels.idx", idx({240}, labels));
  write(folder + "five.idx", idx({5}, {0, 1, 2, 3, 0}));
  write(folder + "same.idx", idx({240}, Bytes(240, 0)));
  Bytes seven = labels;
  seven[100] = 7;
  write(folder + "seven.idx", idx({240}, seven));
  write(folder + "wide.idx", idx({5, 8, 12}, Bytes(5 * 8 * 12, 30)));
  write_png(folder + "wide.png", PNG_FORMAT_GRAY, 8, 12, Bytes(8 * 12, 30));
  write_png(folder + "color.png", PNG_FORMAT_RGB, 8, 8, Bytes(8 * 8 * 3, 90));
}

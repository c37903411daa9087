// One picture in every encoding that PNG has gives one set of bytes.
#include <array>
#include <cstdio>
#include <png.h>

#include "tests/catch.hpp"
#include "tests/tools/temporary_file.hpp"
#include "tools/data/images/png.hpp"

namespace test_encodings {

using namespace glim;

namespace {

using Pixel = std::array<int, 4>;  // red, green, blue, opacity
constexpr int kSide = 16;
constexpr int kPixels = kSide * kSide;

struct Encoding {
  int type, bits;
  bool interlaced;
  int gamma;  // gAMA's number, or 0
};

int channels_of(int type) {
  return type == PNG_COLOR_TYPE_RGB          ? 3
         : type == PNG_COLOR_TYPE_GRAY_ALPHA ? 2
         : type == PNG_COLOR_TYPE_RGB_ALPHA  ? 4
                                             : 1;
}

// False for a picture that the encoding cannot hold.
bool write(const std::string& path, const std::vector<Pixel>& picture, const Encoding& e) {
  const bool palette = e.type == PNG_COLOR_TYPE_PALETTE;
  const bool gray = e.type == PNG_COLOR_TYPE_GRAY || e.type == PNG_COLOR_TYPE_GRAY_ALPHA;
  if (e.bits < 8 ? e.type != PNG_COLOR_TYPE_GRAY && !palette : e.bits == 16 && palette)
    return false;
  std::vector<Pixel> colors;
  const int channels = channels_of(e.type), most = (1 << e.bits) - 1;
  std::vector<png_byte> rows(static_cast<std::size_t>(kSide * kSide * channels * 2));
  const int row_bytes = kSide * channels * e.bits / 8;
  for (int i = 0; i < kPixels; ++i) {
    const Pixel& p = picture[static_cast<std::size_t>(i)];
    if (gray && (p[0] != p[1] || p[0] != p[2])) return false;
    if (!palette && !(e.type & PNG_COLOR_MASK_ALPHA) && p[3] != 255) return false;
    auto at = std::find(colors.begin(), colors.end(), p);
    int number = static_cast<int>(at - colors.begin());
    if (at == colors.end()) colors.push_back(p);
    for (int c = 0; c < channels; ++c) {
      int v = palette ? number : gray ? p[c == 0 ? 0 : 3] : p[static_cast<std::size_t>(c)];
      if (!palette && v * most % 255 != 0) return false;
      if (!palette) v = v * most / 255;
      if (v > most) return false;
      for (int bit = 0; bit < e.bits; ++bit) {  // the highest first
        int place = (i % kSide * channels + c) * e.bits + bit;
        auto byte = static_cast<std::size_t>(i / kSide * row_bytes + place / 8);
        rows[byte] |= static_cast<png_byte>((v >> (e.bits - 1 - bit) & 1) << (7 - place % 8));
      }
    }
  }
  std::FILE* file = std::fopen(path.c_str(), "wb");
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_init_io(png, file);
  png_set_IHDR(png, info, kSide, kSide, e.bits, e.type,
               e.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (e.gamma > 0) png_set_gAMA_fixed(png, info, e.gamma);
  std::vector<png_color> table;
  std::vector<png_byte> opacity;
  for (const Pixel& p : colors) {
    table.push_back(
        {static_cast<png_byte>(p[0]), static_cast<png_byte>(p[1]), static_cast<png_byte>(p[2])});
    opacity.push_back(static_cast<png_byte>(p[3]));
  }
  if (palette) {
    png_set_PLTE(png, info, table.data(), static_cast<int>(table.size()));
    png_set_tRNS(png, info, opacity.data(), static_cast<int>(opacity.size()), nullptr);
  }
  std::vector<png_bytep> starts;
  for (int r = 0; r < kSide; ++r) starts.push_back(rows.data() + r * row_bytes);
  png_write_info(png, info);
  png_write_image(png, starts.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  std::fclose(file);
  return true;
}

}  // namespace

TEST_CASE("every encoding of a picture gives its bytes", "[images]") {
  test::TemporaryFile file;
  int written = 0;
  for (int step : {255, 85, 17, 1})  // between the values: 2, 4, 16, 256 of them
    for (bool color : {false, true})
      for (bool opaque : {true, false}) {
        std::vector<Pixel> picture;
        for (int i = 0; i < kPixels; ++i) {
          auto level = [&](int k) { return k % (255 / step + 1) * step; };
          picture.push_back({level(i), level(color ? 2 * i + 1 : i), level(color ? 3 * i : i),
                             opaque ? 255 : i * 7 % 4 * 85});
        }
        for (int type : {0, 2, 3, 4, 6})
          for (int bits : {1, 2, 4, 8, 16})
            for (bool interlaced : {false, true})
              for (int gamma : {0, 45455}) {
                if (!write(file.path(), picture, {type, bits, interlaced, gamma})) continue;
                ++written;
                for (Index channels : {1, 3}) {
                  if (color && channels == 1) continue;
                  CAPTURE(step, color, opaque, type, bits, interlaced, gamma, channels);
                  ImageSet set;
                  set.height = set.width = kSide;
                  set.channels = channels;
                  append_png(set, file.path());
                  std::vector<std::uint8_t> seen;  // planes
                  for (Index c = 0; c < channels; ++c)
                    for (const Pixel& p : picture)
                      seen.push_back(static_cast<std::uint8_t>(
                          (p[static_cast<std::size_t>(c)] * p[3] + 127) / 255));
                  CHECK(set.pixels == seen);
                }
              }
      }
  CHECK(written > 150);
}

}  // namespace test_encodings

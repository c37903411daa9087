#include <algorithm>
#include <cstring>
#include <vector>
#include <zlib.h>

#include "tensor/error.hpp"
#include "tests/fuzz/readers/readers.hpp"
#include "tools/data/images/idx.hpp"
#include "tools/data/images/png.hpp"

namespace glim::fuzz {
namespace {

std::uint32_t big_endian(const char* p) {
  std::uint32_t v = 0;
  for (int i = 0; i < 4; ++i) v = v << 8 | static_cast<unsigned char>(p[i]);
  return v;
}

// The file with the checksum of each chunk put right, so that a changed chunk is read.
std::string with_checksums(std::string_view bytes) {
  std::string png(bytes);
  for (std::size_t at = 8; at + 12 <= png.size();) {
    const std::size_t length = big_endian(png.data() + at);
    if (length > png.size() - at - 12) break;
    const auto sum = static_cast<std::uint32_t>(crc32(
        0, reinterpret_cast<const Bytef*>(png.data() + at + 4), static_cast<uInt>(length + 4)));
    for (int i = 0; i < 4; ++i)
      png[at + 8 + length + static_cast<std::size_t>(i)] = static_cast<char>(sum >> (24 - 8 * i));
    at += 12 + length;
  }
  return png;
}

void read_png(const std::string& path) {
  const PngHeader header = read_png_header(path);
  for (Index channels : {1, 3}) {
    ImageSet set;
    set.height = header.height;
    set.width = header.width;
    set.channels = channels;
    append_png(set, path);
    require(set.size() == 1 && header.height > 0 && header.width > 0,
            "an image is not of the size that its header says");
  }
}

}  // namespace

void read_idx_bytes(std::string_view bytes) {
  const std::string& path = memory_file(bytes);
  const IdxFile file = read_idx(path);
  std::size_t count = 1;
  for (Index e : file.extents) count *= static_cast<std::size_t>(e);
  require(count == file.values.size(), "an IDX file has not as many elements as its extents say");
  std::string plain = {0, 0, 8, static_cast<char>(file.extents.size())};
  for (Index e : file.extents)
    for (int shift = 24; shift >= 0; shift -= 8) plain += static_cast<char>(e >> shift & 255);
  plain.append(file.values.begin(), file.values.end());
  const IdxFile again = read_idx(memory_file(plain, 1));
  require(again.extents == file.extents && again.values == file.values,
          "written again, an IDX file reads differently");
  const ImageSet set = read_idx_images(path, "");
  require(set.size() > 0 && set.size() == file.extents[0],
          "a set of images is not of the size that its file says");
}

std::size_t unpacked_size(std::string_view bytes) {
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) return bytes.size();
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  static std::vector<Bytef> buffer(1 << 16);
  std::size_t size = 0;
  int code = Z_OK;
  while (code == Z_OK ||
         (code == Z_STREAM_END && stream.avail_in > 0 && inflateReset(&stream) == Z_OK)) {
    stream.next_out = buffer.data();
    stream.avail_out = static_cast<uInt>(buffer.size());
    code = inflate(&stream, Z_NO_FLUSH);
    size += buffer.size() - stream.avail_out;
  }
  inflateEnd(&stream);
  return std::max(size, bytes.size());
}

void read_png_bytes(std::string_view bytes) {
  attempt([](const std::string& png) { read_png(memory_file(png)); }, std::string(bytes));
  read_png(memory_file(with_checksums(bytes)));
}

// The size of an image whose pixels may all be there: deflate packs at most 1,032 bytes into one.
// libpng takes 8 MB for each of two chunks that are compressed themselves, whatever the file.
std::size_t png_size(std::string_view bytes) {
  constexpr std::size_t kChunks = 4'000'000;
  if (bytes.size() < 24) return kChunks + bytes.size();
  const std::size_t pixels =
      std::size_t{big_endian(bytes.data() + 16)} * big_endian(bytes.data() + 20);
  return kChunks + std::max(bytes.size(), std::min(3 * pixels, 24 * 1032 * bytes.size()));
}

}  // namespace glim::fuzz

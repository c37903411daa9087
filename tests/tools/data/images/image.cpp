// IDX and PNG files, good and bad, and the movements of augmentation.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <png.h>
#include <zlib.h>

#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/parallel.hpp"
#include "tests/catch.hpp"
#include "tests/tools/temporary_file.hpp"
#include "tools/data/images/augment.hpp"
#include "tools/data/images/idx.hpp"
#include "tools/data/images/png.hpp"

namespace test_image {

using namespace glim;
using test::message_of;
namespace fs = std::filesystem;

namespace {

std::string idx_bytes(const std::vector<std::uint32_t>& extents, const std::string& values,
                      int type = 8) {
  std::string s{0, 0, static_cast<char>(type), static_cast<char>(extents.size())};
  for (std::uint32_t e : extents)
    for (int shift : {24, 16, 8, 0}) s += static_cast<char>(e >> shift & 255);
  return s + values;
}
std::string ramp(std::size_t n) {
  std::string s;
  for (std::size_t i = 0; i < n; ++i) s += static_cast<char>(i * 7);
  return s;
}
std::string gzipped(const std::string& bytes) {
  test::TemporaryFile file;
  gzFile out = gzopen(file.path().c_str(), "wb");
  gzwrite(out, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(out);
  std::ifstream in(file.path(), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string refused_idx(const std::string& bytes) {
  test::TemporaryFile file(bytes);
  std::string text = message_of<FileError>([&] { read_idx(file.path()); });
  CHECK(contains(text, file.path() + ": "));
  CHECK_FALSE(contains(text, "\n"));
  return text;
}

class Folder {
 public:
  Folder() { fs::create_directories(path()); }
  std::string path() const { return holder_.path() + ".d"; }
  std::string make(const std::string& name) const {
    fs::create_directories(fs::path(path()) / name);
    return (fs::path(path()) / name).string();
  }
  ~Folder() { fs::remove_all(path()); }

 private:
  test::TemporaryFile holder_;
};

// bytes: (H, W, channels) in this libpng format
void write_png(const std::string& path, int format, int height, int width,
               const std::vector<std::uint8_t>& bytes) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.format = static_cast<png_uint_32>(format);
  image.height = static_cast<png_uint_32>(height);
  image.width = static_cast<png_uint_32>(width);
  REQUIRE(png_image_write_to_file(&image, path.c_str(), 0, bytes.data(), 0, nullptr));
}

}  // namespace

TEST_CASE("IDX files, plain and gzipped", "[image]") {
  std::string images = idx_bytes({3, 2, 4}, ramp(24)), labels = idx_bytes({3}, {2, 0, 1});
  for (bool zipped : {false, true}) {
    test::TemporaryFile x(zipped ? gzipped(images) : images), y(zipped ? gzipped(labels) : labels);
    ImageSet set = read_idx_images(x.path(), y.path());
    CHECK(set.size() == 3);
    CHECK(set.channels == 1);
    CHECK(set.height == 2);
    CHECK(set.width == 4);
    CHECK(set.labels == std::vector<Index>{2, 0, 1});
    CHECK(set.classes == std::vector<std::string>{"0", "1", "2"});
    Tensor t = images_at(set, {2, 0});
    CHECK(t.shape() == Shape{2, 1, 2, 4});
    CHECK(t.at<float>({0, 0, 0, 1}) == static_cast<float>(17 * 7) / 255);
    CHECK(t.at<float>({1, 0, 1, 3}) == static_cast<float>(7 * 7) / 255);
    CHECK(read_idx_images(x.path(), "").labels.empty());
  }
}

TEST_CASE("IDX files that are refused, in one line", "[image]") {
  std::string good = idx_bytes({3, 2, 4}, ramp(24));
  CHECK(contains(refused_idx(""), "is not an IDX file"));
  CHECK(contains(refused_idx("P5 28 28"), "two bytes of 0"));
  CHECK(
      contains(refused_idx(idx_bytes({3}, "abc", 13)), "IDX type 13; they must be bytes, type 8"));
  CHECK(contains(refused_idx(idx_bytes({}, "")), "has 0 dimensions"));
  CHECK(contains(refused_idx(good.substr(0, 10)), "ends within its header"));
  CHECK(contains(refused_idx(good.substr(0, 30)), "promises 3 x 2 x 4 = 24 bytes"));
  CHECK(contains(refused_idx(good + "x"), "more than the 3 x 2 x 4 bytes"));
  CHECK(contains(refused_idx(idx_bytes({4000000000u, 4000000000u}, "")), "which no data set has"));
  CHECK(
      contains(refused_idx(idx_bytes({0, 4294967295u, 4294967295u}, "")), "which no data set has"));
  CHECK(contains(refused_idx(idx_bytes({60000, 28, 28}, ramp(100))),
                 "more than this file can contain"));
  // Compressed: broken off anywhere, a changed byte, a header that promises too much or too little.
  std::string random;
  for (int i = 0; i < 4000; ++i)
    random += static_cast<char>(word_at({1, 1}, static_cast<std::uint64_t>(i)));
  std::string zipped = gzipped(idx_bytes({10, 20, 20}, random));
  for (std::size_t cut : {20ul, 200ul, zipped.size() / 2, zipped.size() - 4})
    CHECK(contains(refused_idx(zipped.substr(0, cut)), "its gzip data end early"));
  std::string damaged = zipped;
  damaged[damaged.size() / 2] ^= 0x55;
  CHECK(contains(refused_idx(damaged), "its gzip data are damaged"));
  std::string checksum = zipped;
  checksum[checksum.size() - 6] ^= 1;
  CHECK(contains(refused_idx(checksum), "its gzip data are damaged"));
  CHECK(contains(refused_idx(gzipped(idx_bytes({10, 20, 21}, random))), "4000 are there"));
  CHECK(contains(refused_idx(gzipped(idx_bytes({10, 20, 19}, random))), "more than the"));
  CHECK(contains(refused_idx(gzipped(idx_bytes({60000, 9999}, "abc"))), "can contain"));
  std::string folder = fs::temp_directory_path().string();
  CHECK(contains(message_of<FileError>([&] { read_idx(folder); }), folder));
  CHECK(contains(message_of<FileError>([&] { read_idx("/nowhere/x"); }), "/nowhere/x"));
}

TEST_CASE("images and labels that do not go together", "[image]") {
  test::TemporaryFile images(idx_bytes({3, 2, 4}, ramp(24))), two(idx_bytes({2}, "ab")),
      none(idx_bytes({0, 2, 4}, "")), flat(idx_bytes({3, 8}, ramp(24)));
  auto problem = [](const std::string& x, const std::string& y) {
    return message_of<Error>([&] { read_idx_images(x, y); });
  };
  CHECK(contains(problem(images.path(), two.path()), "has 2 labels, " + images.path() + " has 3"));
  CHECK(contains(problem(none.path(), ""), "holds no images"));
  CHECK(contains(problem(flat.path(), ""), "an array of 3 x 8; images must be"));
  CHECK(contains(problem(images.path(), images.path()), "labels must be"));
}

TEST_CASE("PNG images of every kind", "[image]") {
  Folder folder;
  std::string file = folder.path() + "/x.png";
  auto read = [&](Index channels) {
    ImageSet set;
    set.channels = channels;
    set.height = 1;
    set.width = 2;
    append_png(set, file);
    return set.pixels;
  };
  using Bytes = std::vector<std::uint8_t>;
  write_png(file, PNG_FORMAT_GRAY, 1, 2, {10, 200});
  CHECK_FALSE(read_png_header(file).color);
  CHECK(read(1) == Bytes{10, 200});
  CHECK(read(3) == Bytes{10, 200, 10, 200, 10, 200});  // planes
  write_png(file, PNG_FORMAT_RGB, 1, 2, {1, 2, 3, 250, 251, 252});
  CHECK(read_png_header(file).color);
  CHECK(read(3) == Bytes{1, 250, 2, 251, 3, 252});
  write_png(file, PNG_FORMAT_GA, 1, 2, {100, 255, 100, 0});  // transparent is black
  CHECK(read(1) == Bytes{100, 0});
  std::vector<std::uint8_t> wide(2 * 2);
  write_png(file, PNG_FORMAT_RGBA, 1, 2, {9, 8, 7, 255, 9, 8, 7, 0});
  CHECK(read(3) == Bytes{9, 0, 8, 0, 7, 0});
}

TEST_CASE("a PNG's header is believed as far as its file can bear it out", "[image]") {
  Folder folder;
  const std::string file = folder.path() + "/x.png";
  write_png(file, PNG_FORMAT_GRAY, 1, 2, {10, 200});
  std::ifstream in(file, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  for (std::size_t at : {16, 20}) bytes[at + 2] = 0x40;  // width and height: 16,384 and more
  bytes[19] = bytes[23] = 0;
  const auto sum = crc32(0, reinterpret_cast<const Bytef*>(bytes.data() + 12), 17);
  for (std::size_t i = 0; i < 4; ++i) bytes[29 + i] = static_cast<char>(sum >> (24 - 8 * i));
  std::ofstream(file, std::ios::binary) << bytes;
  CHECK(contains(message_of<FileError>([&] { read_png_header(file); }),
                 "x.png: is truncated: its header promises 16384 x 16384 pixels"));
  // All of one colour it is packed as well as it can be.
  write_png(file, PNG_FORMAT_GRAY, 2000, 2000, std::vector<std::uint8_t>(4'000'000, 7));
  CHECK(read_png_header(file).height == 2000);
}

TEST_CASE("a PNG's chunk that reaches beyond the file is refused", "[image]") {
  Folder folder;
  const std::string file = folder.path() + "/x.png";
  write_png(file, PNG_FORMAT_GRAY, 1, 2, {10, 200});
  std::ifstream in(file, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  bytes.insert(33, std::string("\x0a\0\0\7tEXtTitle\0abc", 16));
  for (std::size_t keep : {bytes.size(), std::size_t{33 + 8}}) {  // cut within the chunk's end, too
    std::ofstream(file, std::ios::binary) << bytes.substr(0, keep);
    CHECK(contains(message_of<FileError>([&] { read_png_header(file); }),
                   "x.png: cannot be read as a PNG image: "));
  }
  // Bytes behind the image do not count.
  write_png(file, PNG_FORMAT_GRAY, 1, 2, {10, 200});
  std::ofstream(file, std::ios::binary | std::ios::app) << "a note of a camera";
  CHECK(read_png_header(file).width == 2);
}

TEST_CASE("a folder of PNGs for each class", "[image]") {
  Folder folder;
  std::string cat = folder.make("cat"), dog = folder.make("dog");
  auto one = [](std::uint8_t v) { return std::vector<std::uint8_t>(6, v); };
  write_png(cat + "/b.png", PNG_FORMAT_GRAY, 2, 3, one(2));
  write_png(cat + "/a.PNG", PNG_FORMAT_GRAY, 2, 3, one(1));
  write_png(cat + "/c.png", PNG_FORMAT_GRAY, 2, 3, one(3));
  write_png(dog + "/a.png", PNG_FORMAT_GRAY, 2, 3, one(11));
  std::ofstream(cat + "/notes.txt") << "left out";
  std::ofstream(folder.path() + "/README") << "not a class";
  folder.make(".thumbnails");
  ImageSet set = read_png_folders(folder.path());
  CHECK(set.classes == std::vector<std::string>{"cat", "dog"});
  CHECK(set.labels == std::vector<Index>{0, 1, 0, 0});  // alternating while there are any
  CHECK(set.channels == 1);
  CHECK(set.height == 2);
  CHECK(set.width == 3);
  CHECK(set.left_out == 1);
  CHECK(set.pixels[0] == 1);
  CHECK(set.pixels[6] == 11);
  CHECK(set.pixels[12] == 2);
  CHECK(contains(set.files[1], "dog"));

  auto problem = [&](const ImageSet* like = nullptr) {
    std::string text = message_of<FileError>([&] { read_png_folders(folder.path(), like); });
    CHECK_FALSE(contains(text, "\n"));
    return text;
  };
  // Another set is read as the first was.
  Folder other;
  write_png(other.make("dog") + "/z.png", PNG_FORMAT_RGB, 2, 3, std::vector<std::uint8_t>(18, 77));
  ImageSet second = read_png_folders(other.path(), &set);
  CHECK(second.labels == std::vector<Index>{1});
  CHECK(second.channels == 1);
  CHECK(second.pixels == std::vector<std::uint8_t>(6, 77));
  std::string text = message_of<FileError>([&] { read_png_folders(other.path() + "/nothing"); });
  CHECK(contains(text, "nothing"));
  Folder bird;
  write_png(bird.make("bird") + "/z.png", PNG_FORMAT_GRAY, 2, 3, one(1));
  CHECK(contains(message_of<FileError>([&] { read_png_folders(bird.path(), &set); }),
                 "bird: is the folder of a class that the model does not have"));

  write_png(dog + "/b.png", PNG_FORMAT_GRAY, 3, 2, one(1));
  CHECK(contains(problem(), "dog/b.png: is an image of 3 x 2; it must be 2 x 3"));
  fs::remove(dog + "/b.png");
  write_png(dog + "/b.png", PNG_FORMAT_RGB, 2, 3, std::vector<std::uint8_t>(18, 5));
  CHECK(read_png_folders(folder.path()).channels == 3);
  // Broken files.
  std::ifstream in(dog + "/b.png", std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  for (std::size_t keep : {0ul, 5ul, 20ul, bytes.size() - 20}) {
    std::ofstream(dog + "/b.png", std::ios::binary) << bytes.substr(0, keep);
    CHECK(contains(problem(), "dog/b.png: cannot be read as a PNG image"));
  }
  fs::remove_all(dog);
  folder.make("dog");
  CHECK(contains(problem(), "dog: holds no PNG image"));
  fs::remove_all(dog);
  fs::remove_all(cat);
  CHECK(contains(problem(), "holds no folders of images"));
}

TEST_CASE("augmentation moves images within its bounds", "[image]") {
  Tensor x = zeros({64, 2, 9, 9});
  select(select(x, 3, 4), 2, 4).fill_(1);  // one bright pixel in the middle
  CHECK(same_bits(augment(x, {}, {1, 1}), x));
  Tensor y = augment(x, {.shift = 2}, {1, 1});
  CHECK_FALSE(same_bits(y, x));
  CHECK(
      same_bits(select(y, 1, 0).contiguous(), select(y, 1, 1).contiguous()));  // channels together
  double spread = 0;
  for (Index b = 0; b < 64; ++b) {
    double mass = 0, down = 0, right = 0;
    for (Index h = 0; h < 9; ++h)
      for (Index w = 0; w < 9; ++w) {
        double v = y.at<float>({b, 0, h, w});
        mass += v;
        down += v * static_cast<double>(h - 4);
        right += v * static_cast<double>(w - 4);
      }
    CHECK(mass == Approx(1).epsilon(1e-5));  // bilinear weights add up to 1
    CHECK(std::abs(down) <= 2.0001);
    CHECK(std::abs(right) <= 2.0001);
    spread += down * down + right * right;
  }
  CHECK(spread / 64 == Approx(2 * 4.0 / 3).epsilon(0.3));  // variance of ±2, twice
  // A turn about the centre leaves the centre, and moves what is off it along a circle.
  Tensor corner = zeros({1, 1, 9, 9});
  select(select(corner, 3, 8), 2, 4).fill_(1);
  Tensor turned = augment(corner, {.rotation = 30}, {1, 7});
  double angle = (2 * uniform_at({1, 7}, 0) - 1) * 30 * 3.14159265358979323846 / 180;
  double down = 0, right = 0, mass = 0;
  for (Index h = 0; h < 9; ++h)
    for (Index w = 0; w < 9; ++w) {
      double v = turned.at<float>({0, 0, h, w});
      mass += v;
      down += v * static_cast<double>(h - 4);
      right += v * static_cast<double>(w - 4);
    }
  CHECK(std::abs(down / mass - -4 * std::sin(angle)) < 0.6);
  CHECK(std::abs(right / mass - 4 * std::cos(angle)) < 0.6);
  // The images are the same for any number of threads.
  int before = num_threads();
  Tensor many = uniform({70, 1, 9, 9}, 0, 1, {3, 3});
  set_num_threads(1);
  Tensor one = augment(many, {.shift = 1.5, .rotation = 15}, {2, 2});
  set_num_threads(5);
  CHECK(same_bits(augment(many, {.shift = 1.5, .rotation = 15}, {2, 2}), one));
  set_num_threads(before);
}

}  // namespace test_image

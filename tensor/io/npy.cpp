#include "tensor/io/npy.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "tensor/error.hpp"
#include "tensor/io/atomic_file.hpp"
#include "tensor/io/input_file.hpp"

namespace glim {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct Header {
  std::string descr;
  bool fortran;
  Shape shape;
};

// The one dictionary of three names that a header may hold.
class HeaderParser {
 public:
  HeaderParser(const InputFile& file, std::string text) : file_(file), text_(std::move(text)) {}

  Header parse() {
    std::optional<std::string> descr;
    std::optional<bool> fortran;
    std::optional<Shape> shape;
    expect('{');
    while (!accept('}')) {
      std::string name = quoted();
      expect(':');
      if (name == "descr" && !descr)
        descr = quoted();
      else if (name == "fortran_order" && !fortran)
        fortran = boolean();
      else if (name == "shape" && !shape)
        shape = tuple();
      else
        fail("an unknown or repeated name");
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_blanks();
    if (at_ != text_.size()) fail("text after the dictionary");
    if (!descr || !fortran || !shape) fail("descr, fortran_order or shape is missing");
    return {*descr, *fortran, *shape};
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    file_.fail("header: " + problem + " at byte " + std::to_string(at_));
  }
  void skip_blanks() { at_ = std::min(text_.find_first_not_of(" \t\n\r", at_), text_.size()); }
  bool accept(char c) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(std::string("expected '") + c + "'");
  }
  std::string quoted() {
    skip_blanks();
    if (text_.compare(at_, 1, "[") == 0) fail("record arrays are not supported");
    char quote = at_ < text_.size() ? text_[at_] : '\0';
    std::size_t end = quote == '\'' || quote == '"' ? text_.find(quote, at_ + 1) : text_.npos;
    if (end == text_.npos) fail("expected a string");
    std::string s = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return s;
  }
  bool boolean() {
    skip_blanks();
    for (bool value : {true, false}) {
      std::string_view word = value ? "True" : "False";
      if (text_.compare(at_, word.size(), word) != 0) continue;
      at_ += word.size();
      return value;
    }
    fail("expected True or False");
  }
  Shape tuple() {
    Shape shape;
    expect('(');
    while (!accept(')')) {
      skip_blanks();
      Index extent = 0;
      const char *first = text_.data() + at_, *last = text_.data() + text_.size();
      auto [end, error] = std::from_chars(first, last, extent);
      if (error != std::errc{} || extent < 0) fail("expected an extent");
      if (shape.rank() == kMaxRank) fail("a rank above " + std::to_string(kMaxRank));
      shape.push_back(extent);
      at_ += end - first;
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return shape;
  }

  const InputFile& file_;
  std::string text_;
  std::size_t at_ = 0;
};

Encoding encoding_of(const InputFile& file, const std::string& descr) {
  using E = Encoding;
  if (descr == "|b1" || descr == "<b1" || descr == ">b1") return {E::Bool, 1};
  bool ordered = descr.size() == 3 && std::string_view("<>=|").find(descr[0]) != descr.npos;
  std::string kind = ordered ? descr.substr(1) : "";
  bool big = ordered && descr[0] == '>';
  if (kind == "f2" || kind == "f4" || kind == "f8")
    return {E::Float, static_cast<std::size_t>(kind[1] - '0'), big};
  if (kind == "i1" || kind == "i2" || kind == "i4" || kind == "i8")
    return {E::Signed, static_cast<std::size_t>(kind[1] - '0'), big};
  if (kind == "u1" || kind == "u2" || kind == "u4")
    return {E::Unsigned, static_cast<std::size_t>(kind[1] - '0'), big};
  bool shown = std::ranges::all_of(descr, [](char c) { return c >= ' ' && c <= '~'; });
  file.fail("dtype '" + (shown ? descr : "?") + "' is not supported");
}

}  // namespace

Tensor read_npy(const std::string& path) {
  InputFile file(path);
  if (file.size() < 10 || file.read_text(0, 6) != kMagic) file.fail("is not a .npy file");
  std::string version = file.read_text(6, 2);
  int major = version[0], minor = version[1];
  if (major < 1 || major > 3 || minor != 0)
    file.fail("version " + std::to_string(major) + "." + std::to_string(minor) +
              " of the .npy format is unknown");
  std::size_t width = major == 1 ? 2 : 4;
  if (file.size() < 8 + width) file.fail("is truncated in its header");
  std::string length = file.read_text(8, width);
  std::uint64_t n = 0;
  for (std::size_t i = width; i-- > 0;) n = n << 8 | static_cast<unsigned char>(length[i]);
  if (n > 65536)
    file.fail("header of " + std::to_string(n) + " bytes exceeds the maximum of 64 KiB");
  if (n > file.size() - 8 - width) file.fail("is truncated in its header");
  Header header = HeaderParser(file, file.read_text(8 + width, n)).parse();

  Encoding encoding = encoding_of(file, header.descr);
  Index elements = 0;
  try {
    elements = checked_numel(header.shape, "npy");
  } catch (const ShapeError& e) {
    file.fail(e.problem());
  }
  std::uint64_t data_at = 8 + width + n, have = file.size() - data_at;
  std::uint64_t need = static_cast<std::uint64_t>(elements) * encoding.size;
  if (have != need)
    file.fail("shape " + to_string(header.shape) + " of '" + header.descr + "' needs " +
              std::to_string(need) + " bytes, the file holds " + std::to_string(have));
  Shape stored = header.shape;
  if (header.fortran)
    for (int i = 0; i < stored.rank(); ++i) stored[i] = header.shape[stored.rank() - 1 - i];
  Tensor x = read_elements(file, data_at, encoding, stored, "the array");
  if (!header.fortran) return x;
  Dims reversed;
  for (int i = x.rank() - 1; i >= 0; --i) reversed.push_back(i);
  return permute(x, reversed).contiguous();
}

void write_npy(const std::string& path, const Tensor& x) {
  if (!x.defined()) throw FileError(path, "the tensor is undefined");
  std::string_view descr = x.dtype() == DType::Float32   ? "<f4"
                           : x.dtype() == DType::Float64 ? "<f8"
                           : x.dtype() == DType::Int64   ? "<i8"
                                                         : "|b1";
  std::string header = "{'descr': '" + std::string(descr) +
                       "', 'fortran_order': False, 'shape': " + to_string(x.shape()) + ", }";
  // NumPy leaves room for a first extent of 21 digits, so that an array may grow in place, and
  // pads so that the data begin at a multiple of 64.
  if (x.rank() > 0) header.append(21 - std::to_string(x.shape()[0]).size(), ' ');
  header.append(64 - (10 + header.size() + 1) % 64, ' ');
  header += '\n';
  Tensor c = x.contiguous();
  write_file_atomically(path, [&](FileSink& sink) {
    sink.write(std::string(kMagic) + '\1' + '\0');
    sink.write(
        std::string{static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)});
    sink.write(header);
    const std::byte* p = c.storage().data() + c.offset() * size_of(c.dtype());
    sink.write(p, c.numel() * size_of(c.dtype()));
  });
}

}  // namespace glim

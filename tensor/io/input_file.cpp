#include "tensor/io/input_file.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "tensor/error.hpp"

namespace glim {
namespace {

template <class U>
U load(const std::byte* p, bool big_endian) {
  U v = 0;
  for (std::size_t i = 0; i < sizeof(U); ++i) {
    auto b = static_cast<U>(std::to_integer<std::uint8_t>(p[big_endian ? sizeof(U) - 1 - i : i]));
    v = static_cast<U>(v | static_cast<U>(b << (8 * i)));
  }
  return v;
}

// IEEE binary16 to binary32: every value has an exact counterpart.
float from_half(std::uint16_t h) {
  std::uint32_t sign = std::uint32_t{h} >> 15 << 31, exponent = h >> 10 & 31, fraction = h & 1023;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000u | fraction << 13);
  if (exponent == 0) {  // subnormal: fraction · 2^-24
    float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

// y[at ...] = the n elements from `from` on.
void convert_elements(const std::byte* from, const Encoding& e, Tensor& y, Index at, Index n) {
  auto run = [&]<class T, class U>(T, U, const auto& convert) {  // U has an element's size
    T* to = y.data<T>() + at;
    for (Index i = 0; i < n; ++i)
      to[i] = static_cast<T>(convert(load<U>(from + i * e.size, e.big_endian)));
  };
  auto integer = [&]<class U>(U unsigned_type) {
    if (e.kind == Encoding::Signed)
      run(Index(), unsigned_type, [](U u) { return static_cast<std::make_signed_t<U>>(u); });
    else
      run(Index(), unsigned_type, [](U u) { return u; });
  };
  const bool floating = e.kind == Encoding::Float;
  if (e.kind == Encoding::Brain)
    run(float(), std::uint16_t(), [](std::uint32_t u) { return std::bit_cast<float>(u << 16); });
  else if (e.size == 8)
    floating ? run(double(), std::uint64_t(), [](auto u) { return std::bit_cast<double>(u); })
             : integer(std::uint64_t());
  else if (e.size == 4)
    floating ? run(float(), std::uint32_t(), [](auto u) { return std::bit_cast<float>(u); })
             : integer(std::uint32_t());
  else if (e.size == 2)
    floating ? run(float(), std::uint16_t(), from_half) : integer(std::uint16_t());
  else
    integer(std::uint8_t());
}

}  // namespace

InputFile::InputFile(const std::string& path) : path_(path) {
  fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe must not block here
  if (fd_ < 0) fail(std::string("cannot open: ") + std::strerror(errno));
  struct stat s {};
  bool regular = ::fstat(fd_, &s) == 0 && S_ISREG(s.st_mode);
  if (!regular) {
    ::close(fd_);
    fail(S_ISDIR(s.st_mode) ? "is a directory" : "is not a regular file");
  }
  size_ = static_cast<std::uint64_t>(s.st_size);
  char byte;
  if (size_ == 0 && ::pread(fd_, &byte, 1, 0) > 0) {
    ::close(fd_);
    fail("does not say how long it is, as files of /proc: copy it, and name the copy");
  }
}

InputFile::~InputFile() { ::close(fd_); }

void InputFile::fail(const std::string& problem) const { throw FileError(path_, problem); }

void InputFile::read(std::uint64_t at, void* into, std::size_t bytes) const {
  auto p = static_cast<char*>(into);
  while (bytes > 0) {
    ssize_t n =
        ::pread(fd_, p, std::min<std::size_t>(bytes, std::size_t{1} << 30), static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(std::string("cannot read: ") + std::strerror(errno));
    if (n == 0) fail("is truncated: it ends at byte " + std::to_string(at));
    p += n;
    at += static_cast<std::uint64_t>(n);
    bytes -= n;
  }
}

std::string InputFile::read_text(std::uint64_t at, std::size_t bytes) const {
  std::string s(bytes, '\0');
  read(at, s.data(), bytes);
  return s;
}

DType dtype_of_encoding(const Encoding& e) {
  switch (e.kind) {
    case Encoding::Float:
      return e.size == 8 ? DType::Float64 : DType::Float32;
    case Encoding::Brain:
      return DType::Float32;
    case Encoding::Signed:
    case Encoding::Unsigned:
      return DType::Int64;
    case Encoding::Bool:
      break;
  }
  return DType::Bool;
}

Tensor read_elements(const InputFile& file, std::uint64_t at, const Encoding& encoding,
                     const Shape& shape, std::string_view what) {
  Tensor y = empty(shape, dtype_of_encoding(encoding));
  Index n = y.numel();
  if (n == 0) return y;
  auto bytes = n * encoding.size;
  std::byte* storage = y.storage().data();
  constexpr bool native_is_big = std::endian::native == std::endian::big;
  bool native = encoding.size == size_of(y.dtype()) &&
                (encoding.size == 1 || encoding.big_endian == native_is_big);
  if (encoding.kind == Encoding::Bool) {
    file.read(at, storage, bytes);
    bool clean =
        std::all_of(storage, storage + bytes, [](std::byte b) { return b <= std::byte{1}; });
    if (!clean) file.fail(std::string(what) + " holds a bool that is neither 0 nor 1");
  } else if (native) {
    file.read(at, storage, bytes);
  } else {
    constexpr Index kChunk = 1 << 17;
    std::vector<std::byte> chunk(std::min(n, kChunk) * encoding.size);
    for (Index i = 0; i < n; i += kChunk) {
      Index length = std::min(kChunk, n - i);
      file.read(at + static_cast<std::uint64_t>(i) * encoding.size, chunk.data(),
                length * encoding.size);
      convert_elements(chunk.data(), encoding, y, i, length);
    }
  }
  return y;
}

}  // namespace glim

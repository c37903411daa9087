#include "tensor/io/checksum.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <vector>

#include "tensor/parallel.hpp"

namespace glim {
namespace {

using Word = std::uint64_t;
constexpr Word kPrime1 = 0x9E3779B185EBCA87, kPrime2 = 0xC2B2AE3D27D4EB4F,
               kPrime3 = 0x165667B19E3779F9, kPrime4 = 0x85EBCA77C2B2AE63,
               kPrime5 = 0x27D4EB2F165667C5;

// The next bytes, little endian; moves on.
template <class T>
Word next(const unsigned char*& p) {
  T word;
  std::memcpy(&word, p, sizeof word);
  p += sizeof word;
  return word;
}

Word mixed(Word lane, Word word) { return std::rotl(lane + word * kPrime2, 31) * kPrime1; }

// The hash of the hashes of blocks, which several threads compute.
Word hash_of(const std::byte* bytes, std::size_t n, Word seed) {
  constexpr std::size_t kBlock = std::size_t{1} << 20;
  std::vector<Word> blocks((n + kBlock - 1) / kBlock);
  parallel_each(std::ssize(blocks), [&](Index i) {
    const std::size_t offset = static_cast<std::size_t>(i) * kBlock;
    blocks[static_cast<std::size_t>(i)] = xxh64(bytes + offset, std::min(kBlock, n - offset));
  });
  return xxh64(blocks.data(), blocks.size() * sizeof(Word), seed);
}

}  // namespace

std::uint64_t xxh64(const void* bytes, std::size_t n, std::uint64_t seed) {
  const auto* p = static_cast<const unsigned char*>(bytes);
  const auto* const end = p + n;
  Word hash = seed + kPrime5;
  if (n >= 32) {
    Word a = seed + kPrime1 + kPrime2, b = seed + kPrime2, c = seed, d = seed - kPrime1;
    while (end - p >= 32) {
      a = mixed(a, next<Word>(p));
      b = mixed(b, next<Word>(p));
      c = mixed(c, next<Word>(p));
      d = mixed(d, next<Word>(p));
    }
    hash = std::rotl(a, 1) + std::rotl(b, 7) + std::rotl(c, 12) + std::rotl(d, 18);
    for (const Word lane : {a, b, c, d}) hash = (hash ^ mixed(0, lane)) * kPrime1 + kPrime4;
  }
  hash += n;
  while (end - p >= 8) hash = std::rotl(hash ^ mixed(0, next<Word>(p)), 27) * kPrime1 + kPrime4;
  if (end - p >= 4)
    hash = std::rotl(hash ^ next<std::uint32_t>(p) * kPrime1, 23) * kPrime2 + kPrime3;
  while (p < end) hash = std::rotl(hash ^ next<unsigned char>(p) * kPrime5, 11) * kPrime1;
  hash = (hash ^ hash >> 33) * kPrime2;
  hash = (hash ^ hash >> 29) * kPrime3;
  return hash ^ hash >> 32;
}

std::string checksum_of(const StateDict& tensors,
                        const std::map<std::string, std::string>& metadata) {
  Word hash = 0;
  auto take = [&](const auto& part) {
    hash = xxh64(part.data(), part.size() * sizeof *part.data(), hash);
  };
  for (const auto& [key, text] : metadata) {
    if (key == kChecksum) continue;
    take(key);
    take(text);
  }
  for (const auto& [name, x] : tensors) {
    take(name);
    take(std::string(name_of(x.dtype())));
    take(x.shape().vec());
    const Tensor c = x.contiguous();
    const std::size_t size = size_of(c.dtype());
    hash = hash_of(c.storage().data() + c.offset() * size, c.numel() * size, hash);
  }
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return std::string("xxh64:") + digits;
}

std::map<std::string, std::string> with_checksum(const StateDict& tensors,
                                                 std::map<std::string, std::string> metadata) {
  metadata[kChecksum] = checksum_of(tensors, metadata);
  return metadata;
}

}  // namespace glim

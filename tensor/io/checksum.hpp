// A checksum of tensors and metadata, which says that a file holds what was written.
//
// It is an entry of the metadata: "glim_checksum": "xxh64:" and 16 digits of XXH64 (xxhash.com). Each part
// is hashed with the hash of the parts before it as seed, at first 0: of each entry of the metadata the key
// and the text, then of each tensor its name, dtype ("float32"), extents (int64), and the hashes (seed 0)
// of its elements' blocks of 1 MiB, all in order of the names. The order of a file does not count.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tensor/tensor.hpp"

namespace glim {

inline constexpr const char* kChecksum = "glim_checksum";

std::uint64_t xxh64(const void* bytes, std::size_t n, std::uint64_t seed = 0);

// The checksum of the tensors and of all metadata but the checksum itself.
std::string checksum_of(const StateDict& tensors,
                        const std::map<std::string, std::string>& metadata);
// The metadata with the checksum.
std::map<std::string, std::string> with_checksum(const StateDict& tensors,
                                                 std::map<std::string, std::string> metadata);

}  // namespace glim

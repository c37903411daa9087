// safetensors files (github.com/huggingface/safetensors, "Format"):
//
//   8 bytes   N, unsigned, little endian
//   N bytes   JSON: {"NAME": {"dtype": "F32", "shape": [2, 3], "data_offsets": [BEGIN, END]}, ...,
//                    "__metadata__": {"KEY": "TEXT", ...}}, padded with blanks
//   the rest  the elements, row-major, little endian; offsets count from here
//
// Nothing in a file is trusted before it is checked: the header is within the file and below
// 100 MB and is valid JSON without repeated names, every offset is within the data, no two
// tensors overlap, no byte of the data belongs to none, and every shape's product, times the size
// of an element, is what its offsets span. Whatever a header says, reading it takes about a dozen times
// its size of memory at most.
//
// F32, F64, I64 and BOOL are Glim's dtypes. On reading, F16 and BF16 become float32 and the
// integers U8 I8 U16 I16 U32 I32 become int64, all without loss; others are refused by name.
//
// Writing is atomic and durable (tensor/io/atomic_file.hpp) and gives the same bytes for the same
// tensors: wider elements come first, so that each is at a multiple of its size, and by name
// within a size; the data begin at a multiple of 8.
//
// A checksum in the metadata (tensor/io/checksum.hpp) is compared with what is read, and left out of it. A file without
// one is read as it is.
//
// Errors: FileError "PATH: ..." that names the tensor.
#pragma once

#include <deque>
#include <map>
#include <string>

#include "tensor/io/input_file.hpp"
#include "tensor/tensor.hpp"

namespace glim {

struct SafeTensors {
  StateDict tensors;
  std::map<std::string, std::string> metadata;
};

SafeTensors read_safetensors(const std::string& path);

void write_safetensors(const std::string& path, const StateDict& tensors,
                       const std::map<std::string, std::string>& metadata = {});

// The member of a header that names no tensor.
inline constexpr std::string_view kSafeTensorsMetadata = "__metadata__";

// How a file stores elements.
struct Encoding {
  DType dtype;       // which they become
  std::size_t size;  // bytes of one as stored
  // Makes elements begin ... begin + n - 1 of a tensor from stored ones; null where both are the same.
  void (*widen)(const std::byte* source, const Tensor& target, Index begin, Index n) = nullptr;
};
// The entries of a header, without the elements: in order of position, all checks made.
struct SafeTensorsEntry {
  std::string name, dtype;  // as written: "F32"
  Encoding encoding;
  Shape shape;
  std::uint64_t begin, end;  // bytes from the start of the data
};
struct SafeTensorsHeader {
  std::deque<SafeTensorsEntry> entries;
  std::map<std::string, std::string> metadata;
  std::uint64_t data_at = 0;  // bytes from the start of the file
};
SafeTensorsHeader read_safetensors_header(const InputFile& file);

}  // namespace glim

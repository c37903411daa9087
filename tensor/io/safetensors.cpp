#include "tensor/io/safetensors.hpp"

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>

#include "tensor/error.hpp"
#include "tensor/io/atomic_file.hpp"
#include "tensor/io/checksum.hpp"

namespace glim {
namespace {

std::string_view written_dtype(DType t) {
  return t == DType::Float32   ? "F32"
         : t == DType::Float64 ? "F64"
         : t == DType::Int64   ? "I64"
                               : "BOOL";
}

bool is_utf8(std::string_view text) {
  try {
    nlohmann::json(text).dump();
    return true;
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

// The elements from byte `offset` of the file on.
Tensor read_elements(const InputFile& file, std::uint64_t offset, const SafeTensorsEntry& e) {
  Tensor y = empty(e.shape, e.encoding.dtype);
  const Index n = y.numel();
  const std::size_t size = e.encoding.size;
  std::byte* storage = y.storage().data();
  if (e.encoding.widen) {
    constexpr Index kChunk = 1 << 17;
    std::vector<std::byte> chunk(std::min(n, kChunk) * size);
    for (Index i = 0; i < n; i += kChunk) {
      Index length = std::min(kChunk, n - i);
      file.read(offset + static_cast<std::uint64_t>(i) * size, chunk.data(), length * size);
      e.encoding.widen(chunk.data(), y, i, length);
    }
  } else if (n > 0) {
    file.read(offset, storage, n * size);
  }
  if (y.dtype() == DType::Bool &&
      !std::all_of(storage, storage + n, [](std::byte b) { return b <= std::byte{1}; }))
    file.fail("tensor " + nlohmann::json(e.name).dump() + " holds a bool that is neither 0 nor 1");
  return y;
}

}  // namespace

SafeTensors read_safetensors(const std::string& path) {
  InputFile file(path);
  SafeTensorsHeader header = read_safetensors_header(file);
  SafeTensors out;
  for (const SafeTensorsEntry& e : header.entries)
    out.tensors[e.name] = read_elements(file, header.data_at + e.begin, e);
  out.metadata = std::move(header.metadata);
  const auto checksum = out.metadata.extract(kChecksum);
  if (checksum && checksum.mapped() != checksum_of(out.tensors, out.metadata))
    file.fail(std::string("does not match its ") + kChecksum +
              ": it is damaged, or another program changed it; use another copy, or leave that "
              "entry of the metadata out");
  return out;
}

void write_safetensors(const std::string& path, const StateDict& tensors,
                       const std::map<std::string, std::string>& metadata) {
  static_assert(std::endian::native == std::endian::little,
                "elements are read and written as they are in memory");
  std::vector<const StateDict::value_type*> order;
  for (const auto& entry : tensors) {
    const auto& [name, x] = entry;
    if (name == kSafeTensorsMetadata || !is_utf8(name))
      throw FileError(path, "\"" + name + "\" cannot name a tensor");
    if (!x.defined()) throw FileError(path, "tensor \"" + name + "\" is undefined");
    order.push_back(&entry);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return size_of(a->second.dtype()) > size_of(b->second.dtype());
  });

  std::string header = "{";
  auto member = [&](std::string_view name, const std::string& value) {
    header += (header.size() > 1 ? "," : "") + nlohmann::json(name).dump() + ":" + value;
  };
  for (const auto& [key, text] : metadata)
    if (!is_utf8(key) || !is_utf8(text)) throw FileError(path, "metadata that is not UTF-8");
  if (!metadata.empty()) member(kSafeTensorsMetadata, nlohmann::json(metadata).dump());
  std::uint64_t begin = 0;
  for (const auto* entry : order) {
    const Tensor& x = entry->second;
    std::uint64_t end = begin + static_cast<std::uint64_t>(x.numel()) * size_of(x.dtype());
    // In the order of the safetensors library.
    member(entry->first, "{\"dtype\":\"" + std::string(written_dtype(x.dtype())) + "\",\"shape\":" +
                             nlohmann::json(x.shape().vec()).dump() + ",\"data_offsets\":[" +
                             std::to_string(begin) + "," + std::to_string(end) + "]}");
    begin = end;
  }
  header += "}";
  header.append((8 - header.size() % 8) % 8, ' ');

  write_file_atomically(path, [&](FileSink& sink) {
    std::uint64_t n = header.size();
    sink.write(&n, 8);
    sink.write(header);
    for (const auto* entry : order) {
      Tensor c = entry->second.contiguous();
      const std::byte* p = c.storage().data() + c.offset() * size_of(c.dtype());
      sink.write(p, c.numel() * size_of(c.dtype()));
    }
  });
}

}  // namespace glim

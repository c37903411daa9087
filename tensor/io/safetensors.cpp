#include "tensor/io/safetensors.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "tensor/error.hpp"
#include "tensor/io/atomic_file.hpp"
#include "tensor/io/json.hpp"

namespace glim {
namespace {

constexpr std::uint64_t kMaxHeader = 100'000'000;
constexpr std::string_view kMetadata = "__metadata__";

struct Known {
  std::string_view name;
  Encoding encoding;
};
constexpr Known kKnown[] = {
    {"F32", {Encoding::Float, 4}},    {"F64", {Encoding::Float, 8}},
    {"I64", {Encoding::Signed, 8}},   {"BOOL", {Encoding::Bool, 1}},
    {"F16", {Encoding::Float, 2}},    {"BF16", {Encoding::Brain, 2}},
    {"I32", {Encoding::Signed, 4}},   {"I16", {Encoding::Signed, 2}},
    {"I8", {Encoding::Signed, 1}},    {"U32", {Encoding::Unsigned, 4}},
    {"U16", {Encoding::Unsigned, 2}}, {"U8", {Encoding::Unsigned, 1}},
};

std::string_view written_dtype(DType t) {
  switch (t) {
    case DType::Float32:
      return "F32";
    case DType::Float64:
      return "F64";
    case DType::Int64:
      return "I64";
    case DType::Bool:
      break;
  }
  return "BOOL";
}

// Reads a list of whole numbers into `list`, as far as a shape may go; how many there are, none for
// anything else.
std::optional<Index> read_list(JsonReader& json, Dims& list) {
  if (json.kind() != JsonReader::Array) return {};
  Index count = 0;
  bool whole = true;
  json.array([&] {
    std::optional<std::int64_t> n;
    if (json.kind() == JsonReader::Number)
      n = json.integer();
    else
      json.skip();
    whole = whole && n && *n >= 0;
    if (whole && ++count <= kMaxRank) list.push_back(*n);
  });
  if (!whole) return {};
  return count;
}

// One entry of the header's object, checked by itself.
SafeTensorsEntry parse_entry(const InputFile& file, const std::string& name, JsonReader& json) {
  auto fail = [&](const std::string& problem) {
    file.fail("tensor " + json_quoted(name) + ": " + problem);
  };
  SafeTensorsEntry entry;
  entry.name = name;
  // They come in any order: each is read from its place once all are found.
  std::optional<JsonReader> dtype, shape, offsets;
  int members = 0;
  if (json.kind() == JsonReader::Object)
    json.object([&](const std::string& key) {
      ++members;
      if (key == "dtype") dtype = json;
      if (key == "shape") shape = json;
      if (key == "data_offsets") offsets = json;
      json.skip();
    });
  if (!dtype || !shape || !offsets) fail("needs dtype, shape and data_offsets");
  if (members != 3) fail("has members other than dtype, shape and data_offsets");

  if (dtype->kind() != JsonReader::String) fail("dtype is not a string");
  entry.dtype = dtype->string();
  auto known = std::find_if(std::begin(kKnown), std::end(kKnown),
                            [&](const Known& k) { return k.name == entry.dtype; });
  if (known == std::end(kKnown)) fail("dtype " + json_quoted(entry.dtype) + " is not supported");
  entry.encoding = known->encoding;

  std::optional<Index> rank = read_list(*shape, entry.shape);
  if (!rank) fail("shape is not a list of whole numbers");
  if (*rank > kMaxRank)
    fail("rank " + std::to_string(*rank) + " exceeds the maximum of " + std::to_string(kMaxRank));
  Index elements = 0;
  try {
    elements = checked_numel(entry.shape, "safetensors");
  } catch (const ShapeError& e) {
    fail(e.problem());
  }

  Dims pair;
  if (read_list(*offsets, pair) != 2) fail("data_offsets is not a pair of whole numbers");
  entry.begin = static_cast<std::uint64_t>(pair[0]);
  entry.end = static_cast<std::uint64_t>(pair[1]);
  std::string span =
      "data_offsets [" + std::to_string(entry.begin) + ", " + std::to_string(entry.end) + "]";
  if (entry.begin > entry.end) fail(span + " run backwards");
  std::uint64_t bytes = static_cast<std::uint64_t>(elements) * entry.encoding.size;
  if (entry.end - entry.begin != bytes)
    fail(span + " span " + std::to_string(entry.end - entry.begin) + " bytes, shape " +
         to_string(entry.shape) + " of " + entry.dtype + " needs " + std::to_string(bytes));
  return entry;
}

// Entries in order must tile [0, size) exactly.
void check_tiling(const InputFile& file, const std::vector<SafeTensorsEntry>& entries,
                  std::uint64_t size) {
  std::uint64_t at = 0;
  const std::string* before = nullptr;
  for (const SafeTensorsEntry& e : entries) {
    std::string who = "tensor " + json_quoted(e.name) + ": ";
    if (e.end > size)
      file.fail(who + "data_offsets [" + std::to_string(e.begin) + ", " + std::to_string(e.end) +
                "] reach beyond the " + std::to_string(size) + " bytes of data (truncated?)");
    if (e.begin < at) file.fail(who + "overlaps tensor " + json_quoted(*before));
    if (e.begin > at)
      file.fail(who + "bytes " + std::to_string(at) + " to " + std::to_string(e.begin) +
                " before it belong to no tensor");
    at = e.end;
    before = &e.name;
  }
  if (at != size) file.fail(std::to_string(size - at) + " bytes at the end belong to no tensor");
}

}  // namespace

SafeTensorsHeader read_safetensors_header(const InputFile& file) {
  if (file.size() < 8) file.fail("is too short for a safetensors file");
  unsigned char length[8];
  file.read(0, length, 8);
  std::uint64_t n = 0;
  for (int i = 7; i >= 0; --i) n = n << 8 | length[i];
  if (n > kMaxHeader)
    file.fail("header of " + std::to_string(n) + " bytes exceeds the maximum of 100 MB");
  if (n > file.size() - 8)
    file.fail("header of " + std::to_string(n) + " bytes reaches beyond the file's " +
              std::to_string(file.size()));
  const std::string text = file.read_text(8, n);
  try {  // the whole of it, before anything in it is believed
    JsonReader json(text);
    json.skip();
    json.end();
  } catch (const ValueError& e) {
    file.fail("header is not valid JSON: " + e.problem());
  }
  JsonReader json(text, true);
  if (json.kind() != JsonReader::Object) file.fail("header is not a JSON object");

  SafeTensorsHeader header;
  header.data_at = 8 + n;
  json.object([&](const std::string& name) {
    if (name != kMetadata) {
      header.entries.push_back(parse_entry(file, name, json));
      return;
    }
    if (json.kind() != JsonReader::Object) file.fail("__metadata__ is not an object");
    json.object([&](const std::string& key) {
      if (json.kind() != JsonReader::String)
        file.fail("__metadata__: " + json_quoted(key) + " is no string");
      header.metadata[key] = json.string();
    });
  });
  // Empty tensors span nothing: they sort before what begins where they lie.
  std::sort(header.entries.begin(), header.entries.end(), [](const auto& a, const auto& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  check_tiling(file, header.entries, file.size() - header.data_at);
  return header;
}

SafeTensors read_safetensors(const std::string& path) {
  InputFile file(path);
  SafeTensorsHeader header = read_safetensors_header(file);
  SafeTensors out;
  for (const SafeTensorsEntry& e : header.entries)
    out.tensors[e.name] = read_elements(file, header.data_at + e.begin, e.encoding, e.shape,
                                        "tensor " + json_quoted(e.name));
  out.metadata = std::move(header.metadata);
  return out;
}

void write_safetensors(const std::string& path, const StateDict& tensors,
                       const std::map<std::string, std::string>& metadata) {
  static_assert(std::endian::native == std::endian::little, "elements are written as they lie");
  std::vector<std::pair<std::string, Tensor>> order;
  for (const auto& [name, x] : tensors) {
    if (name == kMetadata || !is_utf8(name))
      throw FileError(path, "\"" + name + "\" cannot name a tensor");
    if (!x.defined()) throw FileError(path, "tensor \"" + name + "\" is undefined");
    order.emplace_back(name, x);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return size_of(a.second.dtype()) > size_of(b.second.dtype());
  });

  std::string header = "{";
  auto comma = [&] { return header.size() > 1 ? "," : ""; };
  if (!metadata.empty()) {
    header += json_quoted(kMetadata) + ":{";
    std::string between;
    for (const auto& [key, text] : metadata) {
      if (!is_utf8(key) || !is_utf8(text)) throw FileError(path, "metadata that is not UTF-8");
      header += between + json_quoted(key) + ":" + json_quoted(text);
      between = ",";
    }
    header += "}";
  }
  std::uint64_t at = 0;
  for (const auto& [name, x] : order) {
    std::uint64_t end = at + static_cast<std::uint64_t>(x.numel()) * size_of(x.dtype());
    header += comma() + json_quoted(name) + ":{\"dtype\":\"";
    header += written_dtype(x.dtype());
    header += "\",\"shape\":[";
    for (int i = 0; i < x.rank(); ++i) header += (i ? "," : "") + std::to_string(x.shape()[i]);
    header += "],\"data_offsets\":[" + std::to_string(at) + "," + std::to_string(end) + "]}";
    at = end;
  }
  header += "}";
  header.append((8 - header.size() % 8) % 8, ' ');

  write_file_atomically(path, [&](FileSink& sink) {
    std::uint64_t n = header.size();
    sink.write(&n, 8);
    sink.write(header);
    for (const auto& [name, x] : order) {
      Tensor c = x.contiguous();
      const std::byte* p = c.storage().data() + c.offset() * size_of(c.dtype());
      sink.write(p, c.numel() * size_of(c.dtype()));
    }
  });
}

}  // namespace glim

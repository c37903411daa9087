#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>

#include "tensor/error.hpp"
#include "tensor/io/safetensors.hpp"

namespace glim {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMaxHeader = 100'000'000;
constexpr int kMostNested = 32;

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
float from_brain(std::uint16_t b) { return std::bit_cast<float>(std::uint32_t{b} << 16); }
template <class U>
Index whole(U u) {
  return u;
}

template <auto convert, class To, class U>
constexpr Encoding widened(To (*)(U)) {
  return {dtype_of<To>, sizeof(U), [](const std::byte* p, const Tensor& y, Index begin, Index n) {
            for (Index i = 0; i < n; ++i, p += sizeof(U)) {
              U u;
              std::memcpy(&u, p, sizeof u);
              y.data<To>()[begin + i] = convert(u);
            }
          }};
}
template <auto convert>
constexpr Encoding kWidened = widened<convert>(convert);

struct Known {
  std::string_view name;
  Encoding encoding;
};
constexpr Known kKnown[] = {
    {"F32", {DType::Float32, 4}},
    {"F64", {DType::Float64, 8}},
    {"I64", {DType::Int64, 8}},
    {"BOOL", {DType::Bool, 1}},
    {"F16", kWidened<from_half>},
    {"BF16", kWidened<from_brain>},
    {"I32", kWidened<whole<std::int32_t>>},
    {"I16", kWidened<whole<std::int16_t>>},
    {"I8", kWidened<whole<std::int8_t>>},
    {"U32", kWidened<whole<std::uint32_t>>},
    {"U16", kWidened<whole<std::uint16_t>>},
    {"U8", kWidened<whole<std::uint8_t>>},
};

// "text" with escapes. type_error unless it is UTF-8.
std::string in_quotes(std::string_view text) { return json(text).dump(); }

// At most kMaxRank + 1 of them (HeaderReader).
std::optional<std::vector<Index>> whole_numbers(const json& list) {
  std::vector<Index> numbers;
  for (const json& n : list)
    if (n.is_number_unsigned() && n.get<std::uint64_t>() <= INT64_MAX)
      numbers.push_back(n.get<Index>());
  return list.is_array() && numbers.size() == list.size() ? std::optional(numbers) : std::nullopt;
}

// Fills `entry` from what a header says of it. Returns what is wrong, or nothing.
std::string check_entry(const json& fields, bool other_members, SafeTensorsEntry& entry) {
  if (!fields.is_object() || !fields.contains("dtype") || !fields.contains("shape") ||
      !fields.contains("data_offsets"))
    return "needs dtype, shape and data_offsets";
  if (other_members) return "has members other than dtype, shape and data_offsets";

  if (!fields["dtype"].is_string()) return "dtype is not a string";
  entry.dtype = fields["dtype"].get<std::string>();
  auto known = std::find_if(std::begin(kKnown), std::end(kKnown),
                            [&](const Known& k) { return k.name == entry.dtype; });
  if (known == std::end(kKnown)) return "dtype " + in_quotes(entry.dtype) + " is not supported";
  entry.encoding = known->encoding;

  auto shape = whole_numbers(fields["shape"]);
  if (!shape) return "shape is not a list of whole numbers";
  if (shape->size() > kMaxRank) return "shape has more than " + std::to_string(kMaxRank) + " axes";
  entry.shape = *shape;
  Index elements = 0;
  try {
    elements = checked_numel(entry.shape, "safetensors");
  } catch (const ShapeError& e) {
    return e.problem();
  }

  auto offsets = whole_numbers(fields["data_offsets"]);
  if (!offsets || offsets->size() != 2) return "data_offsets is not a pair of whole numbers";
  entry.begin = static_cast<std::uint64_t>((*offsets)[0]);
  entry.end = static_cast<std::uint64_t>((*offsets)[1]);
  std::string span =
      "data_offsets [" + std::to_string(entry.begin) + ", " + std::to_string(entry.end) + "]";
  if (entry.begin > entry.end) return span + " run backwards";
  std::uint64_t bytes = static_cast<std::uint64_t>(elements) * entry.encoding.size;
  if (entry.end - entry.begin != bytes)
    return span + " span " + std::to_string(entry.end - entry.begin) + " bytes, shape " +
           to_string(entry.shape) + " of " + entry.dtype + " needs " + std::to_string(bytes);
  return "";
}

// Takes each tensor's entry as soon as it is parsed, and drops what no entry has: a tree of all values would take up to
// a hundred times the memory of the text. A wrong entry is reported once all the text is known to be valid.
class HeaderReader {
 public:
  HeaderReader(const InputFile& file, std::string text) : file_(file), size_(text.size()) {
    // The parser would take a zero for the end.
    if (text.find('\0') != text.npos) invalid("it has a zero byte");
    // The format has no space and no byte-order mark there, which the parser would pass over.
    const auto brace = text.find('{');
    if (brace != 0 && brace != text.npos && text.find_first_not_of(" \t\r\n\xEF\xBB\xBF") == brace)
      invalid("its first byte is not '{'");
    text_ = std::istringstream(std::move(text));
  }

  SafeTensorsHeader read() {
    try {
      json root = json::parse(text_, [&](int depth, json::parse_event_t event, json& value) {
        return take(depth, event, value);
      });
      if (!root.is_object()) file_.fail("header is not a JSON object");
    } catch (const json::parse_error& e) {
      // "... while parsing value - PROBLEM; last read: '...'"
      std::string_view what = e.what();
      what = what.substr(0, what.find("; last read"));
      if (size_ == 0 || what.find("unexpected end of input;") != what.npos)
        invalid_at("the text ends early", size_);
      invalid_at(std::string(what.substr(what.find(" - ") + 3)), e.byte > 0 ? e.byte - 1 : 0);
    } catch (const json::out_of_range& e) {  // "[...] number overflow parsing '1e999'"
      std::string_view what = e.what();
      invalid(std::string(what.substr(what.find("] ") + 2)));
    }
    if (!problem_.empty()) file_.fail(problem_);
    return std::move(header_);
  }

 private:
  [[noreturn]] void invalid(const std::string& problem) const {
    file_.fail("header is not valid JSON: " + problem);
  }
  [[noreturn]] void invalid_at(const std::string& problem, std::uint64_t byte) const {
    invalid(problem + " at byte " + std::to_string(byte));
  }
  std::uint64_t taken() {  // bytes
    return static_cast<std::uint64_t>(text_.rdbuf()->pubseekoff(0, std::ios::cur, std::ios::in));
  }

  // Returns whether to keep the value, or the name. depth: the objects and lists around it.
  bool take(int depth, json::parse_event_t event, const json& value) {
    using Event = json::parse_event_t;
    const bool starts = event == Event::object_start || event == Event::array_start;
    if (starts && depth == kMostNested) invalid_at("nested too deeply", taken());
    if (event == Event::key) return take_name(depth, value.get<std::string>());
    if (depth == 1 && !starts) {
      take_entry(value);
      return false;
    }
    if (depth == 2 && in_metadata_) {
      if (value.is_string())
        header_.metadata[name_] = value.get<std::string>();
      else
        report("__metadata__: " + in_quotes(name_) + " is no string");
    }
    const bool ends = event == Event::object_end || event == Event::array_end;
    return ends || depth < 2 || ++elements_ <= kMaxRank + 2;
  }
  bool take_name(int depth, const std::string& name) {
    if (depth > 2) return true;
    elements_ = 0;
    bool again = false, keep = false;
    if (depth == 1) {
      again = !names_.insert(name).second;
      keep = true;
      in_metadata_ = name == kSafeTensorsMetadata;
      tensor_ = name;
      members_.clear();
      other_members_ = false;
    } else if (in_metadata_) {
      again = !header_.metadata.try_emplace(name).second;
    } else {
      keep = name == "dtype" || name == "shape" || name == "data_offsets";
      again = keep && !members_.insert(name).second;
      other_members_ = other_members_ || !keep;
    }
    if (again) invalid_at("the name " + in_quotes(name) + " comes twice", taken());
    name_ = name;
    return keep && problem_.empty();
  }
  void take_entry(const json& value) {
    if (in_metadata_ && !value.is_object()) report("__metadata__ is not an object");
    if (in_metadata_ || !problem_.empty()) return;
    SafeTensorsEntry& entry = header_.entries.emplace_back();
    entry.name = tensor_;
    std::string wrong = check_entry(value, other_members_, entry);
    if (!wrong.empty()) report("tensor " + in_quotes(tensor_) + ": " + wrong);
  }
  void report(const std::string& problem) {
    if (problem_.empty()) problem_ = problem;
  }

  const InputFile& file_;
  std::uint64_t size_;
  std::istringstream text_;
  SafeTensorsHeader header_;
  std::set<std::string> names_, members_;  // so far: of the header, and of the tensor under way
  std::string tensor_, name_;              // the names read last: of a tensor, of its members
  bool in_metadata_ = false, other_members_ = false;
  int elements_ = 0;     // values since the last name: a list and what is in it
  std::string problem_;  // the first
};

// Entries in order must tile [0, size) exactly.
void check_tiling(const InputFile& file, const std::deque<SafeTensorsEntry>& entries,
                  std::uint64_t size) {
  std::uint64_t end = 0;
  const std::string* before = nullptr;
  for (const SafeTensorsEntry& e : entries) {
    std::string who = "tensor " + in_quotes(e.name) + ": ";
    if (e.end > size)
      file.fail(who + "data_offsets [" + std::to_string(e.begin) + ", " + std::to_string(e.end) +
                "] reach beyond the " + std::to_string(size) + " bytes of data (truncated?)");
    if (e.begin < end) file.fail(who + "overlaps tensor " + in_quotes(*before));
    if (e.begin > end)
      file.fail(who + "bytes " + std::to_string(end) + " to " + std::to_string(e.begin) +
                " before it belong to no tensor");
    end = e.end;
    before = &e.name;
  }
  if (end != size) file.fail(std::to_string(size - end) + " bytes at the end belong to no tensor");
}

}  // namespace

SafeTensorsHeader read_safetensors_header(const InputFile& file) {
  if (file.size() < 8) file.fail("is too short for a safetensors file");
  unsigned char length[8];
  file.read(0, length, 8);
  std::uint64_t n = 0;
  for (int i = 7; i >= 0; --i) n = n << 8 | length[i];
  if (n > kMaxHeader)
    file.fail("is no safetensors file: a header of " + std::to_string(n) +
              " bytes exceeds the maximum of 100 MB");
  if (n > file.size() - 8)
    file.fail("header of " + std::to_string(n) + " bytes reaches beyond the file's " +
              std::to_string(file.size()));
  SafeTensorsHeader header = HeaderReader(file, file.read_text(8, n)).read();
  header.data_at = 8 + n;
  // Empty tensors span nothing: they sort before what begins at their place.
  std::sort(header.entries.begin(), header.entries.end(), [](const auto& a, const auto& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  check_tiling(file, header.entries, file.size() - header.data_at);
  return header;
}

}  // namespace glim

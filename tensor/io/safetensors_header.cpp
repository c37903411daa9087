#include <algorithm>
#include <cstring>
#include <istream>
#include <nlohmann/json.hpp>
#include <optional>

#include "tensor/error.hpp"
#include "tensor/io/safetensors.hpp"

namespace glim {
namespace {

constexpr std::uint64_t kMaxHeader = 100'000'000;
constexpr int kMostNested = 32;
constexpr int kMostMarks = 65'536;  // brackets, commas and literals without a string or a number

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

// "text" with escapes. type_error unless it is UTF-8.
std::string in_quotes(std::string_view text) { return nlohmann::json(text).dump(); }

// A list of whole numbers: how many there are, and those that a shape has room for.
struct WholeNumbers {
  bool valid = false;
  Index count = 0;
  Dims first;
};

// What a header says of one tensor, before it is checked.
struct Described {
  bool has_dtype = false, has_shape = false, has_offsets = false;
  int members = 0;
  std::optional<std::string> dtype;  // where it is a string
  WholeNumbers shape, offsets;
};

// Fills `entry`. Returns what is wrong, or nothing.
std::string check_entry(const Described& d, SafeTensorsEntry& entry) {
  if (!d.has_dtype || !d.has_shape || !d.has_offsets) return "needs dtype, shape and data_offsets";
  if (d.members != 3) return "has members other than dtype, shape and data_offsets";

  if (!d.dtype) return "dtype is not a string";
  entry.dtype = *d.dtype;
  auto known = std::find_if(std::begin(kKnown), std::end(kKnown),
                            [&](const Known& k) { return k.name == entry.dtype; });
  if (known == std::end(kKnown)) return "dtype " + in_quotes(entry.dtype) + " is not supported";
  entry.encoding = known->encoding;

  if (!d.shape.valid) return "shape is not a list of whole numbers";
  if (d.shape.count > kMaxRank)
    return "rank " + std::to_string(d.shape.count) + " exceeds the maximum of " +
           std::to_string(kMaxRank);
  entry.shape = d.shape.first;
  Index elements = 0;
  try {
    elements = checked_numel(entry.shape, "safetensors");
  } catch (const ShapeError& e) {
    return e.problem();
  }

  if (!d.offsets.valid || d.offsets.count != 2)
    return "data_offsets is not a pair of whole numbers";
  entry.begin = static_cast<std::uint64_t>(d.offsets.first[0]);
  entry.end = static_cast<std::uint64_t>(d.offsets.first[1]);
  std::string span =
      "data_offsets [" + std::to_string(entry.begin) + ", " + std::to_string(entry.end) + "]";
  if (entry.begin > entry.end) return span + " run backwards";
  std::uint64_t bytes = static_cast<std::uint64_t>(elements) * entry.encoding.size;
  if (entry.end - entry.begin != bytes)
    return span + " span " + std::to_string(entry.end - entry.begin) + " bytes, shape " +
           to_string(entry.shape) + " of " + entry.dtype + " needs " + std::to_string(bytes);
  return "";
}

// The text of a header, read from its file piece by piece.
class HeaderText final : public std::streambuf {
 public:
  HeaderText(const InputFile& file, std::uint64_t begin, std::uint64_t size)
      : file_(file), begin_(begin), end_(begin + size), next_(begin) {}

  std::uint64_t size() const { return end_ - begin_; }
  std::uint64_t taken() const {  // bytes
    return next_ - begin_ - static_cast<std::uint64_t>(egptr() - gptr());
  }

 private:
  int_type underflow() override {
    if (next_ == end_) return traits_type::eof();
    std::size_t n = std::min<std::uint64_t>(sizeof piece_, end_ - next_);
    file_.read(next_, piece_, n);
    next_ += n;
    // The parser would take a zero for the end.
    if (std::memchr(piece_, 0, n)) file_.fail("header is not valid JSON: it has a zero byte");
    count_marks({piece_, n});
    setg(piece_, piece_, piece_ + n);
    return traits_type::to_int_type(*piece_);
  }

  // The parser keeps what it reads until a string or a number comes: no tensor's entry has many marks.
  void count_marks(std::string_view text) {
    for (char c : text) {
      if (escaped_ || (in_string_ && c == '\\')) {
        escaped_ = !escaped_;
      } else if (c == '"') {
        in_string_ = !in_string_;
        marks_ = 0;
      } else if (c >= '0' && c <= '9') {
        marks_ = 0;
      } else if (!in_string_ && c > ' ' && ++marks_ > kMostMarks) {
        file_.fail("header has more than " + std::to_string(kMostMarks) +
                   " marks without a name or a number");
      }
    }
  }

  const InputFile& file_;
  bool in_string_ = false, escaped_ = false;
  int marks_ = 0;
  std::uint64_t begin_, end_, next_;  // in the file
  char piece_[16384];
};

// Takes a header event by event, as the parser reads it, and keeps only what it asks for: a tree of its
// values would take up to a hundred times the memory of its text. Invalid JSON is an error at once; what an
// entry says wrongly is told once all the text is known to be valid.
class HeaderReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  HeaderReader(const InputFile& file, HeaderText& text) : file_(file), text_(text) {}

  SafeTensorsHeader read() {
    std::istream stream(&text_);
    nlohmann::json::sax_parse(stream, this);
    if (!problem_.empty()) file_.fail(problem_);
    while (!entry_of_.empty()) {
      auto named = entry_of_.extract(entry_of_.begin());
      header_.entries[named.mapped()].name = std::move(named.key());
    }
    return std::move(header_);
  }

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(std::int64_t n) override { return value(n); }
  bool number_unsigned(std::uint64_t n) override {
    return value(n <= INT64_MAX ? static_cast<Index>(n) : -1);
  }
  bool number_float(double, const std::string&) override { return value(); }
  bool string(std::string& text) override { return value(-1, &text); }
  bool binary(nlohmann::json::binary_t&) override { return value(); }

  bool start_object(std::size_t) override {
    if (depth_ > 1) value();
    if (depth_ == 1) described_ = {};
    return open();
  }
  bool start_array(std::size_t) override {
    bool list = depth_ == 2 && (name_ == "shape" || name_ == "data_offsets");
    if (list && !in_metadata_) {
      list_ = name_ == "shape" ? &described_.shape : &described_.offsets;
      list_->valid = true;
    } else {
      value();
    }
    return open();
  }
  bool end_array() override {
    list_ = nullptr;
    --depth_;
    return true;
  }
  bool end_object() override {
    if (--depth_ == 1 && !in_metadata_ && problem_.empty()) {
      std::string wrong = check_entry(described_, header_.entries.back());
      if (!wrong.empty()) problem_ = "tensor " + in_quotes(tensor_) + ": " + wrong;
    }
    return true;
  }
  bool key(std::string& name) override {
    bool again = false;
    if (depth_ == 1) {
      in_metadata_ = name == kSafeTensorsMetadata;
      again = in_metadata_ ? std::exchange(has_metadata_, true)
                           : !entry_of_.emplace(name, header_.entries.size()).second;
      if (problem_.empty() && !in_metadata_) header_.entries.emplace_back();
      tensor_ = name;
    } else if (depth_ == 2 && problem_.empty()) {
      ++described_.members;
      if (in_metadata_)
        again = !header_.metadata.try_emplace(name).second;
      else if (name == "dtype")
        again = std::exchange(described_.has_dtype, true);
      else if (name == "shape")
        again = std::exchange(described_.has_shape, true);
      else if (name == "data_offsets")
        again = std::exchange(described_.has_offsets, true);
      name_ = name;
    }
    if (again) invalid("the name " + in_quotes(name) + " comes twice", text_.taken());
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception& error) override {
    // "... while parsing value - PROBLEM; last read: '...'"
    std::string_view what = error.what();
    what = what.substr(0, what.find("; last read"));
    if (text_.size() == 0 || what.find("unexpected end of input;") != what.npos)
      invalid("the text ends early", text_.size());
    auto dash = what.find(" - ");
    invalid(dash == what.npos ? "a number out of range" : std::string(what.substr(dash + 3)),
            position > 0 ? position - 1 : 0);
  }

 private:
  [[noreturn]] void invalid(const std::string& problem, std::uint64_t byte) const {
    file_.fail("header is not valid JSON: " + problem + " at byte " + std::to_string(byte));
  }
  bool open() {
    if (depth_ == kMostNested) invalid("nested too deeply", text_.taken());
    ++depth_;
    return true;
  }
  // Any value but the containers that are wanted; whole: -1 for all but whole numbers.
  bool value(Index whole = -1, const std::string* text = nullptr) {
    if (!problem_.empty()) return true;
    if (depth_ == 0) {
      problem_ = "header is not a JSON object";
    } else if (depth_ == 1) {
      problem_ = in_metadata_ ? "__metadata__ is not an object"
                              : "tensor " + in_quotes(tensor_) + ": " +
                                    check_entry({}, header_.entries.back());
    } else if (depth_ == 2 && in_metadata_) {
      if (text)
        header_.metadata[name_] = *text;
      else
        problem_ = "__metadata__: " + in_quotes(name_) + " is no string";
    } else if (depth_ == 2 && name_ == "dtype" && text) {
      described_.dtype = *text;
    } else if (depth_ == 3 && list_) {
      if (whole < 0)
        list_->valid = false;
      else if (++list_->count <= kMaxRank)
        list_->first.push_back(whole);
    }
    return true;
  }

  const InputFile& file_;
  HeaderText& text_;
  int depth_ = 0;  // objects and arrays that are open
  bool in_metadata_ = false, has_metadata_ = false;
  std::string tensor_, name_;     // the names read last: of a tensor, of its members
  Described described_;           // the tensor under way
  WholeNumbers* list_ = nullptr;  // of it, where one is open
  std::map<std::string, std::size_t> entry_of_;
  SafeTensorsHeader header_;
  std::string problem_;  // the first
};

// Entries in order must tile [0, size) exactly.
void check_tiling(const InputFile& file, const std::deque<SafeTensorsEntry>& entries,
                  std::uint64_t size) {
  std::uint64_t at = 0;
  const std::string* before = nullptr;
  for (const SafeTensorsEntry& e : entries) {
    std::string who = "tensor " + in_quotes(e.name) + ": ";
    if (e.end > size)
      file.fail(who + "data_offsets [" + std::to_string(e.begin) + ", " + std::to_string(e.end) +
                "] reach beyond the " + std::to_string(size) + " bytes of data (truncated?)");
    if (e.begin < at) file.fail(who + "overlaps tensor " + in_quotes(*before));
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
  HeaderText text(file, 8, n);
  SafeTensorsHeader header = HeaderReader(file, text).read();
  header.data_at = 8 + n;
  // Empty tensors span nothing: they sort before what begins where they lie.
  std::sort(header.entries.begin(), header.entries.end(), [](const auto& a, const auto& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  check_tiling(file, header.entries, file.size() - header.data_at);
  return header;
}

}  // namespace glim

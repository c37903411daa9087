#include "models/tokenizers/byte_bpe.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <queue>
#include <utf8proc.h>

#include "models/tokenizers/utf8.hpp"
#include "tensor/error.hpp"

namespace glim {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ByteBpe, tokens, merges, added, end, prefix_space)

namespace {

// The printable character of each byte: itself in Latin-1 where that is visible, else one from U+0100 on.
const std::array<std::string, 256>& byte_characters() {
  static const auto table = [] {
    std::array<std::string, 256> t;
    std::uint32_t next = 0x100;
    for (std::uint32_t b = 0; b < 256; ++b) {
      const bool visible = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
      append_utf8(t[b], visible ? b : next++);
    }
    return t;
  }();
  return table;
}

// The bytes of a token; of one that has another character, its own.
std::string bytes_of(const std::string& token) {
  static const auto byte_of = [] {
    std::unordered_map<std::string, char> map;
    for (std::size_t b = 0; b < 256; ++b) map[byte_characters()[b]] = static_cast<char>(b);
    return map;
  }();
  std::string bytes;
  for (const CodePoint& c : code_points(token)) {
    auto entry = byte_of.find(token.substr(c.offset, c.length));
    if (entry == byte_of.end()) return token;
    bytes += entry->second;
  }
  return bytes;
}

enum class Class { Space, Letter, Number, Other };

Class class_of(std::uint32_t c) {
  if (is_space(c) && !(c >= 0x1C && c <= 0x1F)) return Class::Space;  // Unicode's White_Space
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return Class::Letter;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return Class::Number;
    default:
      return Class::Other;
  }
}

// The end of the run of this class that begins at `i`.
std::size_t run_end(std::string_view text, std::size_t i, Class expected) {
  while (i < text.size()) {
    const CodePoint c = code_point_at(text, i);
    if (class_of(c.value) != expected) break;
    i += c.length;
  }
  return i;
}

// The end of the word that begins at `i`, by GPT-2's pattern
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
std::size_t word_end(std::string_view text, std::size_t i) {
  for (std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
    if (text.substr(i).starts_with(ending)) return i + ending.size();
  const std::size_t start = text[i] == ' ' && i + 1 < text.size() ? i + 1 : i;
  const Class first = class_of(code_point_at(text, start).value);
  if (first != Class::Space) return run_end(text, start, first);
  const std::size_t end = run_end(text, i, Class::Space);
  if (end == text.size()) return end;
  std::size_t last =
      end - 1;  // the last white space, which belongs to the next word if more is before it
  while ((text[last] & 0xC0) == 0x80) --last;
  return last > i ? last : end;
}

std::uint64_t pair_key(std::int64_t left, std::int64_t right) {
  return static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint64_t>(right);
}

}  // namespace

ByteBpeTokenizer::ByteBpeTokenizer(ByteBpe data) : data_(std::move(data)) {
  auto fail = [](const std::string& problem) { throw ValueError("byte-bpe", problem); };
  for (const std::string& token : data_.tokens) {
    if (token.empty() || first_invalid_utf8(token))
      fail(fmt::format("token {} is {}", ids_.size(), token.empty() ? "empty" : "not UTF-8"));
    if (!ids_.emplace(token, kSpecialTokens + std::ssize(bytes_)).second)
      fail(fmt::format("token {} (\"{}\") occurs twice", bytes_.size(), token));
    bytes_.push_back(bytes_of(token));
  }
  for (const std::string& character : byte_characters()) byte_ids_.push_back(id(character));
  for (std::size_t i = 0; i < data_.merges.size(); ++i) add_merge(i);
  for (const std::string& token : data_.added)
    if (id(token) == kUnk) fail(fmt::format("the added token \"{}\" has no number", token));
  if (!data_.end.empty() && id(data_.end) == kUnk)
    fail(fmt::format("the token \"{}\" that ends a text has no number", data_.end));
}

void ByteBpeTokenizer::add_merge(std::size_t rank) {
  const std::string& merge = data_.merges[rank];
  auto fail = [&](const std::string& problem) {
    const std::string remedy = "; vocabulary and merges must be of one tokenizer";
    if (data_.file.empty())
      throw ValueError("byte-bpe", fmt::format("merge {}: {}{}", rank + 1, problem, remedy));
    throw FileError(fmt::format("{}:{}", data_.file, data_.first_line + rank), problem + remedy);
  };
  const std::size_t space = merge.find(' ');
  if (space == std::string::npos || merge.find(' ', space + 1) != std::string::npos)
    fail(fmt::format("\"{}\" is not two tokens with a space between them", merge));
  const std::string left = merge.substr(0, space), right = merge.substr(space + 1);
  for (const std::string& token : {left, right, left + right})
    if (id(token) == kUnk) fail(fmt::format("\"{}\" is not in the vocabulary", token));
  merges_[pair_key(id(left), id(right))] = {static_cast<std::int64_t>(rank), id(left + right)};
}

std::int64_t ByteBpeTokenizer::id(std::string_view token) const {
  auto entry = ids_.find(std::string(token));
  return entry == ids_.end() ? kUnk : entry->second;
}

const ByteBpeTokenizer::Merge* ByteBpeTokenizer::merge_of(std::int64_t left,
                                                          std::int64_t right) const {
  auto entry = merges_.find(pair_key(left, right));
  return entry == merges_.end() ? nullptr : &entry->second;
}

// The symbols of a word are a linked list; a queue holds the pairs that may be merged, lowest rank first, then
// the leftmost. A pair that has changed since it was queued is passed over.
void ByteBpeTokenizer::encode_word(std::string_view word, std::vector<std::int64_t>& ids) const {
  struct Symbol {
    std::int64_t token;
    int before, after;
  };
  std::vector<Symbol> symbols;
  const int n = static_cast<int>(word.size());
  for (int i = 0; i < n; ++i)
    symbols.push_back(
        {byte_ids_[static_cast<unsigned char>(word[i])], i - 1, i + 1 < n ? i + 1 : -1});
  auto merge_at = [&](int index) -> const Merge* {
    if (index < 0 || symbols[index].after < 0) return nullptr;
    return merge_of(symbols[index].token, symbols[symbols[index].after].token);
  };
  using Candidate = std::pair<std::int64_t, int>;  // the rank of its merge, and where it is
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  auto consider = [&](int index) {
    if (const Merge* m = merge_at(index)) queue.emplace(m->rank, index);
  };
  for (int i = 0; i < n; ++i) consider(i);
  constexpr std::int64_t kGone = -1;
  while (!queue.empty()) {
    const auto [rank, index] = queue.top();
    queue.pop();
    const Merge* m = merge_at(index);
    if (!m || m->rank != rank) continue;
    Symbol &left = symbols[index], &right = symbols[left.after];
    left.token = m->token;
    right.token = kGone;
    left.after = right.after;
    if (left.after >= 0) symbols[left.after].before = index;
    consider(left.before);
    consider(index);
  }
  for (const Symbol& s : symbols)
    if (s.token != kGone) ids.push_back(s.token);
}

void ByteBpeTokenizer::encode_words(std::string text, std::vector<std::int64_t>& ids) const {
  if (data_.prefix_space && !text.empty() && text[0] != ' ') text.insert(0, 1, ' ');
  for (std::size_t position = 0, end; position < text.size(); position = end) {
    end = word_end(text, position);
    encode_word(std::string_view(text).substr(position, end - position), ids);
  }
}

std::vector<std::int64_t> ByteBpeTokenizer::encode_valid_text(std::string_view text) const {
  std::vector<std::int64_t> ids;
  std::size_t start = 0;  // start of the words before the next added token
  for (std::size_t position = 0; position < text.size();) {
    const std::string* found = nullptr;  // the longest that begins here
    for (const std::string& token : data_.added)
      if (text.substr(position).starts_with(token) && (!found || token.size() > found->size()))
        found = &token;
    position += found ? found->size() : 1;
    if (!found) continue;
    encode_words(std::string(text.substr(start, position - found->size() - start)), ids);
    ids.push_back(id(*found));
    start = position;
  }
  encode_words(std::string(text.substr(start)), ids);
  return ids;
}

std::vector<std::int64_t> ByteBpeTokenizer::encode_valid(std::string_view line,
                                                         std::int64_t) const {
  return encode_valid_text(line);
}

std::string ByteBpeTokenizer::decode_plain(std::span<const std::int64_t> ids) const {
  std::string bytes;
  for (std::int64_t id : ids)
    bytes += id < kSpecialTokens ? std::string(kSpecialNames[id])
                                 : bytes_[static_cast<std::size_t>(id - kSpecialTokens)];
  return with_invalid_utf8_replaced(bytes);
}

std::string ByteBpeTokenizer::piece(std::int64_t id) const {
  require_id(id);
  if (id < kSpecialTokens) return std::string(kSpecialNames[id]);
  const std::string& bytes = bytes_[static_cast<std::size_t>(id - kSpecialTokens)];
  std::string shown;
  for (const CodePoint& c : code_points(bytes)) {
    const std::string_view character = std::string_view(bytes).substr(c.offset, c.length);
    if (first_invalid_utf8(character))
      shown += fmt::format("<{:02X}>", static_cast<unsigned char>(character[0]));
    else
      shown += c.value == ' ' ? "▁" : c.value == '\n' ? "↵" : character;
  }
  return shown;
}

std::optional<std::int64_t> ByteBpeTokenizer::end_of_text() const {
  return data_.end.empty() ? std::nullopt : std::optional(id(data_.end));
}

TokenizerPtr ByteBpeTokenizer::from_json(const nlohmann::json& json) {
  return std::make_shared<ByteBpeTokenizer>(json.get<ByteBpe>());
}

std::string ByteBpeTokenizer::serialize() const {
  nlohmann::json json = data_;
  json.update({{"format", "glim tokenizer"}, {"version", 1}, {"kind", kind()}});
  return json.dump();
}

}  // namespace glim

#include "models/tokenizers/sentencepiece_model.hpp"

#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <string>
#include <unordered_set>
#include <vector>

#include "models/tokenizers/utf8.hpp"
#include "models/tokenizers/vocabulary.hpp"
#include "tensor/error.hpp"

namespace glim {
namespace {

[[noreturn]] void fail(const std::string& problem) {
  throw ValueError("sentencepiece", "not a usable SentencePiece model: " + problem);
}

enum Wire : unsigned { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct WireField {
  std::uint64_t number = 0;
  unsigned wire = 0;
  std::uint64_t value = 0;  // for kVarint and kFixed32
  std::string_view bytes;   // for kBytes
};

// Four bytes, the lowest first.
std::uint32_t word_at(std::string_view bytes, std::size_t k) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[k + i]);
  return value;
}

// The fields of one message, in order.
class Message {
 public:
  explicit Message(std::string_view bytes) : rest_(bytes) {}

  bool next(WireField& field) {
    if (rest_.empty()) return false;
    const std::uint64_t tag = varint();
    field = {tag >> 3, static_cast<unsigned>(tag & 7), 0, {}};
    if (field.number == 0 || field.number > 0x1FFFFFFF) fail("a field has a number out of range");
    switch (field.wire) {
      case kVarint:
        field.value = varint();
        break;
      case kFixed64:
        take(8);
        break;
      case kBytes:
        field.bytes = take(varint());
        break;
      case kFixed32:
        field.value = word_at(take(4), 0);
        break;
      default:
        fail("a field has an unknown type");
    }
    return true;
  }

 private:
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    fail("a number is too long");
  }

  std::string_view take(std::uint64_t n) {
    if (n > rest_.size()) fail("it ends too early");
    const std::string_view taken = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return taken;
  }

  std::string_view rest_;
};

void expect(const WireField& field, Wire wire) {
  if (field.wire != wire) fail(fmt::format("field {} has the wrong type", field.number));
}

constexpr std::uint64_t kNormal = 1, kUnknown = 2, kControl = 3, kUnused = 5;

// Returns the piece's text.
std::string_view check_piece(std::string_view bytes, std::int64_t id, bool foreign) {
  std::string_view text;
  std::uint64_t type = kNormal;
  float score = 0;
  WireField field;
  for (Message message(bytes); message.next(field);) {
    if (field.number == 1) {
      expect(field, kBytes);
      text = field.bytes;
    } else if (field.number == 2) {
      expect(field, kFixed32);
      score = std::bit_cast<float>(static_cast<std::uint32_t>(field.value));
    } else if (field.number == 3) {
      expect(field, kVarint);
      type = field.value;
    }
  }
  if (text.empty()) fail(fmt::format("piece {} is empty", id));
  if (first_invalid_utf8(text)) fail(fmt::format("piece {} is not valid UTF-8", id));
  if (text.find('\0') != std::string_view::npos) fail(fmt::format("piece {} has a NUL", id));
  if (!std::isfinite(score)) fail(fmt::format("piece {} has no finite score", id));
  auto described = [&] {
    static constexpr const char* kTypes[] = {
        "", "normal", "unknown", "control", "user-defined", "unused", "byte"};
    return fmt::format("piece {} (\"{}\") is of type {}", id, text,
                       type < std::size(kTypes) ? kTypes[type] : std::to_string(type));
  };
  if (foreign) {
    if (type > kUnused) fail(described());
  } else if (id < kSpecialTokens) {
    if (text != kSpecialNames[id] || type != (id == kUnk ? kUnknown : kControl)) {
      fail(fmt::format("piece {} is not {}", id, kSpecialNames[id]));
    }
  } else if (type != kNormal) {
    fail(described());
  }
  return text;
}

void check_trainer(std::string_view bytes, bool foreign) {
  std::uint64_t model_type = 1;
  WireField field;
  for (Message message(bytes); message.next(field);) {
    if (field.number == 3) {
      expect(field, kVarint);
      model_type = field.value;
    } else if (!foreign && field.number >= 40 &&
               field.number <= 43) {  // unk_id, bos_id, eos_id, pad_id
      static constexpr std::int64_t kIds[] = {kUnk, kBos, kEos, kPad};
      expect(field, kVarint);
      if (field.value != static_cast<std::uint64_t>(kIds[field.number - 40])) {
        fail("its special tokens are numbered differently");
      }
    } else if (field.number == 35 && field.value != 0) {
      fail("it uses byte pieces");
    }
  }
  if (model_type != 1 && model_type != 2) fail("it is neither a unigram nor a BPE model");
}

// The map from sequences of characters to others: the size of a double array, its units of 32 bits (darts-clone),
// and texts that end in NUL. The library follows it without looking, so that every step that some text could make
// must stay inside.
void check_character_map(std::string_view map) {
  auto word = [&](std::size_t offset) { return word_at(map, offset); };
  auto broken = [] { fail("its compiled character map is broken"); };
  if (map.size() < 4 || word(0) % 4 != 0 || word(0) == 0 || word(0) >= map.size() - 4) broken();
  const std::uint32_t units = word(0) / 4;
  const std::size_t texts = map.size() - 4 - word(0);
  if (map.back() != '\0') broken();
  auto unit = [&](std::uint32_t i) { return word(4 + 4 * std::size_t{i}); };
  auto offset = [](std::uint32_t u) { return (u >> 10) << ((u & 0x200) >> 6); };
  std::vector<bool> visited(units);
  std::vector<std::uint32_t> rest{0};  // states of the array, by unit
  for (visited[0] = true; !rest.empty();) {
    const std::uint32_t node = rest.back(), next = node ^ offset(unit(node));
    rest.pop_back();
    if ((next | 0xFF) >= units) broken();  // any byte may follow
    if ((unit(node) & 0x100) != 0 && (unit(next) & 0x7FFFFFFF) >= texts) broken();
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t child = next ^ byte;
      if ((unit(child) & 0x800000FF) != byte || visited[child]) continue;
      visited[child] = true;
      rest.push_back(child);
    }
  }
}

// `removes`: white space at the ends and beside other white space, where it says so.
void check_normalizer(std::string_view bytes, bool foreign, bool& removes) {
  WireField field;
  for (Message message(bytes); message.next(field);) {
    if (field.number == 2) {
      expect(field, kBytes);
      if (field.bytes.empty()) continue;
      if (!foreign) fail("it has a compiled character map");
      check_character_map(field.bytes);
    } else if (field.number == 4 || field.number == 5) {  // remove_extra_ and escape_whitespaces
      expect(field, kVarint);
      if (field.number == 4) removes = field.value != 0;
      if (field.number == 5 && field.value == 0 && !foreign)
        fail("it does not escape white space (escape_whitespaces)");
    }
  }
}

}  // namespace

bool check_sentencepiece_model(std::string_view model, bool foreign) {
  bool removes = true;
  std::unordered_set<std::string_view> pieces;
  WireField field;
  for (Message message(model); message.next(field);) {
    if (field.number >= 1 && field.number <= 5) expect(field, kBytes);
    if (field.number == 1) {
      const auto id = static_cast<std::int64_t>(pieces.size());
      if (!pieces.insert(check_piece(field.bytes, id, foreign)).second) {
        fail(fmt::format("piece {} occurs twice", id));
      }
    } else if (field.number == 2) {
      check_trainer(field.bytes, foreign);
    } else if (field.number == 3 || field.number == 5) {
      bool of_output = true;
      check_normalizer(field.bytes, foreign, field.number == 3 ? removes : of_output);
    } else if (field.number == 4 && !field.bytes.empty()) {
      fail("it has self-tests");
    }
  }
  if (pieces.size() <= static_cast<std::size_t>(kSpecialTokens)) fail("it has no pieces");
  return removes;
}

}  // namespace glim

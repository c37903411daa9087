#include "autograd/saved.hpp"

#include <bit>
#include <cstring>

#include "tensor/error.hpp"

namespace glim {
namespace {

// A hash of the elements, which changes with any of them. Never 0.
std::uint64_t fingerprint_of(const Tensor& x) {
  const Tensor elements = x.contiguous();
  const auto* p = elements.storage().data() + elements.offset() * Index(size_of(x.dtype()));
  const auto bytes = static_cast<std::size_t>(elements.bytes());
  constexpr std::uint64_t kPrime = 0x9E3779B97F4A7C15;
  std::uint64_t lanes[4] = {1, 2, 3, 4};  // independent, as a product takes several cycles
  std::size_t i = 0;
  for (; i + sizeof lanes <= bytes; i += sizeof lanes) {
    std::uint64_t words[4];
    std::memcpy(words, p + i, sizeof words);
    for (int k = 0; k < 4; ++k) lanes[k] = (std::rotl(lanes[k], 29) ^ words[k]) * kPrime;
  }
  std::uint64_t hash = bytes;
  for (; i < bytes; ++i) hash = (hash ^ std::to_integer<std::uint64_t>(p[i])) * kPrime;
  for (std::uint64_t lane : lanes) hash = (std::rotl(hash, 29) ^ lane) * kPrime;
  return hash | 1;
}

}  // namespace

SavedValue::SavedValue(int number, const Var& v)
    : input(number),
      value(v),
      version(v.value().storage().version()),
      fingerprint(v.value().storage().shared() ? fingerprint_of(v.value()) : 0) {}

bool SavedValue::changed() const {
  const Tensor& now = value.value();
  return version != now.storage().version() || (fingerprint && fingerprint != fingerprint_of(now));
}

void SavedValue::refuse(std::string_view op, const std::string& what) const {
  const Storage& memory = value.value().storage();
  const Where written = memory.written_since(version);
  const std::string name = value.name().empty() ? what : what + " (" + value.name() + ")";
  throw StateError(op,
                   "backward needs " + name + " as it was in forward, but it was changed since" +
                       (written.line()                ? " at " + to_string(written)
                        : memory.version() == version ? " through an array that shares its memory"
                                                      : "") +
                       ": call backward before the change, or let forward read a clone()",
                   {{"value", value.value()}});
}

}  // namespace glim

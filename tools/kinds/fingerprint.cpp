#include "tools/kinds/fingerprint.hpp"

#include <cstring>

namespace glim {

std::string weights_hash(const NamedParameters& parameters) {
  Fingerprint hash;
  for (const auto& [name, p] : parameters) {
    const Tensor w = p.value().contiguous();
    visit_dtype(w.dtype(), [&]<class T>() {
      const auto* bytes = reinterpret_cast<const char*>(w.data<T>());
      for (Index i = 0; i < w.bytes(); i += 4) {
        std::uint32_t word;
        std::memcpy(&word, bytes + i, sizeof word);
        hash.mix(word);
      }
    });
  }
  return hash.text();
}

}  // namespace glim

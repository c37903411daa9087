#include "tools/train/amount.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace glim {

std::string choose_by_amount(TrainOptions& o, Index examples) {
  const double root = std::sqrt(static_cast<double>(std::max<Index>(examples, 1)));
  std::string chosen;
  if (o.epochs == 0) {
    o.epochs = std::clamp<Index>(std::llround(1000 / root), 5, 100);
    chosen = fmt::format("--epochs {}", o.epochs);
  }
  if (o.batch_tokens == 0 && o.batch_sentences == 0) {
    // √n / 2 is nearer to 2 B than to B, in powers of two, from n = 8 B² on.
    o.batch_sentences = 16;
    while (o.batch_sentences < 128 && examples >= 8 * o.batch_sentences * o.batch_sentences)
      o.batch_sentences *= 2;
    chosen += fmt::format("{}--batch-sentences {}", chosen.empty() ? "" : " ", o.batch_sentences);
  }
  return chosen.empty() ? "" : fmt::format("  chosen for {} examples: {}", examples, chosen);
}

}  // namespace glim

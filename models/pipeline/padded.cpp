#include "models/pipeline/padded.hpp"

#include <algorithm>

namespace glim {

Tensor padded_rows(const std::vector<const std::vector<std::int64_t>*>& rows, bool begin,
                   bool end) {
  std::int64_t width = 0;
  for (const auto* ids : rows) width = std::max<Index>(width, std::ssize(*ids) + begin + end);
  Tensor padded = full({std::ssize(rows), width}, kPad, DType::Int64);
  auto* row = padded.data<std::int64_t>();
  for (const auto* ids : rows) {
    if (begin) row[0] = kBos;
    std::ranges::copy(*ids, row + begin);
    if (end) row[std::ssize(*ids) + begin] = kEos;
    row += width;
  }
  return padded;
}

EncodedSentence encoded_sentence(const Tokenizer& tokenizer, const std::string& sentence,
                                 Index longest) {
  EncodedSentence e{tokenizer.encode(sentence, longest)};
  const auto room = static_cast<std::size_t>(std::max<Index>(longest - 2, 1));
  e.cut = e.ids.size() > room;
  if (e.cut) e.ids.resize(room);
  e.ids.insert(e.ids.begin(), kBos);
  return e;
}

}  // namespace glim

#include "tools/train/learners/sentences.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "tools/common/counted.hpp"
#include "tools/train/fingerprint.hpp"

namespace glim {

Tensor numbers_of(const std::vector<TokenPair>& pairs, const std::vector<std::int64_t>& rows) {
  std::vector<Index> list;
  for (std::int64_t i : rows) list.push_back(pairs[static_cast<std::size_t>(i)].target[0]);
  return from_vector(list, {static_cast<Index>(list.size())});
}

void SentenceSet::add(const Tokenizer& tokenizer, const std::string& sentence, Index number,
                      Index longest) {
  std::vector<std::int64_t> ids = tokenizer.encode(sentence, longest);
  auto room = static_cast<std::size_t>(std::max<Index>(longest - 2, 1));
  if (ids.size() > room) {
    ids.resize(room);
    ++cut;
    text.push_back(tokenizer.decode(ids));
  } else {
    text.push_back(sentence);
  }
  unknown += static_cast<Index>(std::count(ids.begin(), ids.end(), kUnk));
  ids.insert(ids.begin(), kBos);
  pairs.push_back({std::move(ids), {number}});
}

Tensor padded_ids(const std::vector<TokenPair>& pairs, const std::vector<std::int64_t>& rows) {
  BatchOptions o;
  o.max_sentences = 1;
  o.source_eos = true;
  Batch b = make_batch(pairs, rows, o);
  return from_vector(b.source, {b.size, b.source_length});
}

std::pair<Split, std::int64_t> SentenceBatches::probe(Index i) const {
  Split split = valid.pairs.empty() ? Split::Train : Split::Valid;
  return {split, probe_row(i, static_cast<Index>(part(split).pairs.size()))};
}

std::string SentenceBatches::fingerprint() const {
  Fingerprint f;
  f.mix_pairs(train.pairs);
  return f.text();
}

std::vector<std::string> describe(const SentenceBatches& data, const Tokenizer& tokenizer) {
  std::vector<std::string> lines{
      fmt::format("data: {} training sentences, {} validation; {} tokens in the vocabulary",
                  data.train.pairs.size(), data.valid.pairs.size(), tokenizer.size())};
  if (data.train.cut + data.valid.cut > 0)
    lines.push_back(fmt::format("  cut to --max-length: {}",
                                counted(data.train.cut + data.valid.cut, "sentence")));
  if (data.valid.unknown > 0)
    lines.push_back(fmt::format("  not in the vocabulary: {} of the validation text",
                                counted(data.valid.unknown, "token")));
  return lines;
}

}  // namespace glim

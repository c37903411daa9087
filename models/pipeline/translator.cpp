#include "models/pipeline/translator.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

#include "models/pipeline/copying.hpp"
#include "models/pipeline/described.hpp"
#include "models/pipeline/padded.hpp"
#include "tensor/error.hpp"

namespace glim {

Translator::Translator(const ModelFile& m)
    : model_(described_sequence_model(m)), tokenizers_(described_tokenizers(m)) {
  if (tokenizers_.source->size() != model_->src_vocab() ||
      tokenizers_.target->size() != model_->tgt_vocab())
    throw FileError(m.file, "its tokenizers do not have the vocabulary sizes of its model");
  load_weights(*model_, m);
}

std::vector<std::int64_t> Translator::encode(const std::string& sentence, const std::string& where,
                                             bool truncate) const {
  const Index most = model_->max_len();
  std::vector<std::int64_t> ids;
  try {
    ids = tokenizers_.source->encode(sentence, most);
  } catch (const Error& e) {
    throw FileError(where, e.problem());
  }
  const auto length = static_cast<Index>(ids.size());
  if (length < most) return ids;  // </s> besides
  if (!truncate)
    throw FileError(where,
                    fmt::format("{} tokens, the model takes at most {} (--truncate cuts them)",
                                length / 4 < most ? std::to_string(length)
                                                  : fmt::format("at least {}", 4 * most),
                                most - 1));
  ids.resize(static_cast<std::size_t>(most - 1));
  return ids;
}

bool Translator::attends() const { return model_->attends(); }

std::vector<std::vector<Translation>> Translator::translate(
    const std::vector<std::string>& sentences, const TranslateOptions& o,
    const std::vector<std::string>& names) const {
  if (o.batch < 1) throw ValueError("batch_sentences", "must be 1 at least");
  if (o.alignments && !attends())
    throw ValueError("alignments", "the model has no attention (--attention none)");
  if (o.max_length < 0) throw ValueError("max_tokens", "must not be negative");
  Index most = model_->max_len();
  std::vector<std::vector<std::int64_t>> sources;
  std::optional<CopyNumbering> numbering;
  if (model_->copies()) numbering.emplace(tokenizers_);
  std::vector<CopyNumbers> copies(numbering ? sentences.size() : 0);
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    std::string where = i < names.size() ? names[i] : "sentence " + std::to_string(i + 1);
    std::vector<std::int64_t> ids = encode(sentences[i], where, o.truncate);
    if (numbering) copies[i] = numbering->number(sentences[i], ids.size());
    sources.push_back(std::move(ids));
  }
  // Sentences of similar length meet in a batch.
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < sources.size(); ++i)
    if (!sources[i].empty()) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return sources[a].size() < sources[b].size();
  });
  std::vector<std::vector<Translation>> result(sentences.size());
  for (auto& r : result) r.resize(1);  // blank ones stay so
  SearchOptions search_options;
  search_options.beam = o.beam;
  search_options.n_best = o.n_best;
  search_options.length_penalty = o.length_penalty;
  search_options.keep_attention = o.alignments;
  search_options.ended_first = o.max_length == 0;
  search_options.never = {kPad, kBos, kUnk};
  search_options.bos = kBos;
  search_options.eos = kEos;
  for (std::size_t start = 0; start < order.size(); start += static_cast<std::size_t>(o.batch)) {
    std::size_t end = std::min(order.size(), start + static_cast<std::size_t>(o.batch));
    if (static_cast<Index>(start) / o.batch % o.parts != o.part) {
      for (std::size_t i = start; i < end; ++i) result[order[i]].clear();
      continue;
    }
    std::vector<const std::vector<std::int64_t>*> part;
    std::vector<Index> limits;
    for (std::size_t i = start; i < end; ++i) {
      part.push_back(&sources[order[i]]);
      Index limit = 2 * (std::ssize(*part.back()) + 1) + 10;
      limits.push_back(std::min(o.max_length > 0 ? o.max_length : limit, most));
    }
    SourceBatch source(padded_rows(part, false, true));
    if (numbering) {
      std::vector<const CopyNumbers*> numbers;
      for (std::size_t i = start; i < end; ++i) numbers.push_back(&copies[order[i]]);
      number_words(source, numbers);
    }
    auto found = model_->generate_sequences(source, limits, search_options);
    for (std::size_t i = start; i < end; ++i) {
      std::vector<Translation>& list = result[order[i]];
      list.clear();
      for (Hypothesis& h : found[i - start]) {
        Translation t;
        t.text = numbering ? numbering->decode(h.tokens, copies[order[i]].words)
                           : tokenizers_.target->decode(h.tokens);
        t.score = h.score;
        t.log_prob = h.log_prob;
        t.finished = h.finished;
        if (o.alignments) {
          std::size_t columns = sources[order[i]].size() + 1;
          if (numbering) t.source_pieces = numbering->source_pieces(sentences[order[i]]);
          t.source_pieces.resize(std::min(t.source_pieces.size(), columns - 1));
          for (std::size_t k = t.source_pieces.size(); k + 1 < columns; ++k)
            t.source_pieces.push_back(tokenizers_.source->piece(sources[order[i]][k]));
          t.source_pieces.push_back(tokenizers_.source->piece(kEos));
          for (auto id : h.tokens)
            t.target_pieces.push_back(numbering ? numbering->piece(id, copies[order[i]].words)
                                                : tokenizers_.target->piece(id));
          if (h.finished) t.target_pieces.push_back(tokenizers_.target->piece(kEos));
          for (auto& row : h.attention) row.resize(columns);  // drops the padding
          t.attention = std::move(h.attention);
        }
        list.push_back(std::move(t));
      }
    }
  }
  return result;
}

std::string pharaoh_alignment(const Translation& t) {
  std::string line;
  std::size_t words = t.source_pieces.empty() ? 0 : t.source_pieces.size() - 1;
  std::size_t rows = t.attention.size() - (t.finished && !t.attention.empty() ? 1 : 0);
  for (std::size_t i = 0; i < rows && words > 0; ++i) {
    auto begin = t.attention[i].begin();
    auto best = std::max_element(begin, begin + static_cast<std::ptrdiff_t>(words));
    line += (line.empty() ? "" : " ") + std::to_string(best - begin) + "-" + std::to_string(i);
  }
  return line;
}

}  // namespace glim

#include "models/non_autoregressive/non_autoregressive.hpp"

#include <algorithm>
#include <cmath>

#include "nn/attention/mask.hpp"
#include "nn/init.hpp"
#include "nn/loss.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tensor/portable.hpp"

namespace glim {
namespace {

const NonAutoregressiveConfig& checked(const NonAutoregressiveConfig& c) {
  constexpr std::string_view kModel = "non-autoregressive";
  checked(static_cast<const TransformerConfig&>(c), kModel);
  if (c.copy) throw ValueError(kModel, "does not copy");
  if (c.length_reach < 1)
    throw ValueError(kModel, "the reach of the length predictor must be positive");
  if (!(c.copy_sharpness > 0))
    throw ValueError(kModel, "the sharpness of the soft copy must be positive");
  return c;
}

// (B, 1, 1, T): true for the positions of each row's own length.
Tensor length_keep(const std::vector<Index>& lengths, Index columns) {
  Tensor ends = from_vector(lengths, {std::ssize(lengths), 1, 1, 1});
  return less(arange(0, static_cast<double>(columns)), ends);
}

Index longest(const std::vector<Index>& lengths) {
  return lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
}

}  // namespace

Tensor soft_copy_weights(const std::vector<Index>& source_lengths,
                         const std::vector<Index>& target_lengths, Index columns, double sharpness,
                         DType dtype) {
  if (!(sharpness > 0)) throw ValueError("soft_copy_weights", "the sharpness must be positive");
  auto rows = static_cast<Index>(source_lengths.size());
  Index length = longest(target_lengths);
  std::vector<double> w(rows * length * columns, 0.0);
  for (std::size_t b = 0; b < source_lengths.size(); ++b) {
    Index s_len = source_lengths[b], t_len = target_lengths[b];
    double stretch =
        t_len > 1 ? static_cast<double>(s_len - 1) / static_cast<double>(t_len - 1) : 0;
    for (Index t = 0; t < t_len; ++t) {
      double* row = w.data() + (static_cast<Index>(b) * length + t) * columns;
      double centre = static_cast<double>(t) * stretch, total = 0;
      // The nearest source position is at most 1/2 away: the sum cannot vanish.
      for (Index s = 0; s < s_len; ++s)
        total += row[s] = portable::exp(-std::abs(static_cast<double>(s) - centre) / sharpness);
      for (Index s = 0; s < s_len; ++s) row[s] /= total;
    }
  }
  return from_vector(w, {rows, length, columns}).to(dtype);
}

Rows NonAutoregressiveConfig::rows() {
  Rows all = TransformerConfig::rows();
  std::erase_if(all, [](const Row& row) { return row.name == "copy"; });
  return concatenated(all, {{"eos", &eos},
                            {"length", choice(length),
                             "length of a non-autoregressive output (long: cut at the first END)"},
                            {"length_reach", &length_reach},
                            {"copy_sharpness", &copy_sharpness}});
}

NonAutoregressive::NonAutoregressive(const NonAutoregressiveConfig& config)
    : SequenceModel("non-autoregressive", config), config_(checked(config)) {
  if (config.length == OutputLength::Predict)
    length_predictor = {*this, "length_predictor",
                        std::make_unique<Linear>(config.d_model, 2 * config.length_reach + 1)};
  if (config.tie == Tie::All) generator.weight.tie(src_embed.weight);
  initialise(*this, config, {src_embed.weight});
}

Var NonAutoregressive::encode(const Tensor& src) {
  const AttentionRequest request{.keep = padding_keep(src, config_.pad)};
  Var x = src_embed(src) * std::sqrt(static_cast<double>(config_.d_model));
  return encoder(src_positions(x), request);
}

Var NonAutoregressive::length_logits(const Var& memory, const Tensor& src) {
  if (!length_predictor)
    throw StateError("non-autoregressive", "a model of long outputs predicts no lengths");
  return length_predictor(masked_mean(memory, not_equal(src, static_cast<double>(config_.pad))));
}

DecoderOutput NonAutoregressive::decode(const std::vector<Index>& lengths, const Var& memory,
                                        const Tensor& src, bool need_attention) {
  if (static_cast<Index>(lengths.size()) != src.size(0))
    throw ValueError("non-autoregressive", std::to_string(lengths.size()) + " lengths for " +
                                               std::to_string(src.size(0)) + " sentences");
  for (Index n : lengths)
    if (n < 0) throw ValueError("non-autoregressive", "an output length is negative");
  const AttentionRequest self_request{.keep = length_keep(lengths, longest(lengths))};
  Tensor weights = soft_copy_weights(row_lengths(src, config_.pad), lengths, src.size(1),
                                     config_.copy_sharpness, memory.dtype());
  Var embedded = src_embed(src) * std::sqrt(static_cast<double>(config_.d_model));
  Var copied = matmul(Var(weights), embedded);  // (B, T, S) (B, S, D) -> (B, T, D)
  return decoder(tgt_positions(copied), memory, self_request,
                 memory_request(src, config_.pad, need_attention));
}

Index NonAutoregressive::long_length(Index source_length) const {
  return std::min(2 * source_length + 10, config_.max_len);
}

Var NonAutoregressive::length_loss(const Var& memory, const Tensor& src,
                                   const std::vector<Index>& src_lengths,
                                   const std::vector<Index>& tgt_lengths) {
  std::vector<Index> classes;
  for (std::size_t b = 0; b < src_lengths.size(); ++b)
    classes.push_back(
        std::clamp(tgt_lengths[b] - src_lengths[b], -config_.length_reach, config_.length_reach) +
        config_.length_reach);
  CrossEntropyOptions o;
  o.reduction = Reduction::Sum;
  return cross_entropy(length_logits(memory, src), from_vector(classes, {src.size(0)}), o);
}

TeacherForced NonAutoregressive::teach(const SourceBatch& source, const Tensor& tgt_in,
                                       const TeachOptions& options) {
  if (options.sampling > 0)
    throw ValueError("non-autoregressive",
                     "reads no target tokens: there is nothing for scheduled sampling to replace");
  std::vector<Index> target_lengths = row_lengths(tgt_in, config_.pad), lengths = target_lengths;
  std::vector<Index> sources = row_lengths(source.ids, config_.pad);
  if (target_lengths.size() != sources.size())
    throw ShapeError("non-autoregressive", "batch extents B differ",
                     {{"source", source.ids}, {"tgt_in", tgt_in}});
  if (config_.length == OutputLength::Long)
    for (std::size_t b = 0; b < lengths.size(); ++b)
      lengths[b] = std::max(lengths[b], long_length(sources[b]));
  // As wide as tgt_in, which may have a column of padding in all rows.
  TeacherForced out;
  Var memory = encode(source.ids);
  auto [hidden, attention] = decode(lengths, memory, source.ids, options.need_attention);
  Index length = tgt_in.size(1), have = hidden.size(1);
  auto fit = [&](const Var& x, Index axis) {
    if (have > length) return narrow(x, axis, 0, length);
    if (have == length) return x;
    Shape padding = x.shape();
    padding[static_cast<int>(axis)] = length - have;
    return concatenate(std::vector<Var>{x, Var(zeros(padding, x.dtype()))}, axis);
  };
  out.set_logits(generator, fit(hidden, 1), options.defer_logits);
  for (const Var& a : attention) out.attention.push_back(fit(a, 2));  // (B, H, T, S)
  if (length_predictor) out.auxiliary = length_loss(memory, source.ids, sources, target_lengths);
  return out;
}

std::unique_ptr<StepDecoder> NonAutoregressive::new_decoder(const SourceBatch&) {
  throw StateError("non-autoregressive",
                   "generates all tokens at once, not step by step: call generate_sequences");
}

// The likeliest lengths of each sentence that its limit allows, likeliest first.
std::vector<std::vector<NonAutoregressive::Candidate>> NonAutoregressive::candidates(
    const Var& memory, const Tensor& src, const std::vector<Index>& limits, int count) {
  std::vector<Index> sources = row_lengths(src, config_.pad);
  std::vector<std::vector<Candidate>> lists(sources.size());
  if (!length_predictor) {
    for (std::size_t b = 0; b < sources.size(); ++b) lists[b] = {{long_length(sources[b]), 0.0}};
    return lists;
  }
  Tensor log_probs = log_softmax(length_logits(memory, src).value()).to(DType::Float64);
  auto p = log_probs.to_vector<double>();
  Index reach = config_.length_reach;
  for (std::size_t b = 0; b < sources.size(); ++b) {
    const double* row = p.data() + static_cast<Index>(b) * (2 * reach + 1);
    std::vector<Candidate>& list = lists[b];
    Index most = std::min(limits[b], config_.max_len);
    for (Index d = -reach; d <= reach; ++d)
      if (Index n = sources[b] + d; n >= 1 && n <= most) list.push_back({n, row[d + reach]});
    if (list.empty()) list.push_back({most, 0.0});
    std::ranges::stable_sort(list, std::greater{}, &Candidate::log_prob);
    if (std::ssize(list) > count) list.resize(count);
  }
  return lists;
}

// The likeliest token at each position. log_probs (T, V) float64.
Hypothesis NonAutoregressive::read(const Tensor& log_probs, const Candidate& candidate, Index limit,
                                   const SearchOptions& o) const {
  Hypothesis h;
  h.log_prob = candidate.log_prob;
  Index classes = log_probs.size(1), last = std::min(candidate.length, limit) - 1;
  bool predicted(length_predictor);
  for (Index t = 0; t <= last && !h.finished; ++t) {
    const double* row = log_probs.data<double>() + t * classes;
    Index best = -1;
    for (Index v = 0; v < classes; ++v) {
      if (std::find(o.never.begin(), o.never.end(), v) != o.never.end()) continue;
      if (predicted && (v == o.eos) != (t == last)) continue;  // a length is told: END ends it
      if (best < 0 || row[v] > row[best]) best = v;
    }
    if (best < 0 || !std::isfinite(row[best]))
      throw NonFiniteError("non-autoregressive", "no token has a finite log-probability");
    h.log_prob += row[best];
    if (best == o.eos)
      h.finished = true;
    else
      h.tokens.push_back(best);
  }
  auto length = static_cast<Index>(h.tokens.size()) + (h.finished ? 1 : 0);
  h.score = h.log_prob / length_penalty(length, o.length_penalty);
  return h;
}

std::vector<std::vector<Hypothesis>> NonAutoregressive::generate_sequences(
    const SourceBatch& source, const std::vector<Index>& limits, const SearchOptions& options) {
  require_eval();
  check_search(limits, options);
  if (static_cast<Index>(limits.size()) != source.ids.size(0))
    throw ValueError("non-autoregressive", "there must be one limit for each sentence");
  NoGrad no_tape;
  Var memory = encode(source.ids);
  auto lists = candidates(memory, source.ids, limits, options.beam);
  std::vector<std::vector<Hypothesis>> result(lists.size());
  // The first candidate of every sentence at once, then the second, and so on.
  for (int rank = 0; rank < options.beam; ++rank) {
    std::vector<Index> rows, lengths;
    for (std::size_t b = 0; b < lists.size(); ++b)
      if (rank < std::ssize(lists[b])) {
        rows.push_back(static_cast<Index>(b));
        lengths.push_back(lists[b][rank].length);
      }
    if (rows.empty()) break;
    Tensor picked = from_vector(rows, {static_cast<Index>(rows.size())});
    auto [hidden, attention] =
        decode(lengths, index_select(memory, 0, picked),
               index_select(Var(source.ids), 0, picked).value(), options.keep_attention);
    Tensor log_probs = log_softmax(generate(hidden).value());
    Tensor weights;  // (rows, T, S)
    if (options.keep_attention) weights = mean(attention.back().value(), {1}).to(DType::Float64);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Index b = rows[i];
      Tensor row = select(log_probs, 0, static_cast<Index>(i)).to(DType::Float64).contiguous();
      Hypothesis h = read(row, lists[b][rank], limits[b], options);
      for (std::size_t t = 0; weights.defined() && t < h.tokens.size() + (h.finished ? 1 : 0); ++t)
        h.attention.push_back(
            select(select(weights, 0, static_cast<Index>(i)), 0, static_cast<Index>(t))
                .to_vector<double>());
      result[b].push_back(std::move(h));
    }
  }
  for (auto& list : result) {
    std::ranges::stable_sort(list, std::greater{}, &Hypothesis::score);
    if (std::ssize(list) > options.n_best) list.resize(options.n_best);
  }
  return result;
}

}  // namespace glim

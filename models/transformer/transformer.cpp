#include "models/transformer/transformer.hpp"

#include <algorithm>
#include <cmath>

#include "models/decoding/scheduled_sampling.hpp"
#include "models/size_rows.hpp"
#include "nn/attention/mask.hpp"
#include "nn/init.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"

namespace glim {

Rows TransformerConfig::rows() {
  return {
      {"src_vocab", &src_vocab},
      {"tgt_vocab", &tgt_vocab},
      {"max_len", &max_len},
      size_rows::layers(encoder_layers, "encoder_layers"),
      size_rows::decoder_layers(decoder_layers),
      size_rows::d_model(d_model),
      size_rows::heads(heads),
      size_rows::d_ff(d_ff),
      size_rows::dropout(dropout),
      {.name = "attention_dropout",
       .field = &attention_dropout,
       .help = "dropout of attention (without: as --dropout)",
       .range = kShare,
       .from_start = FromStart::Default},
      {.name = "activation_dropout",
       .field = &activation_dropout,
       .help = "dropout of the feed-forward's hidden layer (without: as --dropout)",
       .range = kShare,
       .from_start = FromStart::Default},
      size_rows::norm(norm),
      size_rows::norm_kind(norm_kind),
      size_rows::activation(activation),
      {"tie", choice(tie), "weights shared by embeddings and generator"},
      {"bias", &bias},
      {"norm_eps", &norm_eps},
      {"final_norm", &final_norm},
      {"embedding_init", &embedding_init,
       "deviation of the initial embeddings (0: xavier-uniform, as other matrices)", kNotNegative},
      {"recompute", choice(recompute), "layers that backward runs again to save memory"},
      {"pad", &pad},
      size_rows::copy(copy),
      size_rows::positions(positions),
      size_rows::position_base(position_base),
      size_rows::share_qk(share_qk),
      size_rows::attention_scale(attention_scale)};
}

const TransformerConfig& checked(const TransformerConfig& c, std::string_view model) {
  auto fail = [&](const std::string& problem) { throw ValueError(model, problem); };
  if (c.src_vocab < 1 || c.tgt_vocab < 1) fail("a vocabulary is empty");
  if (c.d_model < 1 || c.d_ff < 1 || c.encoder_layers < 0 || c.decoder_layers < 1 || c.max_len < 1)
    fail("d_model, d_ff, decoder layers and max_len must be positive");
  if (!(c.embedding_init >= 0 && std::isfinite(c.embedding_init)))
    fail("the deviation of the initial embeddings must be 0 or above, and finite");
  if (c.tie == Tie::All && c.src_vocab != c.tgt_vocab)
    fail("tying all embeddings needs one vocabulary, not " + std::to_string(c.src_vocab) + " and " +
         std::to_string(c.tgt_vocab));
  return c;
}

AttentionRequest memory_request(const Tensor& src, Index pad, bool need_attention) {
  return {.keep = padding_keep(src, pad), .need_weights = need_attention, .average_weights = false};
}

void initialise(Module& model, const TransformerConfig& config,
                const std::vector<Var>& embeddings) {
  for (const Var& p : model.parameters())
    if (p.rank() > 1) xavier_uniform_(p.value());
  if (config.embedding_init > 0)
    for (const Var& table : embeddings) normal_(table.value(), 0, config.embedding_init);
}

Transformer::Transformer(const TransformerConfig& config)
    : Callable("transformer", config), config_(checked(config, "transformer")) {
  Index d = config.d_model;
  if (config.copy) copy = {*this, "copy", std::make_unique<PointerGenerator>(d, d, d)};
  if (config.tie == Tie::All) tgt_embed.weight.tie(src_embed.weight);
  if (config.tie != Tie::None) generator.weight.tie(tgt_embed.weight);
  initialise(*this, config, {src_embed.weight, tgt_embed.weight});
}

Var Transformer::embed(Embedding& table, PositionalEncoding& positions, const Tensor& ids,
                       Index offset) {
  double scale = std::sqrt(static_cast<double>(config_.d_model));
  return positions(scale * table(ids), offset);
}

Var Transformer::encode(const Tensor& src) {
  const AttentionRequest request{.keep = padding_keep(src, config_.pad)};
  return encoder(embed(src_embed, src_positions, src), request);
}

DecoderOutput Transformer::decode(const Tensor& tgt_in, const Var& memory, const Tensor& src,
                                  bool need_attention) {
  return decode_embedded(embed(tgt_embed, tgt_positions, tgt_in), tgt_in, memory, src,
                         need_attention);
}

DecoderOutput Transformer::decode_embedded(const Var& x, const Tensor& tgt_in, const Var& memory,
                                           const Tensor& src, bool need_attention) {
  const AttentionRequest self_request{.keep = decoder_keep(tgt_in, config_.pad)};
  return decoder(x, memory, self_request, memory_request(src, config_.pad, need_attention));
}

Var Transformer::forward(const Tensor& src, const Tensor& tgt_in) {
  return generate(decode(tgt_in, encode(src), src).hidden);
}

TeacherForced Transformer::teach(const SourceBatch& source, const Tensor& tgt_in,
                                 const TeachOptions& options) {
  Var memory = encode(source.ids);
  Tensor read = tgt_in;
  if (options.sampling > 0) {
    NoGrad first_pass;
    Tensor best = argmax(answer(tgt_in, memory.detach(), source, {}).logits.value(), -1);
    read = mix_predictions(tgt_in, best, options.sampling, glim::generator().next(), config_.pad);
  }
  return answer(read, memory, source, options);
}

TeacherForced Transformer::answer(const Tensor& tgt_in, const Var& memory,
                                  const SourceBatch& source, const TeachOptions& options) {
  TeacherForced out;
  Tensor known = copy ? embeddable(tgt_in, config_.tgt_vocab, config_.unk) : tgt_in;
  Var x = embed(tgt_embed, tgt_positions, known);
  auto [hidden, attention] =
      decode_embedded(x, known, memory, source.ids, options.need_attention || copy);
  out.set_logits(generator, hidden, options.defer_logits && !copy);
  if (copy) {
    Var last = mean(attention.back(), {1});                // (B, H, T, S) -> (B, T, S)
    Var context = named(matmul(last, memory), "context");  // (B, T, S) (B, S, D) -> (B, T, D)
    out.logits = copy(out.logits, last, context, hidden, x, source.copy_ids, source.extra);
  }
  if (options.need_attention) out.attention = std::move(attention);
  return out;
}

// ---- decoding ----

// Keys and values are kept, each step computes one position.
class CachedTransformerDecoder final : public StepDecoder {
 public:
  CachedTransformerDecoder(Transformer& model, const SourceBatch& source)
      : model_(model), source_(source) {
    NoGrad no_tape;
    const Tensor& src = source.ids;
    Var memory = model.encode(src);
    if (model.copy) memory_ = memory.value();
    for (DecoderLayer& layer : model.decoder.layers)
      caches_.push_back({{}, layer.multihead_attn.project(memory)});
    keep_ = padding_keep(src, model.config().pad);
    for (Index i = 0; i < src.size(0); ++i) sentence_.push_back(i);
    memories_ = sentence_;
  }

  Tensor step(const std::vector<Index>& tokens) override {
    NoGrad no_tape;
    auto rows = static_cast<Index>(tokens.size());
    const TransformerConfig& c = model_.config();
    Tensor ids = from_vector(tokens, {rows, 1});
    if (model_.copy) ids = embeddable(ids, c.tgt_vocab, c.unk);
    const AttentionRequest request{.keep = keep_, .need_weights = wants_attention_};
    Var x = model_.embed(model_.tgt_embed, model_.tgt_positions, ids, length_++), weights;
    auto [hidden, attention] =
        model_.decoder(x, Var(), AttentionRequest{.causal = true}, request, &caches_);
    if (wants_attention_) attention_ = (weights = attention.back()).value();
    Var logits = model_.generate(hidden);  // (rows, 1, V)
    if (model_.copy)
      logits = model_.copy(logits, weights, matmul(weights, Var(memory_)), hidden, x,
                           source_.copy_ids, source_.extra);
    return select(logits.value(), 1, 0);
  }

  void select_rows(const std::vector<Index>& rows) override {
    bool unchanged = rows.size() == sentence_.size();
    for (std::size_t i = 0; i < rows.size() && unchanged; ++i)
      unchanged = rows[i] == static_cast<Index>(i);
    if (unchanged) return;
    std::vector<Index> sentence;
    for (Index r : rows) sentence.push_back(sentence_[r]);
    bool same = sentence == sentence_;
    sentence_ = std::move(sentence);
    Tensor picked = from_vector(rows, {static_cast<Index>(rows.size())});
    for (DecoderLayerCache& c : caches_) c.self.select_rows(picked);
    if (same) return;
    select_memories();
    if (!model_.copy) return;
    memory_ = index_select(memory_, 0, picked);
    source_.copy_ids = index_select(source_.copy_ids, 0, picked);
  }

  void keep_attention(bool enabled) override { wants_attention_ = enabled || model_.copy; }

  Tensor attention() const override {
    return attention_.defined() ? select(attention_, 1, -1) : Tensor();
  }

 private:
  // One memory for all rows of a sentence if sentences have equally many rows and these are together;
  // else one memory for each row.
  void select_memories() {
    std::vector<Index> sentences;
    std::unique_copy(sentence_.begin(), sentence_.end(), std::back_inserter(sentences));
    std::size_t each = sentences.empty() ? 1 : sentence_.size() / sentences.size();
    for (std::size_t i = 0; i < sentence_.size(); ++i)
      if (i / each >= sentences.size() || sentence_[i] != sentences[i / each]) {
        sentences = sentence_;
        break;
      }
    if (sentences == memories_) return;
    std::vector<Index> rows;
    for (Index s : sentences)
      rows.push_back(std::find(memories_.begin(), memories_.end(), s) - memories_.begin());
    Tensor picked = from_vector(rows, {static_cast<Index>(rows.size())});
    for (DecoderLayerCache& c : caches_) c.memory.select_rows(picked);
    keep_ = index_select(keep_, 0, picked);
    memories_ = std::move(sentences);
  }

  Transformer& model_;
  std::vector<DecoderLayerCache> caches_;
  SourceBatch source_;
  std::vector<Index> sentence_;  // each row's sentence
  std::vector<Index> memories_;  // the sentences whose keys and values the caches hold
  Tensor keep_, attention_, memory_;
  bool wants_attention_ = true;
  Index length_ = 0;
};

std::unique_ptr<StepDecoder> Transformer::new_decoder(const SourceBatch& source) {
  return std::make_unique<CachedTransformerDecoder>(*this, source);
}

}  // namespace glim

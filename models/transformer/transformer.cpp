#include "models/transformer/transformer.hpp"

#include <algorithm>
#include <cmath>

#include "models/decoding/scheduled_sampling.hpp"
#include "nn/attention/mask.hpp"
#include "nn/init.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"

namespace glim {

void check_sizes(const TransformerConfig& c, std::string_view model) {
  auto fail = [&](const std::string& problem) { throw ValueError(model, problem); };
  if (c.src_vocab < 1 || c.tgt_vocab < 1) fail("a vocabulary is empty");
  if (c.d_model < 1 || c.d_ff < 1 || c.encoder_layers < 0 || c.decoder_layers < 1 || c.max_len < 1)
    fail("d_model, d_ff, decoder layers and max_len must be positive");
  if (c.heads < 1 || c.d_model % c.heads != 0)
    fail(std::to_string(c.heads) + " heads do not divide d_model " + std::to_string(c.d_model));
  for (double p :
       {c.dropout, std::max(c.attention_dropout, 0.0), std::max(c.activation_dropout, 0.0)})
    if (!(p >= 0 && p < 1)) fail("dropout " + std::to_string(p) + " lies outside [0, 1)");
  if (!(c.embedding_init >= 0 && std::isfinite(c.embedding_init)))
    fail("the deviation of the initial embeddings must be 0 or above, and finite");
  if (c.tie == Tie::All && c.src_vocab != c.tgt_vocab)
    fail("tying all embeddings needs one vocabulary, not " + std::to_string(c.src_vocab) + " and " +
         std::to_string(c.tgt_vocab));
}

LayerSizes layer_sizes(const TransformerConfig& c, Recompute from) {
  LayerSizes s;
  s.d_model = c.d_model;
  s.heads = c.heads;
  s.d_ff = c.d_ff;
  s.dropout = c.dropout;
  s.attention_dropout = c.attention_dropout;
  s.activation_dropout = c.activation_dropout;
  s.norm = c.norm;
  s.activation = c.activation;
  s.norm_eps = c.norm_eps;
  s.positions = relative_part(c.positions);
  s.recompute = c.recompute >= from;
  return s;
}

void initialise(Module& model, const TransformerConfig& config,
                const std::vector<Var>& embeddings) {
  for (const Var& p : model.parameters())
    if (p.rank() > 1) xavier_uniform_(p.value());
  if (config.embedding_init > 0)
    for (const Var& table : embeddings) normal_(table.value(), 0, config.embedding_init);
}

RelativePositions relative_part(Positions positions) {
  switch (positions) {
    case Positions::Rotary:
      return RelativePositions::Rotary;
    case Positions::Alibi:
      return RelativePositions::Alibi;
    default:
      return RelativePositions::None;
  }
}

namespace {

const TransformerConfig& checked(const TransformerConfig& config) {
  check_sizes(config, "transformer");
  return config;
}

}  // namespace

Transformer::Transformer(const TransformerConfig& config)
    : src_embed(child<Embedding>("src_embed", checked(config).src_vocab, config.d_model)),
      tgt_embed(child<Embedding>("tgt_embed", config.tgt_vocab, config.d_model)),
      encoder(child<Encoder>("encoder", config.encoder_layers,
                             layer_sizes(config, Recompute::Encoder))),
      decoder(
          child<Decoder>("decoder", config.decoder_layers, layer_sizes(config, Recompute::All))),
      generator(child<Linear>("generator", config.d_model, config.tgt_vocab)),
      config_(config),
      src_positions_(add_positions("src_positions")),
      tgt_positions_(add_positions("tgt_positions")) {
  if (config.tie == Tie::All) tgt_embed.weight = src_embed.weight;
  if (config.tie != Tie::None) generator.weight = tgt_embed.weight;
  if (config.copy)
    copy = &child<PointerGenerator>("copy", config.d_model, config.d_model, config.d_model);
  initialise(*this, config, {src_embed.weight, tgt_embed.weight});
}

PositionalEncoding& Transformer::add_positions(std::string_view name) {
  if (config_.positions == Positions::Learned)
    return child<LearnedPositionalEmbedding>(name, config_.d_model, config_.dropout,
                                             config_.max_len);
  if (relative_part(config_.positions) != RelativePositions::None)
    return child<NoPositionalEncoding>(name, config_.d_model, config_.dropout);
  // The table grows on demand: no need to start with all of it.
  return child<SinusoidalPositionalEncoding>(name, config_.d_model, config_.dropout,
                                             std::min<Index>(config_.max_len, 512));
}

Var Transformer::embed(Embedding& table, PositionalEncoding& positions, const Tensor& ids,
                       Index offset) {
  double scale = std::sqrt(static_cast<double>(config_.d_model));
  return positions.forward(mul(table.forward(ids), scale), offset);
}

Var Transformer::encode(const Tensor& src) {
  AttentionRequest request;
  request.keep = padding_keep(src, config_.pad);
  return encoder.forward(embed(src_embed, src_positions_, src), request);
}

Var Transformer::decode(const Tensor& tgt_in, const Var& memory, const Tensor& src,
                        std::vector<Var>* attention) {
  return decode_embedded(embed(tgt_embed, tgt_positions_, tgt_in), tgt_in, memory, src, attention);
}

Var Transformer::decode_embedded(const Var& x, const Tensor& tgt_in, const Var& memory,
                                 const Tensor& src, std::vector<Var>* attention) {
  AttentionRequest self_request, memory_request;
  self_request.keep = decoder_keep(tgt_in, config_.pad);
  memory_request.keep = padding_keep(src, config_.pad);
  return decoder.forward(x, memory, self_request, memory_request, attention);
}

Var Transformer::generate(const Var& hidden) { return generator.forward(hidden); }

Var Transformer::forward(const Tensor& src, const Tensor& tgt_in) {
  return generate(decode(tgt_in, encode(src), src));
}

Taught Transformer::teach(const SourceBatch& source, const Tensor& tgt_in,
                          const TeachOptions& options) {
  Taught out;
  Var memory = encode(source.ids);
  Tensor read = tgt_in;
  if (options.sampling > 0) {
    NoGrad first_pass;
    Tensor said = argmax(answer(tgt_in, memory.detach(), source, nullptr).value(), -1);
    read = mix_predictions(tgt_in, said, options.sampling, glim::generator().next(), config_.pad);
  }
  std::vector<Var>* attention = options.need_attention ? &out.attention : nullptr;
  if (options.defer_logits && !copy) {
    out.hidden = decode(read, memory, source.ids, attention);
    out.head = &generator;
  } else {
    out.logits = answer(read, memory, source, attention);
  }
  return out;
}

Var Transformer::answer(const Tensor& tgt_in, const Var& memory, const SourceBatch& source,
                        std::vector<Var>* attention) {
  if (!copy) return generate(decode(tgt_in, memory, source.ids, attention));
  Tensor known = embeddable(tgt_in, config_.tgt_vocab, config_.unk);
  std::vector<Var> seen;
  Var x = embed(tgt_embed, tgt_positions_, known);
  Var hidden = decode_embedded(x, known, memory, source.ids, &seen);
  Var last = mean(seen.back(), {1});  // (B, H, T, S) -> (B, T, S)
  if (attention) *attention = std::move(seen);
  Var context = named(matmul(last, memory), "context");  // (B, T, S) (B, S, D) -> (B, T, D)
  return copy->forward(generate(hidden), last, context, hidden, x, source);
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
    for (DecoderLayer* layer : model.decoder.layers) {
      DecoderLayerCache cache;
      cache.memory = layer->multihead_attn.project(memory);
      caches_.push_back(std::move(cache));
    }
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
    AttentionRequest request;
    request.keep = keep_;
    Var x = model_.embed(model_.tgt_embed, model_.tgt_positions_, ids, length_++);
    Var hidden = model_.decoder.forward_cached(x, caches_, request,
                                               wants_attention_ ? &attention_ : nullptr);
    Var logits = model_.generate(hidden);  // (rows, 1, V)
    if (model_.copy)
      logits =
          model_.copy->forward(logits, attention_, matmul(attention_, memory_), hidden, x, source_);
    return logits.value().select(1, 0);
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

  void keep_attention(bool wanted) override { wants_attention_ = wanted || model_.copy; }

  Tensor attention() const override {
    return attention_.defined() ? attention_.select(1, -1) : Tensor();
  }

 private:
  // One memory for the rows of a sentence, where all have as many rows and they lie together; else
  // one for each row.
  void select_memories() {
    std::vector<Index> wanted;
    for (Index s : sentence_)
      if (wanted.empty() || wanted.back() != s) wanted.push_back(s);
    std::size_t each = wanted.empty() ? 1 : sentence_.size() / wanted.size();
    for (std::size_t i = 0; i < sentence_.size(); ++i)
      if (i / each >= wanted.size() || sentence_[i] != wanted[i / each]) {
        wanted = sentence_;
        break;
      }
    if (wanted == memories_) return;
    std::vector<Index> rows;
    for (Index s : wanted)
      rows.push_back(std::find(memories_.begin(), memories_.end(), s) - memories_.begin());
    Tensor picked = from_vector(rows, {static_cast<Index>(rows.size())});
    for (DecoderLayerCache& c : caches_) c.memory.select_rows(picked);
    keep_ = index_select(keep_, 0, picked);
    memories_ = std::move(wanted);
  }

  Transformer& model_;
  std::vector<DecoderLayerCache> caches_;
  SourceBatch source_;
  std::vector<Index> sentence_;  // of each row
  std::vector<Index> memories_;  // the sentences whose keys and values the caches hold
  Tensor keep_, attention_, memory_;
  bool wants_attention_ = true;
  Index length_ = 0;
};

std::unique_ptr<StepDecoder> Transformer::decoder_for(const SourceBatch& source, bool cached) {
  if (training())
    throw StateError("transformer", "decoding needs eval(): dropout would make it random");
  if (cached) return std::make_unique<CachedTransformerDecoder>(*this, source);
  return decoder_by_prefix(*this, source);
}

}  // namespace glim

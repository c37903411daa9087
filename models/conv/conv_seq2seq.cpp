#include "models/conv/conv_seq2seq.hpp"

#include <cmath>

#include "models/decoding/scheduled_sampling.hpp"
#include "models/size_rows.hpp"
#include "nn/activation.hpp"
#include "nn/attention/mask.hpp"
#include "nn/init.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"

namespace glim {
namespace {

const double kHalf = std::sqrt(0.5);

const ConvSeq2SeqConfig& checked(const ConvSeq2SeqConfig& c) {
  auto fail = [](const std::string& problem) { throw ValueError("conv_seq2seq", problem); };
  if (c.src_vocab < 1 || c.tgt_vocab < 1) fail("a vocabulary is empty");
  if (c.d_model < 1 || c.encoder_layers < 0 || c.decoder_layers < 1 || c.max_len < 1)
    fail("d_model, decoder layers and max_len must be positive");
  if (c.kernel < 1) fail("the kernel size " + std::to_string(c.kernel) + " is below 1");
  return c;
}

void normal_for(const Var& weight, double gain) {
  auto inputs = static_cast<double>(fans_of(weight.shape()).in);
  normal_(weight.value(), 0, std::sqrt(gain / inputs));
}

}  // namespace

GatedConvolution::GatedConvolution(const ConvSeq2SeqConfig& c, ConvPadding mode, bool asks)
    : GLIM_NAMED(conv, c.d_model, 2 * c.d_model, c.kernel, Conv1dOptions{.mode = mode}),
      GLIM_NAMED(dropout, c.dropout),
      GLIM_NAMED(query, asks ? std::make_unique<Linear>(c.d_model, c.d_model) : nullptr) {
  normal_for(conv.weight, 4 * (1 - c.dropout));
  conv.bias.value().fill_(0);
  if (!query) return;
  normal_for(query->weight, 1);
  query->bias.value().fill_(0);
}

Var GatedConvolution::forward(const Var& x) {
  Var sequence = transpose(dropout(x), 1, 2);      // (B, T, D) -> (B, D, T)
  return glu(transpose(conv(sequence), 1, 2), 2);  // (B, T, 2D) -> (B, T, D)
}

Var GatedConvolution::forward_window(const Var& x) {
  return in_scope([&] { return glu(transpose(conv.forward_window(transpose(x, 1, 2)), 1, 2), 2); });
}

ConvEncoder::ConvEncoder(const ConvSeq2SeqConfig& c) : GLIM_NAMED(layers) {
  for (Index i = 0; i < c.encoder_layers; ++i) layers.append(c, ConvPadding::Same, false);
}

Var ConvEncoder::forward(const Var& e, const Tensor& keep) {
  Var real(unsqueeze(keep, 2).to(e.dtype()));  // (B, S, 1)
  Var h = e * real;
  for (GatedConvolution& layer : layers) h = (layer(h) + h) * kHalf * real;
  return h;
}

ConvDecoder::ConvDecoder(const ConvSeq2SeqConfig& c) : GLIM_NAMED(layers) {
  for (Index i = 0; i < c.decoder_layers; ++i) layers.append(c, ConvPadding::Causal, true);
}

ConvOutput ConvDecoder::forward(const Var& g, const ConvMemory& memory, bool need_attention,
                                std::vector<Tensor>* windows) {
  ConvOutput out{g, {}};
  // The paper's scores are not divided by √D: the query takes the factor back.
  const double root = std::sqrt(static_cast<double>(g.size(-1)));
  for (std::size_t i = 0; i < layers.size(); ++i) {
    GatedConvolution& layer = layers[i];
    const Var h = out.hidden;
    Var u;
    if (windows) {
      Tensor& last = (*windows)[i];
      last = concatenate(std::vector<Tensor>{narrow(last, 1, 1, last.size(1) - 1), h.value()}, 1);
      u = layer.forward_window(Var(last));
    } else {
      u = layer(h);
    }
    layer.in_scope([&] {
      Var query = (layer.query(u) + g) * (kHalf * root);
      AttentionResult a =
          scaled_dot_product_attention(named(query, "query"), memory.keys, memory.values,
                                       {memory.keep, {}}, 0, {}, need_attention);
      Var context = a.context * memory.root;
      out.hidden = ((u + context) * kHalf + h) * kHalf;
      if (need_attention) out.attention.push_back(a.probs);
    });
  }
  return out;
}

Rows ConvSeq2SeqConfig::rows() {
  return {{"src_vocab", &src_vocab},
          {"tgt_vocab", &tgt_vocab},
          {"max_len", &max_len},
          size_rows::layers(encoder_layers, "encoder_layers"),
          size_rows::decoder_layers(decoder_layers),
          size_rows::d_model(d_model),
          size_rows::kernel(kernel),
          size_rows::dropout(dropout),
          {"pad", &pad},
          size_rows::positions(positions, size_rows::kAdded),
          size_rows::position_base(position_base)};
}

ConvSeq2Seq::ConvSeq2Seq(const ConvSeq2SeqConfig& c)
    : SequenceModel("conv_seq2seq", c), config_(checked(c)) {
  for (const Param* table :
       {&src_embed.weight, &tgt_embed.weight, &src_positions.weight, &tgt_positions.weight})
    if (table->defined()) normal_(table->value(), 0, 0.1);
  normal_for(generator.weight, 1 - c.dropout);
  generator.bias.value().fill_(0);
}

ConvMemory ConvSeq2Seq::encode(const Tensor& src) {
  if (src.rank() != 2) throw ShapeError("conv_seq2seq", "ids must be (B, S)", {{"src", src}});
  Tensor keep = not_equal(src, static_cast<double>(config_.pad));
  Var e = src_positions(src_embed(src));
  Var z = encoder(e, keep);
  // m, as a matrix for each sentence: (B, S) -> (B, 1, 1)
  Tensor count = unsqueeze(sum(keep.to(e.dtype()), {1}, true), 2);
  return {z, (z + e) * kHalf, unsqueeze(keep, 1), Var(sqrt(count))};
}

Var ConvSeq2Seq::embed_target(const Tensor& ids, Index offset) {
  return tgt_positions(tgt_embed(ids), offset);
}

Var ConvSeq2Seq::generate(const Var& hidden) { return generator(dropout(hidden)); }

TeacherForced ConvSeq2Seq::teach(const SourceBatch& source, const Tensor& tgt_in,
                                 const TeachOptions& options) {
  if (tgt_in.rank() != 2)
    throw ShapeError("conv_seq2seq", "ids must be (B, T)", {{"tgt_in", tgt_in}});
  ConvMemory memory = encode(source.ids);
  Tensor read = tgt_in;
  if (options.sampling > 0) {
    NoGrad first_pass;
    Var logits = generate(decoder(embed_target(tgt_in), memory, false).hidden);
    read = mix_predictions(tgt_in, argmax(logits.value(), -1), options.sampling,
                           glim::generator().next(), config_.pad);
  }
  ConvOutput decoded = decoder(embed_target(read), memory, options.need_attention);
  TeacherForced out;
  out.attention = std::move(decoded.attention);
  out.set_logits(generator, dropout(decoded.hidden), options.defer_logits);
  return out;
}

// ---- decoding ----

namespace {

// The last k inputs of each layer are kept; each step computes one position.
class CachedConvDecoder final : public StepDecoder {
 public:
  CachedConvDecoder(ConvSeq2Seq& model, const Tensor& src) : model_(model) {
    NoGrad no_tape;
    memory_ = model.encode(src);
    Shape window{src.size(0), model.config().kernel, model.config().d_model};
    for (std::size_t i = 0; i < model.decoder.layers.size(); ++i)
      windows_.push_back(zeros(window, memory_.keys.dtype()));
    for (Index i = 0; i < src.size(0); ++i) sentence_.push_back(i);
  }

  Tensor step(const std::vector<Index>& tokens) override {
    NoGrad no_tape;
    auto rows = static_cast<Index>(tokens.size());
    Var g = model_.embed_target(from_vector(tokens, {rows, 1}), length_++);
    auto [hidden, attention] = model_.decoder(g, memory_, true, &windows_);
    attention_ = select(attention.back().value(), 1, 0);
    return model_.generate(select(hidden, 1, 0)).value();
  }

  void select_rows(const std::vector<Index>& rows) override {
    Tensor picked = from_vector(rows, {static_cast<Index>(rows.size())});
    for (Tensor& window : windows_) window = index_select(window, 0, picked);
    std::vector<Index> sentence;
    for (Index r : rows) sentence.push_back(sentence_[r]);
    if (sentence == sentence_) return;  // a beam's rows share their sentence's memory
    sentence_ = std::move(sentence);
    for (Var* v : {&memory_.keys, &memory_.values, &memory_.root})
      *v = Var(index_select(v->value(), 0, picked));
    memory_.keep = index_select(memory_.keep, 0, picked);
  }

  Tensor attention() const override { return attention_; }

 private:
  ConvSeq2Seq& model_;
  ConvMemory memory_;
  std::vector<Tensor> windows_;  // (rows, k, D) each
  std::vector<Index> sentence_;  // each row's sentence
  Tensor attention_;
  Index length_ = 0;
};

}  // namespace

std::unique_ptr<StepDecoder> ConvSeq2Seq::new_decoder(const SourceBatch& source) {
  return std::make_unique<CachedConvDecoder>(*this, source.ids);
}

}  // namespace glim

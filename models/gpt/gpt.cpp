#include "models/gpt/gpt.hpp"

#include <cmath>
#include <set>

#include "models/size_rows.hpp"
#include "nn/init.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/index.hpp"

namespace glim {
namespace {

GptConfig checked(GptConfig c) {
  auto fail = [](const std::string& problem) { throw ValueError("gpt", problem); };
  if (c.vocab < 1) fail("the vocabulary is empty");
  if (c.d_ff == 0) c.d_ff = 4 * c.d_model;
  if (c.d_model < 1 || c.d_ff < 1 || c.layers < 1 || c.context < 1)
    fail("d_model, d_ff, layers and the context must be positive");
  if (c.never_predicted < 0 || c.never_predicted >= c.vocab) fail("no token would be left to say");
  if (!(c.init > 0)) fail("the deviation of the initial weights must be above 0");
  return c;
}

LayerSizes sizes_of(const GptConfig& c) {
  LayerSizes s{c.d_model,          c.heads,      c.d_ff,     c.dropout,
               NormPlacement::Pre, c.activation, c.norm_eps, c.bias};
  s.activation_dropout = 0;  // nanoGPT has none on the hidden layer
  s.positions = c.positions;
  s.qk_norm = c.qk_norm;
  s.share_qk = c.share_qk;
  s.norm_kind = c.norm_kind;
  s.feed_forward = c.feed_forward;
  s.kv_heads = c.kv_heads;
  s.attention_scale = c.attention_scale;
  s.form = c.attention_form;
  return s;
}

const std::vector<Activation> kSmooth = {Activation::Gelu, Activation::GeluTanh, Activation::Silu};

}  // namespace

Rows GptConfig::rows() {
  return {{"vocab", &vocab},
          {.name = "context",
           .field = &context,
           .help = "tokens of context",
           .range = kPositive,
           .option = "block",
           .from_start = FromStart::AtMost},
          size_rows::layers(layers),
          size_rows::d_model(d_model),
          size_rows::heads(heads),
          size_rows::d_ff(d_ff),
          size_rows::dropout(dropout),
          size_rows::activation(activation, kSmooth),
          {"bias", &bias, "biases in layers and norms"},
          {"norm_eps", &norm_eps},
          size_rows::init(init),
          {"never_predicted", &never_predicted},
          size_rows::positions(positions),
          size_rows::position_base(position_base),
          size_rows::norm_kind(norm_kind),
          {.name = "feed_forward",
           .field = choice(feed_forward),
           .help = "plain, or gated by a second projection: SwiGLU with --activation silu"},
          {"kv_heads", &kv_heads, "heads of keys and values; must divide H (0: as many)", kCount},
          {"qk_norm", &qk_norm, "layer norms of each head's queries and keys, after rotary angles"},
          size_rows::share_qk(share_qk),
          size_rows::attention_scale(attention_scale),
          {.name = "attention_form",
           .field = choice(attention_form),
           .help = "weights of scores S: softmax(S), relu(S)/n for n keys, or S"}};
}

Gpt::Gpt(const GptConfig& config)
    : config_(checked(config)),
      GLIM_NAMED(wte, config.vocab, config.d_model),
      GLIM_NAMED(wpe, config.positions, config.d_model, config.dropout, config.context,
                 config.position_base),
      GLIM_NAMED(transformer, config.layers, sizes_of(config_)),
      GLIM_NAMED(lm_head, config.d_model, config.vocab, false) {
  lm_head.weight.tie(wte.weight);
  std::set<const Leaf*> last;  // last weights of residual branches
  for (EncoderLayer& layer : transformer.layers)
    last.insert({&layer.self_attn.out_proj.weight.leaf(), &layer.linear2.weight.leaf()});
  const double branches = std::sqrt(2 * static_cast<double>(config.layers));
  for (const Var& p : parameters())
    if (p.rank() > 1)
      normal_(p.value(), 0, config.init / (last.contains(&p.leaf()) ? branches : 1));
  zero_biases(*this);
}

Var Gpt::forward(const Tensor& ids) {
  if (ids.rank() != 2 || ids.size(1) < 1)
    throw ShapeError("gpt", "ids must be (B, T) with T at least 1", {{"ids", ids}});
  return logits(transformer(wpe(wte(ids)), AttentionRequest{.causal = true}));
}

Var Gpt::logits(const Var& hidden) {
  Var scores = lm_head(hidden);
  if (config_.never_predicted == 0) return scores;
  Tensor never = zeros({config_.vocab}, scores.dtype());
  narrow(never, 0, 0, config_.never_predicted).fill_(-1000);
  return scores + never;
}

// Each row's context, of which the first `computed_` tokens are in the caches.
class GptDecoder final : public StepDecoder {
 public:
  GptDecoder(Gpt& model, const Tensor& prefix, Index slide)
      : model_(model),
        context_(prefix.clone()),
        slide_(slide),
        caches_(model.transformer.layers.size()) {}

  Tensor step(const std::vector<Index>& tokens) override {
    NoGrad no_tape;
    auto rows = static_cast<Index>(tokens.size());
    if (rows != context_.size(0))
      throw ValueError("gpt", std::to_string(rows) + " tokens for " +
                                  std::to_string(context_.size(0)) + " rows");
    if (context_.size(1) == model_.config().context) {
      context_ = slice(context_, 1, slide_, context_.size(1));
      computed_ = 0;
      for (KeyValueCache& c : caches_) c = {};
    }
    context_ = concatenate(std::vector<Tensor>{context_, from_vector(tokens, {rows, 1})}, 1);
    Tensor fresh = slice(context_, 1, computed_, context_.size(1));
    Var x = model_.wpe(model_.wte(fresh), computed_);
    Var hidden = model_.transformer(x, AttentionRequest{.causal = true}, &caches_);
    computed_ = context_.size(1);
    return model_.logits(select(hidden, 1, -1)).value();  // (B, n, D) -> (B, D) -> (B, V)
  }

  void select_rows(const std::vector<Index>& rows) override {
    Tensor picked = from_vector(rows, {static_cast<Index>(rows.size())});
    context_ = index_select(context_, 0, picked);
    for (KeyValueCache& c : caches_) c.select_rows(picked);
  }

 private:
  Gpt& model_;
  Tensor context_;  // (B, length)
  Index slide_;
  std::vector<KeyValueCache> caches_;
  Index computed_ = 0;
};

std::unique_ptr<StepDecoder> Gpt::decoder_for(const Tensor& prefix, Index slide) {
  if (training()) throw StateError("gpt", "decoding needs eval(): dropout would make it random");
  if (prefix.rank() != 2 || prefix.dtype() != DType::Int64)
    throw ShapeError("gpt", "the prefix must be (B, n) int64", {{"prefix", prefix}});
  if (prefix.size(1) >= config_.context)
    throw ValueError("gpt", "a prefix of " + std::to_string(prefix.size(1)) +
                                " tokens leaves no room in a context of " +
                                std::to_string(config_.context));
  if (slide < 0 || slide > config_.context)
    throw ValueError("gpt", "a slide of " + std::to_string(slide) + " is outside [0, " +
                                std::to_string(config_.context) + "]");
  if (slide == 0) slide = (config_.context + 3) / 4;
  return std::make_unique<GptDecoder>(*this, prefix, slide);
}

}  // namespace glim

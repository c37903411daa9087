// A gradient check for every layer and loss of nn/: inputs and all parameters, fused and explicit,
// and the gradient of the gradient.
#include "nn/activation.hpp"
#include "nn/attention/multihead.hpp"
#include "nn/attention/positions.hpp"
#include "nn/attention/self.hpp"
#include "nn/embedding.hpp"
#include "nn/feed_forward.hpp"
#include "nn/loss.hpp"
#include "nn/residual.hpp"
#include "nn/sequential.hpp"
#include "nn/vision/batch_norm.hpp"
#include "tensor/ops/index.hpp"
#include "tools/gradient_cases/ids.hpp"
#include "tools/gradient_cases/layer_cases.hpp"

namespace glim {
namespace {

using namespace specs;

void add_basic(LayerCases& c) {
  const std::string f = "layers";
  c.add(f, "Linear", "(B, T, D)", Shape{2, 3, 4}, layer<Linear>(4, 5));
  c.add(f, "Linear", "without bias", Shape{3, 4}, layer<Linear>(4, 2, false));
  c.add(f, "Linear", "one vector", Shape{4}, layer<Linear>(4, 3));
  c.add(f, "Embedding", "repeated ids", std::nullopt, [] {
    return subject(std::make_shared<Embedding>(5, 3), [](Embedding& e, const Var&) {
      return e(ids({1, 4, 4, 0}, {2, 2}));
    });
  });
  c.add(f, "LayerNorm", "affine", Shape{2, 3, 5}, layer<LayerNorm>(5));
  c.add(f, "LayerNorm", "without bias", Shape{3, 5}, layer<LayerNorm>(5, 1e-5, true, false));
  c.add(f, "LayerNorm", "not affine, eps 0.1", Shape{3, 5}, layer<LayerNorm>(5, 0.1, false));
  c.add(f, "BatchNorm", "(B, C)", Shape{5, 3}, layer<BatchNorm>(3));
  c.add(f, "BatchNorm", "(B, C, T)", Shape{2, 3, 4}, layer<BatchNorm>(3));
  c.add(f, "BatchNorm", "not affine", Shape{4, 3}, layer<BatchNorm>(3, 1e-5, 0.1, false));
  c.add(f, "BatchNorm", "eval", Shape{5, 3}, [] {
    auto norm = std::make_shared<BatchNorm>(3);
    norm->running_var.fill_(0.7);
    norm->eval();
    return subject(norm, [](BatchNorm& n, const Var& x) { return n(x); });
  });
  c.add(f, "Dropout", "training", Shape{4, 5}, layer<Dropout>(0.4));
  c.add(f, "Dropout", "eval", Shape{4, 5}, [] {
    auto drop = std::make_shared<Dropout>(0.4);
    drop->eval();
    return subject(drop, [](Dropout& d, const Var& x) { return d(x); });
  });
  c.add(f, "ReLU", "", Shape{3, 4}, layer<ReLU>());
  c.add(f, "GELU", "erf", Shape{3, 4}, layer<GELU>());
  c.add(f, "GELU", "tanh", Shape{3, 4}, layer<GELU>(GeluForm::Tanh));
  c.add(f, "SiLU", "", Shape{3, 4}, layer<SiLU>());
  c.add(f, "Tanh", "", Shape{3, 4}, layer<Tanh>());
  c.add(f, "Sigmoid", "", Shape{3, 4}, layer<Sigmoid>());
  for (Index axis : {0, 1}) {
    c.add(f, "Softmax", "axis " + std::to_string(axis), Shape{3, 4}, layer<Softmax>(axis));
    c.add(f, "LogSoftmax", "axis " + std::to_string(axis), Shape{3, 4}, layer<LogSoftmax>(axis));
  }
  c.add(f, "Sequential", "Linear, Tanh, Linear", Shape{3, 4}, [] {
    auto net = std::make_shared<Sequential>();
    net->append<Linear>(4, 3);
    net->append<Tanh>();
    net->append<Linear>(3, 2, false);
    return subject(net, [](Sequential& n, const Var& x) { return n(x); });
  });
}

void add_transformer_parts(LayerCases& c) {
  const std::string f = "layers";
  for (Index offset : {0, 2}) {
    std::string name = "offset " + std::to_string(offset);
    for (Positions kind : {Positions::Sinusoidal, Positions::Learned})
      c.add(f, "PositionalEncoding",
            (kind == Positions::Learned ? "learned, " : "sinusoidal, ") + name, Shape{2, 3, 4},
            [kind, offset] {
              return subject(
                  std::make_shared<PositionalEncoding>(kind, 4, 0.3, 6),
                  [offset](PositionalEncoding& p, const Var& x) { return p(x, offset); });
            });
  }
  for (Activation a : {Activation::Relu, Activation::Gelu, Activation::GeluTanh, Activation::Silu})
    c.add(f, "PositionwiseFeedForward", std::string(name_of(a)), Shape{2, 3, 4},
          layer<PositionwiseFeedForward>(4, 6, 0.2, a));

  struct Block final : Layer {
    explicit Block(NormPlacement p)
        : placement(p), GLIM_NAMED(norm, 4), GLIM_NAMED(dropout, 0.3), GLIM_NAMED(inner, 4, 4) {}
    Var forward(const Var& x) override {
      return residual(placement, x, norm, dropout, [&](const Var& v) { return tanh(inner(v)); });
    }
    NormPlacement placement;
    Child<LayerNorm> norm;
    Child<Dropout> dropout;
    Child<Linear> inner;
  };
  c.add(f, "residual", "pre-norm", Shape{2, 3, 4}, layer<Block>(NormPlacement::Pre));
  c.add(f, "residual", "post-norm", Shape{2, 3, 4}, layer<Block>(NormPlacement::Post));

  Tensor causal = tril(ones({3, 3}, kDouble)).to(DType::Bool);
  Tensor with_empty_row = ids({1, 0, 1, 0, 0, 0, 1, 1, 0}, {3, 3}).to(DType::Bool);
  c.add(f, "SelfAttention", "d_k 4, d_v 5", Shape{2, 3, 2}, layer<SelfAttention>(2, 4, 5));
  c.add(f, "SelfAttention", "dropout", Shape{2, 3, 2}, layer<SelfAttention>(2, 3, 2, 0.4, false));
  for (auto& [name, keep] :
       {std::pair("causal", causal), std::pair("an empty row", with_empty_row)})
    c.add(f, "SelfAttention", name, Shape{2, 3, 2}, [keep = keep] {
      return subject(std::make_shared<SelfAttention>(2, 3, 2),
                     [keep](SelfAttention& a, const Var& x) {
                       return a(x, AttentionMask{.keep = keep, .bias = {}}).context;
                     });
    });

  auto self = [&](const std::string& name, AttentionOptions o, AttentionRequest r) {
    c.add(f, "MultiheadAttention", name, Shape{2, 3, 4}, [o, r] {
      return subject(std::make_shared<MultiheadAttention>(4, 2, o),
                     [r](MultiheadAttention& a, const Var& x) { return a(x, r).y; });
    });
  };
  AttentionRequest any, no_future, padded, empty_row;
  no_future.causal = true;
  padded.key_keep = ids({1, 1, 0, 1, 1, 1}, {2, 3}).to(DType::Bool);
  empty_row.keep = with_empty_row;
  self("self-attention", {}, any);
  self("causal", {}, no_future);
  self("without bias", {.bias = false}, any);
  self("dropout", {.dropout = 0.3}, any);
  self("key padding", {}, padded);
  self("an empty row", {}, empty_row);
  self("bias_k and zeros appended", {.add_bias_kv = true, .add_zero_attn = true}, any);
  c.add(f, "MultiheadAttention", "cross-attention, kdim 3, vdim 5", Shape{2, 3, 4}, [] {
    Tensor key = uniform({2, 2, 3}, -1, 1, {6, 1}, kDouble);
    Tensor value = uniform({2, 2, 5}, -1, 1, {6, 2}, kDouble);
    return subject(
        std::make_shared<MultiheadAttention>(4, 2, AttentionOptions{.kdim = 3, .vdim = 5}),
        [=](MultiheadAttention& a, const Var& x) { return a(x, key, value).y; });
  });
}

void add_losses(LayerCases& c) {
  const std::string f = "losses";
  Tensor target = ids({2, 0, 1, 4}, {4});
  Tensor probs = softmax(Var(uniform({4, 5}, -1, 1, {7, 1}, kDouble))).value();
  auto loss = [&](const std::string& op, const std::string& name,
                  const std::function<Var(const Var&)>& call) {
    c.add(f, op, name, Shape{4, 5}, [call] { return Subject{nullptr, call}; });
  };
  for (Reduction r : {Reduction::None, Reduction::Mean, Reduction::Sum}) {
    static const char* const kNames[] = {"none", "mean", "sum"};
    std::string name = kNames[static_cast<int>(r)];
    loss("cross_entropy", name, [=](const Var& x) {
      return cross_entropy(x, target, {.ignore_index = 0, .reduction = r});
    });
    loss("cross_entropy", name + ", smoothed", [=](const Var& x) {
      return cross_entropy(x, target, {.ignore_index = 0, .label_smoothing = 0.2, .reduction = r});
    });
    loss("mse_loss", name, [=](const Var& x) { return mse_loss(x, Var(probs), r); });
  }
  loss("mse_loss", "both sides", [](const Var& x) { return mse_loss(x, tanh(x)); });
  for (double smoothing : {0.0, 0.1})
    c.add(f, "LabelSmoothing", smoothing > 0 ? "smoothed" : "not smoothed", Shape{2, 2, 5},
          [smoothing, rows = reshape(target, {2, 2})] {
            return subject(std::make_shared<LabelSmoothing>(smoothing, 0),
                           [rows](LabelSmoothing& l, const Var& x) { return l(x, rows); });
          });
}

}  // namespace

std::vector<Case> layer_cases() {
  LayerCases c;
  add_basic(c);
  add_transformer_parts(c);
  add_losses(c);
  add_vision_layers(c);
  add_recurrent_layers(c);
  return c.take();
}

}  // namespace glim

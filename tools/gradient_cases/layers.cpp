// A gradient check for every layer and loss of nn/: inputs and all parameters, fused and explicit,
// and the gradient of the gradient.
#include "nn/activation.hpp"
#include "nn/attention/positions.hpp"
#include "nn/attention/self.hpp"
#include "nn/attention/torch_multihead.hpp"
#include "nn/embedding.hpp"
#include "nn/feed_forward.hpp"
#include "nn/loss.hpp"
#include "nn/residual.hpp"
#include "nn/sequential.hpp"
#include "nn/vision/batch_norm.hpp"
#include "tensor/ops/index.hpp"
#include "tools/gradient_cases/module_cases.hpp"

namespace glim {
namespace {

using namespace specs;

// Sets eval() before it is called.
template <class L>
Var evaluated(L& l, const Var& x) {
  l.eval();
  return l(x);
}

void add_basic(std::vector<Case>& c) {
  add_layer<Linear>(c, "Linear", "(B, T, D)", {2, 3, 4}, 4, 5);
  add_layer<Linear>(c, "Linear", "without bias", {3, 4}, 4, 2, false);
  add_layer<Linear>(c, "Linear", "one vector", {4}, 4, 3);
  auto rows = [](Embedding& e, const Var&) { return e(ids({1, 4, 4, 0}, {2, 2})); };
  add_module<Embedding>(c, of_layer("Embedding", "repeated ids", {}), rows, 5, 3);
  add_layer<LayerNorm>(c, "LayerNorm", "affine", {2, 3, 5}, 5);
  add_layer<LayerNorm>(c, "LayerNorm", "without bias", {3, 5}, 5, 1e-5, true, false);
  add_layer<LayerNorm>(c, "LayerNorm", "not affine, eps 0.1", {3, 5}, 5, 0.1, false);
  add_layer<BatchNorm>(c, "BatchNorm", "(B, C)", {5, 3}, 3);
  add_layer<BatchNorm>(c, "BatchNorm", "(B, C, T)", {2, 3, 4}, 3);
  add_layer<BatchNorm>(c, "BatchNorm", "not affine", {4, 3}, 3, 1e-5, 0.1, false);
  auto averaged = [](BatchNorm& n, const Var& x) {
    n.running_var.fill_(0.7);
    return evaluated(n, x);
  };
  add_module<BatchNorm>(c, of_layer("BatchNorm", "eval", {5, 3}), averaged, 3);
  add_layer<Dropout>(c, "Dropout", "training", {4, 5}, 0.4);
  add_module<Dropout>(c, of_layer("Dropout", "eval", {4, 5}), evaluated<Dropout>, 0.4);
  add_layer<ReLU>(c, "ReLU", "", {3, 4});
  add_layer<GELU>(c, "GELU", "erf", {3, 4});
  add_layer<GELU>(c, "GELU", "tanh", {3, 4}, GeluForm::Tanh);
  add_layer<SiLU>(c, "SiLU", "", {3, 4});
  add_layer<Tanh>(c, "Tanh", "", {3, 4});
  add_layer<Sigmoid>(c, "Sigmoid", "", {3, 4});
  for (Index axis : {0, 1}) {
    add_layer<Softmax>(c, "Softmax", "axis " + std::to_string(axis), {3, 4}, axis);
    add_layer<LogSoftmax>(c, "LogSoftmax", "axis " + std::to_string(axis), {3, 4}, axis);
  }
  struct Chain final : Sequential {
    Chain() {
      append<Linear>(4, 3);
      append<Tanh>();
      append<Linear>(3, 2, false);
    }
  };
  add_layer<Chain>(c, "Sequential", "Linear, Tanh, Linear", {3, 4});
}

void add_transformer_parts(std::vector<Case>& c) {
  for (Index offset : {0, 2}) {
    const std::string name = "offset " + std::to_string(offset);
    auto call = [offset](PositionalEncoding& p, const Var& x) { return p(x, offset); };
    for (Positions kind : {Positions::Sinusoidal, Positions::Learned})
      add_module<PositionalEncoding>(
          c,
          of_layer("PositionalEncoding",
                   (kind == Positions::Learned ? "learned, " : "sinusoidal, ") + name, {2, 3, 4}),
          call, kind, 4, 0.3, 6);
  }
  for (Activation a : {Activation::Relu, Activation::Gelu, Activation::GeluTanh, Activation::Silu})
    add_layer<PositionwiseFeedForward>(c, "PositionwiseFeedForward", kNames<Activation>.print(a),
                                       {2, 3, 4}, 4, 6, 0.2, a);

  struct Block final : Layer {
    explicit Block(NormPlacement p)
        : placement(p), GLIM_NAMED(norm, 4), GLIM_NAMED(dropout, 0.3), GLIM_NAMED(inner, 4, 4) {}
    Var forward(const Var& x) override {
      return residual(placement, x, &norm, dropout, [&](const Var& v) { return tanh(inner(v)); });
    }
    NormPlacement placement;
    Child<LayerNorm> norm;
    Child<Dropout> dropout;
    Child<Linear> inner;
  };
  add_layer<Block>(c, "residual", "pre-norm", {2, 3, 4}, NormPlacement::Pre);
  add_layer<Block>(c, "residual", "post-norm", {2, 3, 4}, NormPlacement::Post);

  Tensor causal = tril(ones({3, 3}, kDouble)).to(DType::Bool);
  Tensor with_empty_row = ids({1, 0, 1, 0, 0, 0, 1, 1, 0}, {3, 3}).to(DType::Bool);
  add_layer<SelfAttention>(c, "SelfAttention", "d_k 4, d_v 5", {2, 3, 2}, 2, 4, 5);
  add_layer<SelfAttention>(c, "SelfAttention", "dropout", {2, 3, 2}, 2, 3, 2, 0.4, false);
  for (auto& [name, keep] :
       {std::pair("causal", causal), std::pair("an empty row", with_empty_row)}) {
    auto masked = [mask = AttentionMask{.keep = keep, .bias = {}}](SelfAttention& a, const Var& x) {
      return a(x, mask).context;
    };
    add_module<SelfAttention>(c, of_layer("SelfAttention", name, {2, 3, 2}), masked, 2, 3, 2);
  }

  auto self = [&](const std::string& name, AttentionOptions o, AttentionRequest r) {
    auto call = [r](MultiheadAttention& a, const Var& x) { return a(x, r).y; };
    add_module<MultiheadAttention>(c, of_layer("MultiheadAttention", name, {2, 3, 4}), call, 4, 2,
                                   o);
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
  add_module<TorchMultiheadAttention>(
      c, of_layer("MultiheadAttention", "bias_k and zeros appended", {2, 3, 4}),
      [](MultiheadAttention& a, const Var& x) { return a(x).y; }, 4, 2, AttentionOptions{},
      TorchAttentionOptions{.add_bias_kv = true, .add_zero_attn = true});
  Tensor key = uniform({2, 2, 3}, -1, 1, {6, 1}, kDouble);
  Tensor value = uniform({2, 2, 5}, -1, 1, {6, 2}, kDouble);
  add_module<TorchMultiheadAttention>(
      c, of_layer("MultiheadAttention", "cross-attention, kdim 3, vdim 5", {2, 3, 4}),
      [=](MultiheadAttention& a, const Var& x) { return a(x, key, value).y; }, 4, 2,
      AttentionOptions{}, TorchAttentionOptions{.kdim = 3, .vdim = 5});
}

void add_losses(std::vector<Case>& c) {
  Tensor target = ids({2, 0, 1, 4}, {4});
  Tensor probs = softmax(Var(uniform({4, 5}, -1, 1, {7, 1}, kDouble))).value();
  auto loss = [&](const std::string& op, const std::string& name, auto f) {
    ModuleCase one = of_layer(op, name, {4, 5});
    one.family = "losses";
    add_module<Module>(c, one, [=](Module&, const Var& x) { return f(x); });
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
    // Weights and distributions that depend on x have gradients, too.
    for (double smoothing : {0.0, 0.2}) {
      const std::string tag = name + (smoothing > 0 ? ", smoothed" : "");
      loss("cross_entropy", tag + ", class weights", [=](const Var& x) {
        return cross_entropy(x, target,
                             {.ignore_index = 0,
                              .label_smoothing = smoothing,
                              .reduction = r,
                              .weight = sigmoid(select(x, 0, 1))});
      });
      loss("cross_entropy", tag + ", a distribution", [=](const Var& x) {
        return cross_entropy(x, softmax(sin(x)), {.label_smoothing = smoothing, .reduction = r});
      });
      loss("cross_entropy", tag + ", a distribution, class weights", [=](const Var& x) {
        return cross_entropy(
            x, Var(probs),
            {.label_smoothing = smoothing, .reduction = r, .weight = sigmoid(select(x, 0, 1))});
      });
    }
    loss("mse_loss", name, [=](const Var& x) { return mse_loss(x, Var(probs), r); });
  }
  loss("mse_loss", "both sides", [](const Var& x) { return mse_loss(x, tanh(x)); });
}

}  // namespace

std::vector<Case> layer_cases() {
  std::vector<Case> cases;
  add_basic(cases);
  add_transformer_parts(cases);
  add_losses(cases);
  add_vision_layers(cases);
  add_recurrent_layers(cases);
  return cases;
}

}  // namespace glim

// Layers, losses and models, under the names and the arguments of torch.nn where torch has them.
#include <nanobind/stl/optional.h>

#include "models/bert/bert.hpp"
#include "nn/attention/scored.hpp"
#include "nn/attention/self.hpp"
#include "nn/attention/torch_multihead.hpp"
#include "nn/embedding.hpp"
#include "nn/feed_forward.hpp"
#include "nn/loss.hpp"
#include "nn/recurrent/rnn.hpp"
#include "nn/rms_norm.hpp"
#include "nn/vision/batch_norm.hpp"
#include "nn/vision/pooling.hpp"
#include "tools/python/modules.hpp"
#include "tools/python/words.hpp"

namespace glim::python {

using namespace nb::literals;
namespace {

void bind_plain_layers(nb::module_& m) {
  layer<Linear>(m, "Linear", "y = x Wᵀ + b      x: (..., in)   weight: (out, in)   bias: (out,)")
      .def(nb::init<Index, Index, bool>(), "in_features"_a, "out_features"_a, "bias"_a = true);
  layer<LayerNorm>(
      m, "LayerNorm",
      "Over the last axes (Ba et al. 2016)      x, y: (..., d)   weight, bias: d, a number or "
      "a shape")
      .def(
          "__init__",
          [](LayerNorm* self, const DimsArg& d, double eps, bool affine, bool bias) {
            new (self) LayerNorm(d.dims(), eps, affine, bias);
          },
          "d"_a, "eps"_a = 1e-5, "affine"_a = true, "bias"_a = true);
  layer<RMSNorm>(
      m, "RMSNorm",
      "Over the last axes (Zhang & Sennrich 2019)      x, y: (..., d)   weight: d, a number or a "
      "shape")
      .def(
          "__init__",
          [](RMSNorm* self, const DimsArg& d, std::optional<double> eps, bool affine) {
            new (self) RMSNorm(d.dims(), eps, affine);
          },
          "d"_a, "eps"_a = nb::none(), "affine"_a = true);
  layer<Dropout>(m, "Dropout", "y = x/(1 - p) with probability 1 - p, else 0; in eval y = x")
      .def(nb::init<double>(), "p"_a = 0.5);
  layer<ReLU>(m, "ReLU", "max(0, x)").def(nb::init<>());
  layer<GELU>(m, "GELU", "x Φ(x); form 'erf' or 'tanh'")
      .def(
          "__init__",
          [](GELU* self, const std::string& form) {
            new (self) GELU(kWords<GeluForm>.parse("form", form));
          },
          "form"_a = "erf");
  layer<SiLU>(m, "SiLU", "x sigmoid(x)").def(nb::init<>());
  layer<Tanh>(m, "Tanh", "tanh x").def(nb::init<>());
  layer<Sigmoid>(m, "Sigmoid", "1/(1 + e^-x)").def(nb::init<>());
  layer<Softmax>(m, "Softmax", "Along one axis.").def(nb::init<Index>(), "axis"_a = -1);
  layer<LogSoftmax>(m, "LogSoftmax", "Along one axis.").def(nb::init<Index>(), "axis"_a = -1);
  layer<GLU>(m, "GLU", "a sigmoid(b), x = [a; b] along one axis")
      .def(nb::init<Index>(), "axis"_a = -1);
  layer<PositionwiseFeedForward>(m, "PositionwiseFeedForward",
                                 "Dropout(f(x W₁ᵀ + b₁)) W₂ᵀ + b₂      x, y: (..., D)")
      .def(
          "__init__",
          [](PositionwiseFeedForward* self, Index d, Index d_ff, double p, const std::string& f) {
            new (self)
                PositionwiseFeedForward(d, d_ff, p, kWords<Activation>.parse("activation", f));
          },
          "d"_a, "d_ff"_a, "dropout"_a = 0.1, "activation"_a = "relu");
  module<Embedding>(m, "Embedding",
                    "Rows ids of the weight      ids: (...) int64   weight: (V, D)   y: (..., D)")
      .def(nb::init<Index, Index>(), "num_embeddings"_a, "embedding_dim"_a)
      .def(
          "__call__", [](Embedding& e, const Arg& ids) { return e(ids.constant("ids")); }, "ids"_a);
  module<PositionalEncoding>(m, "PositionalEncoding",
                             "Dropout(x + PE), kind 'sinusoidal' or 'learned'      x: (..., T, D)")
      .def(
          "__init__",
          [](PositionalEncoding* self, const std::string& kind, Index d, double dropout,
             Index max_len, double base) {
            new (self) PositionalEncoding(kWords<Positions>.parse("kind", kind), d, dropout,
                                          max_len, base);
          },
          "kind"_a, "d_model"_a, "dropout"_a = 0.1, "max_len"_a = 5000, "base"_a = 10000)
      .def(
          "__call__",
          [](PositionalEncoding& p, const Arg& x, Index offset) {
            return convert_for(p, {{x, "x"}}), p(x("x"), offset);
          },
          "x"_a, "offset"_a = 0);
}

void bind_attention(nb::module_& m) {
  // What Python makes is a TorchMultiheadAttention; the layers of a model are plain ones.
  nb::class_<MultiheadAttention, Module, TorchMultiheadAttention>(
      m, "MultiheadAttention",
      "Vaswani et al. 2017, with torch's options and parameter names      "
      "query (B, T, D)   key, value (B, S, ·)   y (B, T, D); or each without B",
      nb::dynamic_attr())
      .def(
          "__init__",
          [](MultiheadAttention* self, Index d, Index heads, double dropout, bool bias,
             bool add_bias_kv, bool add_zero_attn, std::optional<Index> kdim,
             std::optional<Index> vdim, bool batch_first, const std::string& positions,
             bool share_qk) {
            new (self) TorchMultiheadAttention(
                d, heads,
                {dropout, bias, kWords<Positions>.parse("positions", positions), 10000, share_qk},
                {add_bias_kv, add_zero_attn, kdim, vdim, batch_first});
          },
          "embed_dim"_a, "num_heads"_a, "dropout"_a = 0, "bias"_a = true, "add_bias_kv"_a = false,
          "add_zero_attn"_a = false, "kdim"_a = nb::none(), "vdim"_a = nb::none(),
          "batch_first"_a = true, "positions"_a = "none", "share_qk"_a = false)
      .def(
          "__call__",
          [](MultiheadAttention& a, const Arg& query, const Arg& key, const Arg& value,
             const Arg& key_keep, const Arg& keep, const Arg& key_bias, const Arg& bias,
             bool causal, bool need_weights, bool average_weights, nb::kwargs unknown) {
            refuse_unknown("MultiheadAttention", unknown);
            convert_for(a, {{query, "query"},
                            {key, "key"},
                            {value, "value"},
                            {key_bias, "key_bias"},
                            {bias, "bias"}});
            const AttentionRequest request{of_keys(key_keep.constant("key_keep")),
                                           keep.constant("keep"),
                                           of_keys(key_bias("key_bias")),
                                           bias("bias"),
                                           causal,
                                           need_weights,
                                           average_weights};
            const bool alone = query("query").rank() == 2;  // (T, D), without a batch
            const auto* torch = dynamic_cast<const TorchMultiheadAttention*>(&a);
            const Index batch = torch && !torch->batch_first() ? 1 : 0;
            auto input = [&](const Var& x) {
              return alone && x.defined() ? unsqueeze(x, batch) : x;
            };
            const Var q = input(query("query")), k = input(key("key")), v = input(value("value"));
            AttentionOutput out = !k.defined()  ? a(q, request)
                                  : v.defined() ? a(q, k, v, request)
                                                : a(q, k, request);
            if (alone) out.y = squeeze(out.y, batch);
            if (alone && need_weights) out.weights = squeeze(out.weights, 0);
            return nb::make_tuple(out.y,
                                  out.weights.defined() ? nb::cast(out.weights) : nb::none());
          },
          "query"_a, "key"_a.none() = nb::none(), "value"_a.none() = nb::none(), nb::kw_only(),
          "key_keep"_a.none() = nb::none(), "keep"_a.none() = nb::none(),
          "key_bias"_a.none() = nb::none(), "bias"_a.none() = nb::none(), "causal"_a = false,
          "need_weights"_a = false, "average_weights"_a = true, "unknown"_a,
          "(y, weights); weights None unless need_weights. With query alone self-attention, with "
          "key alone attention to "
          "that memory.");
  layer<SelfAttention>(m, "SelfAttention", "softmax(Q Kᵀ/√d_k) V of one head      x: (..., T, D)")
      .def(nb::init<Index, Index, Index, double, bool>(), "d_model"_a, "d_k"_a, "d_v"_a,
           "dropout"_a = 0, "bias"_a = true);
  module<ScoredAttention>(m, "ScoredAttention",
                          "Attention by a score: 'additive', 'dot', 'general' or 'concat'.")
      .def(
          "__init__",
          [](ScoredAttention* self, const std::string& score, Index q, Index k, Index width) {
            new (self) ScoredAttention(kWords<AttentionScore>.parse("score", score), q, k, width);
          },
          "score"_a, "query_size"_a, "key_size"_a, "width"_a = 0)
      .def(
          "project",
          [](ScoredAttention& a, const Arg& keys) {
            return convert_for(a, {{keys, "keys"}}), a.project(keys("keys"));
          },
          "keys"_a)
      .def(
          "attend",
          [](ScoredAttention& a, const Arg& query, const Arg& projected, const Arg& values,
             const Arg& keep) {
            convert_for(a, {{query, "query"}, {projected, "projected"}, {values, "values"}});
            return result_of(a.attend(query("query"), projected("projected"), values("values"),
                                      keep.constant("keep")));
          },
          "query"_a, "projected"_a, "values"_a, "keep"_a.none() = nb::none());
}

void bind_others(nb::module_& m) {
  module<Recurrent>(
      m, "Recurrent",
      "torch's RNN, GRU and LSTM: cell 'gru', 'lstm', 'tanh' or 'relu'      x (B, T, I) -> "
      "y (B, T, directions·H), state")
      .def(
          "__init__",
          [](Recurrent* self, const std::string& cell, Index in, Index hidden, Index layers,
             bool bidirectional, double dropout, bool bias) {
            new (self) Recurrent(kWords<CellKind>.parse("cell", cell), in, hidden,
                                 {layers, bidirectional, dropout, bias});
          },
          "cell"_a, "input_size"_a, "hidden_size"_a, "num_layers"_a = 1, "bidirectional"_a = false,
          "dropout"_a = 0, "bias"_a = true)
      .def(
          "__call__",
          [](Recurrent& r, const Arg& x, const Arg& initial, const Arg& lengths) {
            convert_for(r, {{x, "x"}, {initial, "initial"}});
            RecurrentOutput out = r(x("x"), initial("initial"), lengths.constant("lengths"));
            return nb::make_tuple(out.y, out.state);
          },
          "x"_a, "initial"_a.none() = nb::none(), "lengths"_a.none() = nb::none());
  layer<Conv1d>(m, "Conv1d", "x (B, C, T) -> (B, O, T'); mode 'given', 'same' or 'causal'")
      .def(
          "__init__",
          [](Conv1d* self, Index in, Index out, Index kernel, Index stride, Index padding,
             Index dilation, Index groups, bool bias, const std::string& mode) {
            new (self) Conv1d(
                in, out, kernel,
                {stride, padding, dilation, bias, kWords<ConvPadding>.parse("mode", mode), groups});
          },
          "in_channels"_a, "out_channels"_a, "kernel_size"_a, "stride"_a = 1, "padding"_a = 0,
          "dilation"_a = 1, "groups"_a = 1, "bias"_a = true, "mode"_a = "given");
  layer<Conv2d>(m, "Conv2d", "x (B, C, H, W) -> (B, O, H', W')")
      .def(
          "__init__",
          [](Conv2d* self, Index in, Index out, const DimsArg& kernel, const DimsArg& stride,
             const DimsArg& padding, const DimsArg& dilation, Index groups, bool bias) {
            new (self) Conv2d(in, out, extent_of("kernel_size", kernel),
                              {extent_of("stride", stride), extent_of("padding", padding),
                               extent_of("dilation", dilation), bias, groups});
          },
          "in_channels"_a, "out_channels"_a, "kernel_size"_a, "stride"_a = 1, "padding"_a = 0,
          "dilation"_a = 1, "groups"_a = 1, "bias"_a = true);
  layer<Pool2d>(
      m, "Pool2d",
      "kind 'max' or 'average'      x (B, C, H, W); the stride is the kernel's size unless given")
      .def(
          "__init__",
          [](Pool2d* self, const std::string& kind, const DimsArg& kernel, const DimsArg& stride,
             const DimsArg& padding, const DimsArg& dilation, bool count) {
            new (self) Pool2d(kWords<Pool>.parse("kind", kind), extent_of("kernel_size", kernel),
                              {extent_of("stride", stride), extent_of("padding", padding),
                               extent_of("dilation", dilation), count});
          },
          "kind"_a, "kernel_size"_a, "stride"_a = 0, "padding"_a = 0, "dilation"_a = 1,
          "count_include_pad"_a = true);
  layer<BatchNorm>(m, "BatchNorm", "Every channel normalised over the batch      x (B, C, ...)")
      .def(nb::init<Index, double, double, bool>(), "num_features"_a, "eps"_a = 1e-5,
           "momentum"_a = 0.1, "affine"_a = true);
  m.def(
      "cross_entropy",
      [](const Arg& logits, const Arg& target, const Arg& weight, Index ignore_index,
         double label_smoothing, const std::string& reduction) {
        convert_numbers({{logits, "logits"}, {weight, "weight"}});
        if (is_floating(target.target("target").dtype()))
          convert_numbers({{logits, "logits"}, {target, "target"}});
        return cross_entropy(logits("logits"), target.target("target"),
                             {ignore_index, label_smoothing,
                              kWords<Reduction>.parse("reduction", reduction), weight("weight")});
      },
      "logits"_a, "target"_a, "weight"_a.none() = nb::none(), "ignore_index"_a = kIgnoreNothing,
      "label_smoothing"_a = 0, "reduction"_a = "mean",
      "logits (..., V), target (...) int64 or distributions (..., V), weight (V,); as "
      "torch.nn.functional.cross_entropy, the classes along the last axis.");
  m.def(
      "mse_loss",
      [](const Arg& x, const Arg& y, const std::string& reduction) {
        convert_numbers({{x, "x"}, {y, "y"}});
        return mse_loss(x("x"), y("y"), kWords<Reduction>.parse("reduction", reduction));
      },
      "x"_a, "y"_a, "reduction"_a = "mean", "(x - y)², reduced.");
}

}  // namespace

Extent2 extent_of(const char* what, const DimsArg& d) {
  if (d.list.rank() == 1) return d.list[0];
  if (d.list.rank() != 2)
    throw ValueError(what, "is a number, or one for rows and one for columns");
  return {d.list[0], d.list[1]};
}

void bind_layers(nb::module_& m) {
  bind_plain_layers(m);
  bind_attention(m);
  bind_transformer_layers(m);
  bind_others(m);
}

nb::object wrapped(Module& child, nb::handle parent) {
  nb::object found = nb::find(child);
  if (found.is_valid()) return found;
  auto is = [&]<class M>(M*) {
    if (auto* as = found.is_valid() ? nullptr : dynamic_cast<M*>(&child))
      found = nb::cast(as, nb::rv_policy::reference);
  };
  [&]<class... M>(M*... none) {
    (is(none), ...);
  }(static_cast<Linear*>(nullptr), static_cast<LayerNorm*>(nullptr), static_cast<RMSNorm*>(nullptr),
    static_cast<Dropout*>(nullptr), static_cast<Embedding*>(nullptr),
    static_cast<PositionalEncoding*>(nullptr), static_cast<MultiheadAttention*>(nullptr),
    static_cast<SelfAttention*>(nullptr), static_cast<ScoredAttention*>(nullptr),
    static_cast<Recurrent*>(nullptr), static_cast<Conv1d*>(nullptr), static_cast<Conv2d*>(nullptr),
    static_cast<Bert*>(nullptr), static_cast<Layer*>(nullptr), static_cast<Module*>(nullptr));
  // Not keep_alive, which Python's garbage collector does not see: the parent may keep this child in an attribute.
  found.attr("__dict__")["_parent"] = parent;
  return found;
}

}  // namespace glim::python

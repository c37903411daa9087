// torch's TransformerEncoderLayer and TransformerDecoderLayer. Stacks of them are written in Python (glim/modules.py).
#include <memory>

#include "models/transformer/layers.hpp"
#include "tools/python/modules.hpp"
#include "tools/python/words.hpp"

namespace glim::python {

using namespace nb::literals;
namespace {

// A layer in the layouts of torch: (B, T, D), (T, B, D) unless batch_first, and (T, D) without a batch.
template <class L>
struct InLayout : L {
  InLayout(const LayerSizes& s, bool first) : L(s), sizes(s), batch_first(first) {}
  Var batches_first(const Var& x) const {
    return x.rank() == 2 ? unsqueeze(x, 0) : batch_first || x.rank() != 3 ? x : transpose(x, 0, 1);
  }
  Var as_given(const Var& y, const Var& x) const {
    return x.rank() == 2 ? squeeze(y, 0) : batch_first ? y : transpose(y, 0, 1);
  }
  LayerSizes sizes;
  bool batch_first;
};

template <class L>
void bind_layer(nb::class_<InLayout<L>, Module> layer) {
  layer
      .def(
          "__init__",
          [](InLayout<L>* self, Index d_model, Index nhead, Index dim_feedforward, double dropout,
             const std::string& activation, double layer_norm_eps, bool batch_first,
             bool norm_first, bool bias) {
            new (self)
                InLayout<L>({.d_model = d_model,
                             .heads = nhead,
                             .d_ff = dim_feedforward,
                             .dropout = dropout,
                             .norm = norm_first ? NormPlacement::Pre : NormPlacement::Post,
                             .activation = kWords<Activation>.parse("activation", activation),
                             .norm_eps = layer_norm_eps,
                             .bias = bias},
                            batch_first);
          },
          "d_model"_a, "nhead"_a, "dim_feedforward"_a = 2048, "dropout"_a = 0.1,
          "activation"_a = "relu", "layer_norm_eps"_a = 1e-5, "batch_first"_a = true,
          "norm_first"_a = false, "bias"_a = true)
      .def(
          "__deepcopy__",
          [](const InLayout<L>& self, nb::handle) {
            auto copy = std::make_unique<InLayout<L>>(self.sizes, self.batch_first);
            copy->to(self.linear1.weight.dtype());
            copy->load_state_dict(self.state_dict());
            copy->train(self.training());
            return copy.release();
          },
          "memo"_a, nb::rv_policy::take_ownership);
}

}  // namespace

void refuse_unknown(const std::string& layer, nb::kwargs unknown, const std::string& before) {
  for (auto [name, value] : unknown)
    throw nb::type_error(
        (layer + ": unknown argument '" + nb::cast<std::string>(name) +
         "'. Masks are called keep, key_keep (bool, true = may attend), bias, key_bias (added to "
         "the scores) and causal" +
         before +
         ". A boolean mask of torch's is true where Glim's is false: keep=~mask; one of numbers "
         "is bias=mask")
            .c_str());
}

void bind_transformer_layers(nb::module_& m) {
  using EncoderInLayout = InLayout<EncoderLayer>;
  using DecoderInLayout = InLayout<DecoderLayer>;
  auto encoder = module<EncoderInLayout>(
      m, "TransformerEncoderLayer",
      "Self-attention and a feed-forward network, with torch's arguments and parameter names; "
      "activation 'relu', 'gelu', 'gelu-tanh' or 'silu'      x, y: (B, T, D)");
  bind_layer(encoder);
  encoder.def(
      "__call__",
      [](EncoderInLayout& layer, const Arg& src, const Arg& keep, const Arg& key_keep,
         const Arg& bias, const Arg& key_bias, bool causal, nb::kwargs unknown) {
        refuse_unknown("TransformerEncoderLayer", unknown);
        convert_for(layer, {{src, "src"}, {bias, "bias"}, {key_bias, "key_bias"}});
        const Var& x = src("src");
        return layer.as_given(
            layer(layer.batches_first(x),
                  AttentionRequest{of_keys(key_keep.constant("key_keep")), keep.constant("keep"),
                                   of_keys(key_bias("key_bias")), bias("bias"), causal}),
            x);
      },
      "src"_a, nb::kw_only(), "keep"_a.none() = nb::none(), "key_keep"_a.none() = nb::none(),
      "bias"_a.none() = nb::none(), "key_bias"_a.none() = nb::none(), "causal"_a = false,
      "unknown"_a);
  auto decoder =
      module<DecoderInLayout>(m, "TransformerDecoderLayer",
                              "Self-attention, attention to a memory and a feed-forward network, "
                              "with torch's arguments and "
                              "parameter names      x, y: (B, T, D)   memory: (B, S, D)");
  bind_layer(decoder);
  decoder.def(
      "__call__",
      [](DecoderInLayout& layer, const Arg& tgt, const Arg& memory, const Arg& keep,
         const Arg& key_keep, const Arg& bias, const Arg& key_bias, bool causal,
         const Arg& memory_keep, const Arg& memory_key_keep, const Arg& memory_bias,
         const Arg& memory_key_bias, bool memory_causal, nb::kwargs unknown) {
        refuse_unknown("TransformerDecoderLayer", unknown, ", with tgt_ or memory_ before it");
        convert_for(layer, {{tgt, "tgt"},
                            {memory, "memory"},
                            {bias, "tgt_bias"},
                            {key_bias, "tgt_key_bias"},
                            {memory_bias, "memory_bias"},
                            {memory_key_bias, "memory_key_bias"}});
        const Var& x = tgt("tgt");
        const AttentionRequest of_self{of_keys(key_keep.constant("tgt_key_keep")),
                                       keep.constant("tgt_keep"), of_keys(key_bias("tgt_key_bias")),
                                       bias("tgt_bias"), causal};
        const AttentionRequest of_memory{of_keys(memory_key_keep.constant("memory_key_keep")),
                                         memory_keep.constant("memory_keep"),
                                         of_keys(memory_key_bias("memory_key_bias")),
                                         memory_bias("memory_bias"), memory_causal};
        return layer.as_given(
            layer(layer.batches_first(x), layer.batches_first(memory("memory")), of_self, of_memory)
                .y,
            x);
      },
      "tgt"_a, "memory"_a, nb::kw_only(), "tgt_keep"_a.none() = nb::none(),
      "tgt_key_keep"_a.none() = nb::none(), "tgt_bias"_a.none() = nb::none(),
      "tgt_key_bias"_a.none() = nb::none(), "tgt_causal"_a = false,
      "memory_keep"_a.none() = nb::none(), "memory_key_keep"_a.none() = nb::none(),
      "memory_bias"_a.none() = nb::none(), "memory_key_bias"_a.none() = nb::none(),
      "memory_causal"_a = false, "unknown"_a);
}

}  // namespace glim::python

// Modules of nn/, and a layer of the Transformer; their parameters are leaves of the graph.
#include "models/transformer/layers.hpp"
#include "nn/attention/self.hpp"
#include "nn/feed_forward.hpp"
#include "nn/recurrent/rnn.hpp"
#include "nn/rms_norm.hpp"
#include "nn/vision/batch_norm.hpp"
#include "nn/vision/conv.hpp"
#include "tests/fuzz/graphs/catalogue.hpp"

namespace glim::fuzz {
namespace {

Shapes sequence(const Shape&, const Constants& c) { return {{c.size, 3, 4}}; }

Shapes channels_first(const Shape&, const Constants& c) { return {{c.heads, 2, 5}}; }
Shapes batch(const Shape&, const Constants& c) { return {{c.size + 2, c.width}}; }
Shapes query_and_memory(const Shape&, const Constants& c) {
  return {{c.size, c.width, 4}, {c.size, 3, 4}};
}

}  // namespace

#define MODULE(TYPE, ARGUMENTS, FREE, FITTING, KINKS, ...)               \
  {                                                                      \
#TYPE,          FREE,                                                  \
   FITTING,        #__VA_ARGS__,                                          \
   [](const Constants& c, Module* module, const Vars& in) -> Var {        \
     static_cast<void>(c);                                                \
     GLIM_OPERANDS;                                                       \
     TYPE& m = static_cast<TYPE&>(*module);                               \
     return __VA_ARGS__;                                                  \
   },                                                                     \
   KINKS,          #TYPE " m" #ARGUMENTS,                                 \
   [](const Constants& c) -> std::shared_ptr<Module> {                    \
     static_cast<void>(c);                                                \
     return std::shared_ptr<TYPE>(new TYPE ARGUMENTS);                    \
   } \
  }

std::vector<Kind> module_kinds() {
  return {
      MODULE(Linear, (c.last, c.width), 1, nullptr, false, m(x)),
      MODULE(LayerNorm, (c.last, 0.1), 1, nullptr, false, m(x)),
      MODULE(RMSNorm, (c.last, 0.1), 1, nullptr, false, m(x)),
      MODULE(PositionwiseFeedForward, (c.last, c.width, 0.2, Activation::Gelu), 1, nullptr, false,
             m(x)),
      MODULE(BatchNorm, (c.width, 0.1), 0, batch, false, m(x)),
      MODULE(Conv1d, (2, c.width, 2), 0, channels_first, false, m(x)),
      MODULE(Conv1d, (2, 2 * c.width, 2, {.groups = 2}), 0, channels_first, false, m(x)),
      MODULE(Recurrent, (CellKind::Gru, 4, c.width), 0, sequence, false, m(x).y),
      MODULE(Recurrent, (CellKind::Lstm, 4, c.width, {.bidirectional = true}), 0, sequence, false,
             m(x).y),
      MODULE(MultiheadAttention, (4, c.heads, {.dropout = 0.2}), 0, sequence, false,
             [&] {
               AttentionRequest request;
               request.causal = c.flag;
               return m(x, request).y;
             }()),
      MODULE(MultiheadAttention, (4, c.heads), 0, query_and_memory, false, m(x, y, y).y),
      MODULE(SelfAttention, (4, 3, c.width), 0, sequence, false, m(x)),
      MODULE(EncoderLayer, ({.d_model = 4, .heads = c.heads, .d_ff = 5, .dropout = 0.2}), 0,
             sequence, true, m(x)),
  };
}

}  // namespace glim::fuzz

// The Vision Transformer, and convolutions for images and with attention: every parameter's gradient and x's.
#include "models/cnn/cnn.hpp"
#include "models/conv/conv_seq2seq.hpp"
#include "models/vit/vit.hpp"
#include "nn/loss.hpp"
#include "tools/gradient_cases/module_cases.hpp"

namespace glim {

using specs::add_module;

void append_vision_models(std::vector<Case>& cases) {
  for (Pooling pooling : {Pooling::First, Pooling::Mean})
    for (double dropout : {0.0, 0.2}) {
      auto c = sized<VitConfig>(3, 6, 2, 7, 2);
      c.channels = c.patch = 2;
      c.height = 6;
      c.width = 4;
      c.dropout = dropout;
      c.pooling = pooling;
      std::string name = pooling == Pooling::Mean ? "mean" : "class token";
      if (dropout > 0) name += ", dropout";
      auto loss = [](Vit& vit, const Var& x) {
        return cross_entropy(vit(x), tensor({2, 0, 1}, DType::Int64));
      };
      add_module<Vit>(cases, {.op = "vit", .name = name, .seed = 6, .x = {3, 2, 6, 4}}, loss, c);
    }
  for (Index kernel : {1, 3}) {
    CnnConfig c{{2, 6, 4, 3}, 4, 2, kernel, kernel == 1 ? 0.2 : 0};
    add_module<Cnn>(
        cases,
        {.op = "cnn",
         .name = "kernel " + std::to_string(kernel),
         .seed = 6,
         .kinks = true,
         .x = {3, 2, 6, 4}},
        [](Cnn& cnn, const Var& x) {
          return cross_entropy(cnn(x), tensor({2, 0, 1}, DType::Int64));
        },
        c);
  }
  for (Index kernel : {2, 3})
    for (double dropout : {0.0, 0.2}) {
      auto c = sized_convolution<ConvSeq2SeqConfig>(7, 6, 4, kernel);
      c.dropout = dropout;
      c.max_len = 5;
      std::string name = "kernel " + std::to_string(kernel) + (dropout > 0 ? ", dropout" : "");
      // The second sentence is shorter; x asks for a gradient of the logits themselves.
      auto loss = [](ConvSeq2Seq& model, const Var& x) {
        Tensor source = ids({3, 4, 6, 5, 2, 0}, {2, 3});
        Tensor target = ids({1, 3, 4, 5, 1, 5, 3, 0}, {2, 4});
        return mul(model.teach(source, target).logits, x);
      };
      add_module<ConvSeq2Seq>(
          cases, {.op = "conv_seq2seq", .name = name, .seed = 6, .x = {2, 4, 6}}, loss, c);
    }
}

}  // namespace glim

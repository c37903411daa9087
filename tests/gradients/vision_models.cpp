// The Vision Transformer and quadratic attention: every parameter's gradient and the images', fused,
// explicit, and the gradient of the gradient.
#include "autograd/magnification.hpp"
#include "models/conv/attention.hpp"
#include "models/conv/conv_seq2seq.hpp"
#include "models/vit/vit.hpp"
#include "nn/loss.hpp"
#include "tests/gradients/op_specs.hpp"

namespace glim {
namespace {

void add(std::vector<Case>& cases, const std::string& op, const std::string& name,
         const std::function<std::unique_ptr<Module>()>& make,
         const std::function<Var(Module&, const Var& x)>& loss, const Shape& x_shape) {
  for (int form = 0; form < 3; ++form) {
    static const char* const kForms[] = {"", ", explicit", ", second order"};
    cases.push_back(
        {"models", op, name + kForms[form], [=] {
           seed(6);
           auto model = make();
           model->to(DType::Float64);
           NamedParameters names = model->named_parameters();
           for (auto& [path, p] : names)  // zeros and ones would hide mistakes
             p.value().copy_(uniform(p.shape(), -1, 1, generator().next(), DType::Float64));
           Var x = Var::leaf(uniform(x_shape, -1, 1, generator().next(), DType::Float64));
           names.emplace_back("x", x);
           Magnify magnify(form == 1 ? Magnification::Explicit : Magnification::Fused);
           GradcheckOptions o;
           o.name = op;
           o.mode = GradcheckOptions::Mode::Projection;
           o.directions = 3;
           o.second_order = form == 2;
           return gradcheck([&] { return loss(*model, x); }, names, o);
         }});
  }
}

}  // namespace

void append_vision_models(std::vector<Case>& cases) {
  for (ImagePooling pooling : {ImagePooling::ClassToken, ImagePooling::Mean})
    for (double dropout : {0.0, 0.2})
      add(
          cases, "vit",
          std::string(pooling == ImagePooling::Mean ? "mean" : "class token") +
              (dropout > 0 ? ", dropout" : ""),
          [=]() -> std::unique_ptr<Module> {
            VitConfig c;
            c.channels = 2;
            c.height = 6;
            c.width = 4;
            c.patch = 2;
            c.classes = 3;
            c.d_model = 6;
            c.heads = 2;
            c.layers = 2;
            c.d_ff = 7;
            c.dropout = dropout;
            c.pooling = pooling;
            return std::make_unique<Vit>(c);
          },
          [](Module& m, const Var& x) {
            return cross_entropy(dynamic_cast<Vit&>(m).forward(x), tensor({2, 0, 1}, DType::Int64));
          },
          {3, 2, 6, 4});
  for (Index kernel : {2, 3})
    for (double dropout : {0.0, 0.2})
      add(
          cases, "conv_seq2seq",
          "kernel " + std::to_string(kernel) + (dropout > 0 ? ", dropout" : ""),
          [=]() -> std::unique_ptr<Module> {
            ConvSeq2SeqConfig c;
            c.src_vocab = 7;
            c.tgt_vocab = 6;
            c.d_model = 4;
            c.kernel = kernel;
            c.encoder_layers = c.decoder_layers = 2;
            c.dropout = dropout;
            c.max_len = 5;
            return std::make_unique<ConvSeq2Seq>(c);
          },
          // The second sentence is shorter; x asks for a gradient of the logits themselves.
          [](Module& m, const Var& x) {
            Tensor src = tensor({3, 4, 6, 5, 2, 0}, DType::Int64).reshape({2, 3});
            Tensor tgt = tensor({1, 3, 4, 5, 1, 5, 3, 0}, DType::Int64).reshape({2, 4});
            return mul(dynamic_cast<ConvSeq2Seq&>(m).teach(src, tgt).logits, x);
          },
          {2, 4, 6});
  for (Index out : {2, 4})
    add(
        cases, "quadratic_attention", "3 to " + std::to_string(out) + " channels",
        [=]() -> std::unique_ptr<Module> {
          return std::make_unique<QuadraticAttention>(3, out, 5, 2, Extent2(1, 2));
        },
        [](Module& m, const Var& x) { return dynamic_cast<QuadraticAttention&>(m).forward(x); },
        {2, 3, 3, 4});
}

}  // namespace glim

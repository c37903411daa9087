// The Vision Transformer and quadratic attention: every parameter's gradient and the images', fused,
// explicit, and the gradient of the gradient.
#include "models/conv/attention.hpp"
#include "models/conv/conv_seq2seq.hpp"
#include "models/vit/vit.hpp"
#include "nn/loss.hpp"
#include "tools/gradient_cases/model_cases.hpp"

namespace glim {
namespace {

void add(std::vector<Case>& cases, const std::string& op, const std::string& name,
         const std::function<std::unique_ptr<Module>()>& make,
         const std::function<Var(Module&, const Var& x)>& loss, const Shape& x_shape) {
  specs::add_model(cases, op, name, [=](const specs::ModelForm& form) {
    seed(6);
    auto model = make();
    specs::spread(*model);
    NamedParameters names = model->named_parameters();
    Var x = Var::leaf(uniform(x_shape, -1, 1, generator().next(), DType::Float64));
    names.emplace_back("x", x);
    return specs::check_model(op, form, names, [&] { return loss(*model, x); });
  });
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
            auto c = sized<VitConfig>(3, 6, 2, 7, 2);
            c.channels = c.patch = 2;
            c.height = 6;
            c.width = 4;
            c.dropout = dropout;
            c.pooling = pooling;
            return std::make_unique<Vit>(c);
          },
          [](Module& m, const Var& x) {
            return cross_entropy(dynamic_cast<Vit&>(m)(x), tensor({2, 0, 1}, DType::Int64));
          },
          {3, 2, 6, 4});
  for (Index kernel : {2, 3})
    for (double dropout : {0.0, 0.2})
      add(
          cases, "conv_seq2seq",
          "kernel " + std::to_string(kernel) + (dropout > 0 ? ", dropout" : ""),
          [=]() -> std::unique_ptr<Module> {
            auto c = sized_convolution<ConvSeq2SeqConfig>(7, 6, 4, kernel);
            c.dropout = dropout;
            c.max_len = 5;
            return std::make_unique<ConvSeq2Seq>(c);
          },
          // The second sentence is shorter; x asks for a gradient of the logits themselves.
          [](Module& m, const Var& x) {
            Tensor src = reshape(tensor({3, 4, 6, 5, 2, 0}, DType::Int64), {2, 3});
            Tensor tgt = reshape(tensor({1, 3, 4, 5, 1, 5, 3, 0}, DType::Int64), {2, 4});
            return mul(dynamic_cast<ConvSeq2Seq&>(m).teach(src, tgt).logits, x);
          },
          {2, 4, 6});
  for (Index out : {2, 4})
    add(
        cases, "quadratic_attention", "3 to " + std::to_string(out) + " channels",
        [=]() -> std::unique_ptr<Module> {
          return std::make_unique<QuadraticAttention>(3, out, 5, 2, Extent2(1, 2));
        },
        [](Module& m, const Var& x) { return dynamic_cast<QuadraticAttention&>(m)(x); },
        {2, 3, 3, 4});
}

}  // namespace glim

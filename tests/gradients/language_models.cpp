// The decoder-only and encoder-only models: every parameter's gradient of the mean loss, fused,
// explicit, and the gradient of the gradient.
#include "autograd/magnification.hpp"
#include "models/bert/bert.hpp"
#include "models/gpt/gpt.hpp"
#include "nn/loss.hpp"
#include "tests/gradients/op_specs.hpp"
#include "tests/ids.hpp"

namespace glim {
namespace {

GradcheckReport check(Module& model, const std::function<Var()>& loss, const std::string& name,
                      Magnification magnification, bool second_order) {
  model.to(DType::Float64);
  for (auto& [path, p] : model.named_parameters())  // zeros and 0.02 would hide mistakes
    p.value().copy_(uniform(p.shape(), -1, 1, generator().next(), DType::Float64));
  Magnify magnify(magnification);
  GradcheckOptions o;
  o.name = name;
  o.mode = GradcheckOptions::Mode::Projection;
  o.directions = 3;
  o.second_order = second_order;
  return gradcheck(loss, model.named_parameters(), o);
}

void add(std::vector<Case>& cases, const std::string& op, const std::string& name,
         const std::function<GradcheckReport(Magnification, bool)>& check_in) {
  cases.push_back({"models", op, name, [=] { return check_in(Magnification::Fused, false); }});
  cases.push_back({"models", op, name + ", explicit",
                   [=] { return check_in(Magnification::Explicit, false); }});
  cases.push_back({"models", op, name + ", second order",
                   [=] { return check_in(Magnification::Fused, true); }});
}

void add_gpt(std::vector<Case>& cases) {
  for (bool bias : {false, true})
    for (double dropout : {0.0, 0.2})
      for (Index length : {1, 3, 5}) {
        std::string name = std::string(bias ? "biases" : "no biases") +
                           (dropout > 0 ? ", dropout" : "") + ", T " + std::to_string(length);
        add(cases, "gpt", name, [=](Magnification m, bool second_order) {
          seed(6);
          GptConfig c;
          c.vocab = 7;
          c.context = 5;
          c.d_model = 6;
          c.heads = 3;
          c.layers = 2;
          c.d_ff = 9;
          c.bias = bias;
          c.dropout = dropout;
          Gpt model(c);
          Tensor text = ids({1, 3, 3, 6, 2, 0, 5, 4, 3, 3, 1, 2}, {2, 6});
          return check(
              model,
              [&] {
                return cross_entropy(model.forward(text.narrow(1, 0, length)),
                                     text.narrow(1, 1, length));
              },
              "gpt", m, second_order);
        });
      }
}

BertConfig small_bert(NormPlacement norm, double dropout, bool learned) {
  BertConfig c;
  c.vocab = 8;
  c.max_len = 5;
  c.d_model = 6;
  c.heads = 2;
  c.layers = 2;
  c.d_ff = 7;
  c.norm = norm;
  c.dropout = dropout;
  c.learned_positions = learned;
  return c;
}

void add_bert(std::vector<Case>& cases) {
  const Tensor text = ids({1, 7, 5, 4, 2, 1, 6, 2, 0, 0}, {2, 5});
  for (NormPlacement norm : {NormPlacement::Pre, NormPlacement::Post})
    for (double dropout : {0.0, 0.2})
      for (bool learned : {false, true}) {
        std::string name = std::string(norm == NormPlacement::Pre ? "pre-norm" : "post-norm") +
                           (dropout > 0 ? ", dropout" : "") +
                           (learned ? ", learned positions" : "");
        add(cases, "masked language model", name, [=](Magnification m, bool second_order) {
          seed(7);
          MaskedLanguageModel model(small_bert(norm, dropout, learned));
          return check(
              model,
              [&] {
                return cross_entropy(model.forward(text, ids({1, 2, 6}, {3})), ids({4, 5, 6}, {3}));
              },
              "masked language model", m, second_order);
        });
        for (Pooling pooling : {Pooling::First, Pooling::Mean})
          add(cases, "sequence classifier",
              name + (pooling == Pooling::First ? ", first token" : ", mean"),
              [=](Magnification m, bool second_order) {
                seed(8);
                SequenceClassifier model(small_bert(norm, dropout, learned), 3, pooling);
                return check(
                    model,
                    [&] {
                      return cross_entropy(model.forward(text), ids({2, 0}, {2}));
                    },
                    "sequence classifier", m, second_order);
              });
      }
}

}  // namespace

void append_language_models(std::vector<Case>& cases) {
  add_gpt(cases);
  add_bert(cases);
}

}  // namespace glim

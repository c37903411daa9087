// The decoder-only and encoder-only models: every parameter's gradient of the mean loss, fused,
// explicit, and the gradient of the gradient.
#include "models/bert/bert.hpp"
#include "models/gpt/gpt.hpp"
#include "nn/loss.hpp"
#include "tools/gradient_cases/model_cases.hpp"

namespace glim {
namespace {

using specs::ModelForm;

GradcheckReport check(const std::string& name, Module& model, const ModelForm& form,
                      const std::function<Var()>& loss) {
  specs::spread(model);
  return specs::check_model(name, form, model.named_parameters(), loss);
}

void add_gpt(std::vector<Case>& cases) {
  for (bool bias : {false, true})
    for (double dropout : {0.0, 0.2})
      for (Index length : {1, 3, 5}) {
        std::string name = std::string(bias ? "biases" : "no biases") +
                           (dropout > 0 ? ", dropout" : "") + ", T " + std::to_string(length);
        specs::add_model(cases, "gpt", name, [=](const ModelForm& form) {
          seed(6);
          auto c = sized<GptConfig>(7, 6, 3, 9, 2);
          c.context = 5;
          c.bias = bias;
          c.dropout = dropout;
          Gpt model(c);
          Tensor text = ids({1, 3, 3, 6, 2, 0, 5, 4, 3, 3, 1, 2}, {2, 6});
          return check("gpt", model, form, [&] {
            return cross_entropy(model(narrow(text, 1, 0, length)), narrow(text, 1, 1, length));
          });
        });
      }
}

BertConfig small_bert(NormPlacement norm, double dropout, bool learned) {
  auto c = sized<BertConfig>(8, 6, 2, 7, 2);
  c.max_len = 5;
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
        specs::add_model(cases, "masked language model", name, [=](const ModelForm& form) {
          seed(7);
          MaskedLanguageModel model(small_bert(norm, dropout, learned));
          return check("masked language model", model, form, [&] {
            return cross_entropy(model(text, ids({1, 2, 6}, {3})), ids({4, 5, 6}, {3}));
          });
        });
        for (Pooling pooling : {Pooling::First, Pooling::Mean})
          specs::add_model(cases, "sequence classifier",
                           name + (pooling == Pooling::First ? ", first token" : ", mean"),
                           [=](const ModelForm& form) {
                             seed(8);
                             SequenceClassifier model(small_bert(norm, dropout, learned), 3,
                                                      pooling);
                             return check("sequence classifier", model, form, [&] {
                               return cross_entropy(model(text), ids({2, 0}, {2}));
                             });
                           });
      }
}

}  // namespace

void append_language_models(std::vector<Case>& cases) {
  add_gpt(cases);
  add_bert(cases);
}

}  // namespace glim

// The decoder-only and encoder-only models: every parameter's gradient of the mean loss.
#include "models/bert/bert.hpp"
#include "models/gpt/gpt.hpp"
#include "nn/loss.hpp"
#include "tools/gradient_cases/module_cases.hpp"

namespace glim {
namespace {

using specs::add_module;

void add_gpt(std::vector<Case>& cases) {
  const Tensor text = ids({1, 3, 3, 6, 2, 0, 5, 4, 3, 3, 1, 2}, {2, 6});
  for (bool bias : {false, true})
    for (double dropout : {0.0, 0.2})
      for (Index length : {1, 3, 5}) {
        auto c = sized<GptConfig>(7, 6, 3, 9, 2);
        c.context = 5;
        c.bias = bias;
        c.dropout = dropout;
        std::string name = std::string(bias ? "biases" : "no biases") +
                           (dropout > 0 ? ", dropout" : "") + ", T " + std::to_string(length);
        auto loss = [=](Gpt& model, const Var&) {
          return cross_entropy(model(narrow(text, 1, 0, length)), narrow(text, 1, 1, length));
        };
        add_module<Gpt>(cases, {.op = "gpt", .name = name, .seed = 6}, loss, c);
      }
}

void add_bert(std::vector<Case>& cases) {
  const Tensor text = ids({1, 7, 5, 4, 2, 1, 6, 2, 0, 0}, {2, 5});
  for (NormPlacement norm : {NormPlacement::Pre, NormPlacement::Post})
    for (double dropout : {0.0, 0.2})
      for (bool learned : {false, true}) {
        auto c = sized<BertConfig>(8, 6, 2, 7, 2);
        c.max_len = 5;
        c.norm = norm;
        c.dropout = dropout;
        c.positions = learned ? Positions::Learned : Positions::Sinusoidal;
        std::string name = std::string(norm == NormPlacement::Pre ? "pre-norm" : "post-norm") +
                           (dropout > 0 ? ", dropout" : "") +
                           (learned ? ", learned positions" : "");
        auto hidden = [=](MaskedLanguageModel& model, const Var&) {
          return cross_entropy(model(text, ids({1, 2, 6}, {3})), ids({4, 5, 6}, {3}));
        };
        add_module<MaskedLanguageModel>(
            cases, {.op = "masked language model", .name = name, .seed = 7}, hidden, c);
        auto classes = [=](SequenceClassifier& model, const Var&) {
          return cross_entropy(model(text), ids({2, 0}, {2}));
        };
        auto tokens = [=](TokenClassifier& model, const Var&) {
          return cross_entropy(reshape(model(text), {10, 3}),
                               ids({2, 0, 1, 1, 0, 2, 1, 0, 0, 1}, {10}));
        };
        add_module<TokenClassifier>(cases, {.op = "token classifier", .name = name, .seed = 8},
                                    tokens, c, 3);
        for (Pooling pooling : {Pooling::First, Pooling::Mean})
          add_module<SequenceClassifier>(
              cases,
              {.op = "sequence classifier",
               .name = name + (pooling == Pooling::First ? ", first token" : ", mean"),
               .seed = 8},
              classes, c, 3, pooling);
      }
}

}  // namespace

void append_language_models(std::vector<Case>& cases) {
  add_gpt(cases);
  add_bert(cases);
}

}  // namespace glim

// Copying, guided attention, and the non-autoregressive model: inputs and every parameter, fused and
// explicit, and the gradient of the gradient.
#include "models/non_autoregressive/non_autoregressive.hpp"
#include "models/rnn/seq2seq_rnn.hpp"
#include "nn/attention/guided.hpp"
#include "nn/attention/pointer_generator.hpp"
#include "tensor/print.hpp"
#include "tools/gradient_cases/module_cases.hpp"
#include "tools/gradient_cases/spec.hpp"

namespace glim {
namespace {

using specs::add_module;

void add_parts(std::vector<Case>& cases) {
  specs::Family parts{"layers"};  // which are compositions of ops
  auto shares = [](std::vector<Shape> shapes) { return specs::uniform_in(0.1, 0.9, shapes); };
  struct Mixture {
    std::string name;
    Index b, t, s, v, extra;
    std::initializer_list<double> ids;
  };
  for (const Mixture& m : {Mixture{"words of both kinds", 2, 3, 4, 3, 2, {3, 1, 4, 3, 0, 2, 2, 3}},
                           Mixture{"no further words", 1, 2, 3, 3, 0, {2, 2, 0}},
                           Mixture{"one position", 1, 1, 1, 2, 1, {2}}}) {
    auto mixed = [positions = ids(m.ids, {m.b, m.s}), extra = m.extra](
                     const Var& logits, const Var& generated, const Var& attention) {
      return copy_mixture(logits, generated, attention, positions, extra);
    };
    parts
        .add_drawn("copy_mixture", m.name,
                   shares({{m.b, m.t, m.v}, {m.b, m.t, 1}, {m.b, m.t, m.s}}), mixed)
        .with_explicit();
  }
  for (Index heads : {0, 2})
    for (double width : {0.2, 0.7}) {
      auto guided = [width](const Var& x) {
        return guided_attention_loss(x, {3, 2}, {4, 1}, width);
      };
      parts
          .add_drawn("guided_attention_loss",
                     (heads ? "heads, g " : "one head, g ") + number_text(width),
                     shares({heads ? Shape{2, heads, 3, 4} : Shape{2, 3, 4}}), guided)
          .with_explicit();
    }
  append_cases(parts, DType::Float64, cases);

  const Tensor copy_ids = ids({5, 0, 5, 1, 6, 2}, {2, 3});
  auto copied = [=](PointerGenerator& copy, const Var& x) {
    const auto in = split(0.4 * x + 0.5, 2, {5, 3, 3, 4, 2});  // from 0.1 to 0.9
    return copy(in[0], in[1], in[2], in[3], in[4], copy_ids, 2);
  };
  add_module<PointerGenerator>(cases,
                               {.op = "PointerGenerator",
                                .name = "five inputs",
                                .seed = 21,
                                .second_order = false,
                                .spread = false,
                                .directions = 0,
                                .x = {2, 2, 17},
                                .family = "layers"},
                               copied, 3, 4, 2);
}

void add_models(std::vector<Case>& cases) {
  const Tensor source = ids({3, 4, 5, 6, 7, 8, 0, 0}, {2, 4});
  const Tensor target_in = ids({1, 3, 4, 1, 5, 0}, {2, 3});
  SourceBatch copied(source);  // with words that can be copied
  copied.copy_ids = ids({9, 4, 10, 9, 7, 9, 0, 0}, {2, 4});
  copied.extra = 2;
  const Tensor copied_out = ids({9, 4, 2, 9, 2, 0}, {6});
  auto loss_of_copying = [=](const TeacherForced& taught) {
    Var loss = label_smoothing_loss(reshape(taught.logits, {6, 11}), copied_out, 0, 0);
    for (const Var& a : taught.attention)
      loss = add(loss, guided_attention_loss(a, {3, 2}, {4, 2}, 0.3));
    return loss;
  };
  for (CellKind cell : {CellKind::Gru, CellKind::Lstm})
    for (AttentionScore score : {AttentionScore::Additive, AttentionScore::Dot})
      for (double dropout : {0.0, 0.3}) {
        auto c = sized_recurrent<Seq2SeqRnnConfig>(9, 9, 4, 6);
        c.cell = cell;
        c.attention = score;
        c.dropout = dropout;
        c.copy = true;
        std::string name = std::string(cell == CellKind::Gru ? "gru" : "lstm") +
                           (score == AttentionScore::Dot ? ", dot" : ", additive") +
                           (dropout > 0 ? ", dropout" : "");
        auto loss = [=](Seq2SeqRnn& model, const Var&) {
          return loss_of_copying(model.teach(copied, target_in));
        };
        add_module<Seq2SeqRnn>(
            cases, {.op = "copying rnn", .name = name, .seed = 8, .spread = false}, loss, c);
      }
  for (NormPlacement norm : {NormPlacement::Pre, NormPlacement::Post})
    for (double dropout : {0.0, 0.2})
      for (Activation activation : {Activation::Relu, Activation::Gelu}) {
        const bool kinks = activation == Activation::Relu;
        std::string name = norm == NormPlacement::Pre ? "pre-norm" : "post-norm";
        if (dropout > 0) name += ", dropout";
        name += ", " + kNames<Activation>.print(activation);
        for (OutputLength length : {OutputLength::Predict, OutputLength::Long}) {
          auto c = sized<NonAutoregressiveConfig>(9, 8, 2, 12, 2);
          c.dropout = dropout;
          c.norm = norm;
          c.activation = activation;
          c.length = length;
          c.length_reach = 3;
          c.tie = length == OutputLength::Long ? Tie::All : Tie::None;
          auto loss = [=](NonAutoregressive& model, const Var&) {
            TeacherForced taught = model.teach(SourceBatch(source), target_in);
            Tensor out = ids({3, 4, 2, 5, 2, 0}, {6});
            Var of_tokens = label_smoothing_loss(reshape(taught.logits, {6, 9}), out, 0.1, 0);
            return taught.auxiliary.defined() ? add(of_tokens, taught.auxiliary) : of_tokens;
          };
          add_module<NonAutoregressive>(
              cases,
              {.op = "non-autoregressive",
               .name = name +
                       (length == OutputLength::Predict ? ", lengths predicted" : ", long, tied"),
               .seed = 6,
               .kinks = kinks,
               .spread = false},
              loss, c);
        }
        for (bool guided : {false, true}) {
          auto c = sized<TransformerConfig>(9, 8, 2, 12, 1);
          c.dropout = dropout;
          c.norm = norm;
          c.activation = activation;
          c.copy = true;
          auto loss = [=](Transformer& model, const Var&) {
            return loss_of_copying(model.teach(copied, target_in, {.need_attention = guided}));
          };
          add_module<Transformer>(cases,
                                  {.op = "copying transformer",
                                   .name = name + (guided ? ", guided" : ""),
                                   .seed = 7,
                                   .kinks = kinks,
                                   .spread = false},
                                  loss, c);
        }
      }
}

}  // namespace

void append_variants(std::vector<Case>& cases) {
  add_parts(cases);
  add_models(cases);
}

}  // namespace glim

// Copying, guided attention, and the non-autoregressive model: inputs and every parameter, fused and
// explicit, and the gradient of the gradient.
#include "models/copy/copy.hpp"
#include "models/non_autoregressive/non_autoregressive.hpp"
#include "models/rnn/seq2seq_rnn.hpp"
#include "nn/attention/guided.hpp"
#include "tensor/print.hpp"
#include "tools/gradient_cases/model_cases.hpp"

namespace glim {
namespace {

using specs::add_model;

constexpr DType kDouble = DType::Float64;

// A function of these inputs, as they are and as transposed views.
void add_function(std::vector<Case>& cases, const std::string& op, const std::string& name,
                  const std::vector<Shape>& shapes,
                  const std::function<Var(const std::vector<Var>&)>& f) {
  for (OpForm m : {OpForm::Fused, OpForm::Explicit})
    for (bool second_order : {false, true})
      for (bool strided : {false, true}) {
        if (second_order && strided) continue;
        std::string full = name + (m == OpForm::Explicit ? ", explicit" : "") +
                           (second_order ? ", second order" : "") + (strided ? ", strided" : "");
        cases.push_back({"layers", op, full, [=] {
                           NamedParameters names;
                           std::vector<Var> inputs;
                           for (std::size_t i = 0; i < shapes.size(); ++i) {
                             Tensor x = uniform(shapes[i], 0.1, 0.9, {31, i}, kDouble);
                             if (strided) x = transpose(transpose(x, 0, 1).contiguous(), 0, 1);
                             inputs.push_back(Var::leaf(x));
                             names.emplace_back("x" + std::to_string(i), inputs.back());
                           }
                           UseForm use(m);
                           return gradcheck([&] { return f(inputs); }, names,
                                            {.name = op, .second_order = second_order});
                         }});
      }
}

void add_parts(std::vector<Case>& cases) {
  struct Mixture {
    std::string name;
    Index b, t, s, v, extra;
    std::initializer_list<double> at;
  };
  for (const Mixture& m : {Mixture{"words of both kinds", 2, 3, 4, 3, 2, {3, 1, 4, 3, 0, 2, 2, 3}},
                           Mixture{"no further words", 1, 2, 3, 3, 0, {2, 2, 0}},
                           Mixture{"one position", 1, 1, 1, 2, 1, {2}}}) {
    Tensor at = ids(m.at, {m.b, m.s});
    add_function(cases, "copy_mixture", m.name, {{m.b, m.t, m.v}, {m.b, m.t, 1}, {m.b, m.t, m.s}},
                 [at, extra = m.extra](const std::vector<Var>& x) {
                   return copy_mixture(x[0], x[1], x[2], at, extra);
                 });
  }
  for (int heads : {0, 2})
    for (double width : {0.2, 0.7}) {
      Shape shape = heads ? Shape{2, heads, 3, 4} : Shape{2, 3, 4};
      add_function(cases, "guided_attention_loss",
                   (heads ? "heads, g " : "one head, g ") + number_text(width), {shape},
                   [width](const std::vector<Var>& x) {
                     return guided_attention_loss(x[0], {3, 2}, {4, 1}, width);
                   });
    }
  for (OpForm m : {OpForm::Fused, OpForm::Explicit})
    cases.push_back({"layers", "PointerGenerator", m == OpForm::Fused ? "fused" : "explicit", [m] {
                       seed(21);
                       PointerGenerator copy(3, 4, 2);
                       copy.to(kDouble);
                       NamedParameters names = copy.named_parameters();
                       std::vector<Var> x;
                       std::uint64_t stream = 0;
                       for (const Shape& s : {Shape{2, 2, 5}, Shape{2, 2, 3}, Shape{2, 2, 3},
                                              Shape{2, 2, 4}, Shape{2, 2, 2}}) {
                         x.push_back(Var::leaf(uniform(s, 0.1, 0.9, {22, stream++}, kDouble)));
                         names.emplace_back("x" + std::to_string(stream), x.back());
                       }
                       SourceBatch source(ids({4, 5, 6, 7, 8, 9}, {2, 3}));
                       source.copy_ids = ids({5, 0, 5, 1, 6, 2}, {2, 3});
                       source.extra = 2;
                       UseForm use(m);
                       return gradcheck([&] { return copy(x[0], x[1], x[2], x[3], x[4], source); },
                                        names, {.name = "PointerGenerator"});
                     }});
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
        add_model<Seq2SeqRnn>(
            cases, {.op = "copying rnn", .name = name, .seed = 8, .spread = false}, loss, c);
      }
  for (NormPlacement norm : {NormPlacement::Pre, NormPlacement::Post})
    for (double dropout : {0.0, 0.2})
      for (Activation activation : {Activation::Relu, Activation::Gelu}) {
        const bool kinks = activation == Activation::Relu;
        std::string name = norm == NormPlacement::Pre ? "pre-norm" : "post-norm";
        if (dropout > 0) name += ", dropout";
        name += ", " + std::string(name_of(activation));
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
          add_model<NonAutoregressive>(
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
          add_model<Transformer>(cases,
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

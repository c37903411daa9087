// The recurrent sequence-to-sequence model: every parameter's gradient of the mean loss, with seeded
// dropout and padding on both sides; fused, explicit, and the gradient of the gradient.
#include "autograd/magnification.hpp"
#include "models/rnn/seq2seq_rnn.hpp"
#include "tests/gradients/op_specs.hpp"
#include "tests/ids.hpp"

namespace glim {
namespace {

GradcheckReport check(const Seq2SeqRnnConfig& config, Magnification magnification,
                      bool second_order) {
  seed(5);
  Seq2SeqRnn model(config);
  model.to(DType::Float64);
  for (auto& [path, p] : model.named_parameters())
    p.value().copy_(uniform(p.shape(), -1, 1, generator().next(), DType::Float64));
  SourceBatch source(ids({3, 4, 5, 6, 7, 0, 0, 0}, {2, 4}));
  Tensor target_in = ids({1, 3, 4, 1, 5, 0}, {2, 3}), target_out = ids({3, 4, 2, 5, 2, 0}, {6});
  Magnify magnify(magnification);
  GradcheckOptions o;
  o.name = "seq2seq_rnn";
  o.mode = GradcheckOptions::Mode::Projection;
  o.directions = 2;
  o.second_order = second_order;
  return gradcheck(
      [&] {
        Var logits = reshape(model.teach(source, target_in).logits, {6, config.tgt_vocab});
        return mul(label_smoothing_loss(logits, target_out, 0.1, 0), 1.0 / 5);
      },
      model.named_parameters(), o);
}

}  // namespace

void append_recurrent_models(std::vector<Case>& cases) {
  for (auto [cell, cell_name] : {std::pair(CellKind::Gru, "GRU"), std::pair(CellKind::Lstm, "LSTM"),
                                 std::pair(CellKind::Tanh, "RNN")})
    for (auto [score, score_name] :
         {std::pair(AttentionScore::Additive, "additive"), std::pair(AttentionScore::Dot, "dot"),
          std::pair(AttentionScore::General, "general"),
          std::pair(AttentionScore::Concat, "concat")})
      for (double dropout : {0.0, 0.3}) {
        Seq2SeqRnnConfig c;
        c.src_vocab = 8;
        c.tgt_vocab = 7;
        c.d_embed = 3;
        c.d_model = 4;
        c.layers = dropout > 0 ? 2 : 1;
        c.cell = cell;
        c.attention = score;
        c.dropout = dropout;
        std::string name = std::string(cell_name) + ", " + score_name +
                           (dropout > 0 ? ", two layers, dropout" : "");
        auto add = [&](const std::string& more, Magnification m, bool second) {
          cases.push_back(
              {"models", "seq2seq_rnn", name + more, [=] { return check(c, m, second); }});
        };
        add("", Magnification::Fused, false);
        add(", explicit", Magnification::Explicit, false);
        if (dropout > 0) add(", second order", Magnification::Fused, true);
      }
}

}  // namespace glim

// The recurrent sequence-to-sequence model: every parameter's gradient of the mean loss, with seeded
// dropout and padding on both sides.
#include "models/rnn/seq2seq_rnn.hpp"
#include "tools/gradient_cases/module_cases.hpp"

namespace glim {

void append_recurrent_models(std::vector<Case>& cases) {
  SourceBatch source(ids({3, 4, 5, 6, 7, 0, 0, 0}, {2, 4}));
  Tensor target_in = ids({1, 3, 4, 1, 5, 0}, {2, 3}), target_out = ids({3, 4, 2, 5, 2, 0}, {6});
  auto loss = [=](Seq2SeqRnn& model, const Var&) {
    Var logits = reshape(model.teach(source, target_in).logits, {6, 7});
    return label_smoothing_loss(logits, target_out, 0.1, 0).loss / 5;
  };
  for (auto [cell, cell_name] : {std::pair(CellKind::Gru, "GRU"), std::pair(CellKind::Lstm, "LSTM"),
                                 std::pair(CellKind::Tanh, "RNN")})
    for (auto [score, score_name] :
         {std::pair(AttentionScore::Additive, "additive"), std::pair(AttentionScore::Dot, "dot"),
          std::pair(AttentionScore::General, "general"),
          std::pair(AttentionScore::Concat, "concat"), std::pair(AttentionScore::None, "none")})
      for (double dropout : {0.0, 0.3}) {
        auto c = sized_recurrent<Seq2SeqRnnConfig>(8, 7, 3, 4);
        c.layers = dropout > 0 ? 2 : 1;
        c.cell = cell;
        c.attention = score;
        c.dropout = dropout;
        std::string name = std::string(cell_name) + ", " + score_name +
                           (dropout > 0 ? ", two layers, dropout" : "");
        specs::add_module<Seq2SeqRnn>(
            cases,
            {.op = "seq2seq_rnn", .name = name, .second_order = dropout > 0, .directions = 2}, loss,
            c);
      }
}

}  // namespace glim

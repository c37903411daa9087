// The recurrent sequence-to-sequence model: every parameter's gradient of the mean loss, with seeded
// dropout and padding on both sides; fused, explicit, and the gradient of the gradient.
#include "models/rnn/seq2seq_rnn.hpp"
#include "tools/gradient_cases/model_cases.hpp"

namespace glim {
namespace {

GradcheckReport check(const Seq2SeqRnnConfig& config, const specs::ModelForm& form) {
  seed(5);
  Seq2SeqRnn model(config);
  specs::spread(model);
  SourceBatch source(ids({3, 4, 5, 6, 7, 0, 0, 0}, {2, 4}));
  Tensor target_in = ids({1, 3, 4, 1, 5, 0}, {2, 3}), target_out = ids({3, 4, 2, 5, 2, 0}, {6});
  auto loss = [&] {
    Var logits = reshape(model.teach(source, target_in).logits, {6, config.tgt_vocab});
    return label_smoothing_loss(logits, target_out, 0.1, 0).loss / 5;
  };
  return specs::check_model("seq2seq_rnn", form, model.named_parameters(), loss, 2);
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
        auto c = sized_recurrent<Seq2SeqRnnConfig>(8, 7, 3, 4);
        c.layers = dropout > 0 ? 2 : 1;
        c.cell = cell;
        c.attention = score;
        c.dropout = dropout;
        std::string name = std::string(cell_name) + ", " + score_name +
                           (dropout > 0 ? ", two layers, dropout" : "");
        specs::add_model(
            cases, "seq2seq_rnn", name,
            [=](const specs::ModelForm& form) { return check(c, form); }, false, dropout > 0);
      }
}

}  // namespace glim

// bottleneck: whether one vector between encoder and decoder loses long sentences, and whether attention keeps them.
//
// Bahdanau et al. 2015 (arXiv 1409.0473), section 1: a fixed vector "may make it difficult for the neural network to cope
// with long sentences"; the tutorials say the same. Three models of width 32 learn to copy sentences of 1 to 16 symbols:
// recurrent without attention, recurrent with it, and a Transformer. 16 symbols of 10 are 53 bits.
#include <map>

#include "models/rnn/seq2seq_rnn.hpp"
#include "tools/study/measures.hpp"
#include "tools/study/sequences.hpp"

namespace glim::bottleneck {

using Model = std::unique_ptr<SequenceModel>;

Model recurrent(AttentionScore attention) {
  Seq2SeqRnnConfig c;
  c.src_vocab = c.tgt_vocab = kSymbolVocabulary;
  c.d_embed = c.d_model = 32;
  c.dropout = 0;
  c.attention = attention;
  return std::make_unique<Seq2SeqRnn>(c);
}

Model model_of(const std::string& name) {
  static const std::map<std::string, Model (*)()> makers = {
      {"vector", [] { return recurrent(AttentionScore::None); }},
      {"attention", [] { return recurrent(AttentionScore::Additive); }},
      {"transformer",
       []() -> Model { return std::make_unique<Transformer>(symbol_transformer()); }}};
  return makers.at(name)();
}

Measurement measure(std::uint64_t seed, bool small) {
  const Index longest = small ? 6 : 16, steps = small ? 5 : 800, sentences = small ? 4 : 100;
  Measurement m;
  for (const std::string name : {"vector", "attention", "transformer"}) {
    generator().set_state(seed, 0);
    const auto model = model_of(name);
    train_on(*model, SymbolTask::Copy, longest, steps);
    std::vector<double> accuracy;
    for (Index length = 2; length <= longest; length += 2) {
      const auto pairs = symbol_pairs(SymbolTask::Copy, length, length, sentences,
                                      {seed, kHeldOut + static_cast<std::uint64_t>(length)});
      accuracy.push_back(token_accuracy(*model, pairs));
      m.curve("accuracy", name, static_cast<double>(pairs[0].target.size()), accuracy.back());
    }
    m.values[name + "_short"] = accuracy.front();
    m.values[name + "_long"] = accuracy.back();
    m.values[name] = accuracy.front() - accuracy.back();
  }
  return m;
}

}  // namespace glim::bottleneck

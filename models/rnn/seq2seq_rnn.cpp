#include "models/rnn/seq2seq_rnn.hpp"

#include "models/size_rows.hpp"
#include "nn/attention/mask.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"

namespace glim {
namespace {

const Seq2SeqRnnConfig& checked(const Seq2SeqRnnConfig& c) {
  auto fail = [](const std::string& problem) { throw ValueError("seq2seq_rnn", problem); };
  if (c.src_vocab < 1 || c.tgt_vocab < 1) fail("a vocabulary is empty");
  if (c.d_embed < 1 || c.d_model < 1 || c.layers < 1 || c.max_len < 1)
    fail("d_embed, d_model, layers and max_len must be positive");
  if (c.attention == AttentionScore::Dot && c.d_model % 2 != 0)
    fail("dot attention gives each direction half of d_model, which must be even, not " +
         std::to_string(c.d_model));
  if (c.attention == AttentionScore::None && c.copy) fail("a copy is pointed at by attention");
  return c;
}

// He: of one direction.
Index encoder_hidden(const Seq2SeqRnnConfig& c) {
  return c.attention == AttentionScore::Dot ? c.d_model / 2 : c.d_model;
}
Index memory_size(const Seq2SeqRnnConfig& c) { return 2 * encoder_hidden(c); }
Index decoder_input(const Seq2SeqRnnConfig& c) {
  const bool reads = c.attention == AttentionScore::Additive || c.attention == AttentionScore::None;
  return c.d_embed + (reads ? memory_size(c) : 0);
}

RecurrentOptions recurrent_options(const Seq2SeqRnnConfig& c, bool bidirectional) {
  return {.layers = c.layers, .bidirectional = bidirectional, .dropout = c.dropout};
}

// The generator's input.
Var joined(const Seq2SeqRnn::Readout& r) {
  return concatenate({r.hidden, r.context, r.embedded}, -1);
}

}  // namespace

Rows Seq2SeqRnnConfig::rows() {
  return {{"src_vocab", &src_vocab},
          {"tgt_vocab", &tgt_vocab},
          {"max_len", &max_len},
          size_rows::layers(layers),
          size_rows::d_model(d_model),
          {"d_embed", &d_embed, "width of a recurrent model's embeddings", kPositive},
          {"cell", choice(cell, {CellKind::Gru, CellKind::Lstm, CellKind::Tanh}),
           "cell of a recurrent model"},
          {"attention", choice(attention),
           "attention of a recurrent model (none: the encoder's last state is all that is read)"},
          size_rows::dropout(dropout),
          {"pad", &pad},
          size_rows::copy(copy)};
}

Seq2SeqRnn::Seq2SeqRnn(const Seq2SeqRnnConfig& config)
    : SequenceModel("seq2seq_rnn", config),
      config_(checked(config)),
      GLIM_NAMED(src_embed, config.src_vocab, config.d_embed),
      GLIM_NAMED(tgt_embed, config.tgt_vocab, config.d_embed),
      GLIM_NAMED(encoder, config.cell, config.d_embed, encoder_hidden(config),
                 recurrent_options(config, true)),
      GLIM_NAMED(bridge),
      GLIM_NAMED(attention, config.attention == AttentionScore::None
                                ? nullptr
                                : std::make_unique<ScoredAttention>(
                                      config.attention, config.d_model, memory_size(config))),
      GLIM_NAMED(decoder, config.cell, decoder_input(config), config.d_model,
                 recurrent_options(config, false)),
      GLIM_NAMED(generator, config.d_model + memory_size(config) + config.d_embed,
                 config.tgt_vocab),
      GLIM_NAMED(dropout, config.dropout),
      GLIM_NAMED(copy, config.copy ? std::make_unique<PointerGenerator>(
                                         memory_size(config), config.d_model, config.d_embed)
                                   : nullptr) {
  for (Index i = 0; i < config.layers * parts_of(config.cell); ++i)
    bridge.append(memory_size(config), config.d_model);
}

Seq2SeqRnn::Encoded Seq2SeqRnn::encode(const SourceBatch& source) {
  const Tensor& src = source.ids;
  Tensor lengths = from_vector(row_lengths(src, config_.pad), {src.size(0)});
  RecurrentOutput out = encoder(dropout(src_embed(src)), Var(), lengths);
  Var memory = attention ? out.y : unsqueeze(last_state(out.state, config_.layers - 1, 0), 1);
  return {memory, attention ? attention->project(memory) : memory,
          not_equal(src, static_cast<double>(config_.pad)), initial_states(out.state), source};
}

Var Seq2SeqRnn::last_state(const Var& final, Index layer, Index part) const {
  const Index he = encoder_hidden(config_);
  auto state = [&](Index i) { return narrow(select(final, 0, i), 1, part * he, he); };
  return concatenate({state(2 * layer), state(2 * layer + 1)}, 1);  // (2, B, He) -> (B, 2 He)
}

std::vector<Var> Seq2SeqRnn::initial_states(const Var& final) {
  std::vector<Var> states;
  std::size_t next = 0;
  for (Index layer = 0; layer < config_.layers; ++layer) {
    Var state = tanh(bridge[next++](last_state(final, layer, 0)));
    if (config_.cell == CellKind::Lstm)
      state = concatenate({state, bridge[next++](last_state(final, layer, 1))}, 1);
    states.push_back(state);
  }
  return states;
}

Var Seq2SeqRnn::embed_target(const Tensor& ids) {
  Tensor known = copy ? embeddable(ids, config_.tgt_vocab, config_.unk) : ids;
  return dropout(tgt_embed(known));
}

// The embeddings' part of the products of the decoder's first layer: (..., E) -> (..., gates·D).
Var Seq2SeqRnn::input_gates(const Var& embedded) {
  const CellWeights& w = decoder.weights(0);
  return decoder.in_scope([&] {
    Var weight = w.weight_ih;
    if (reads_context()) weight = narrow(weight, 1, 0, config_.d_embed);
    return linear(embedded, weight, w.bias_ih);
  });
}

Seq2SeqRnn::Readout Seq2SeqRnn::advance(Var gates, const Encoded& source,
                                        std::vector<Var>& states) {
  Index batch = gates.size(0);
  Readout read;
  auto look = [&](const Var& query) {
    if (!attention) {
      read.context = select(source.memory, 1, 0);
      return;
    }
    AttentionResult a =
        attention->attend(unsqueeze(query, 1), source.keys, source.memory, source.keep);
    read.context = reshape(a.context, {batch, -1});  // (B, 1, 2 He) -> (B, 2 He)
    read.attention = reshape(a.probs, {batch, -1});  // (B, 1, S) -> (B, S)
  };
  if (reads_context()) {
    look(hidden_of(config_.cell, states.back()));
    gates = decoder.in_scope([&] {
      Var weight = narrow(decoder.weights(0).weight_ih, 1, config_.d_embed, memory_size(config_));
      return gates + linear(read.context, weight, Var());
    });
  }
  decoder.in_scope([&] {
    for (std::size_t layer = 0; layer < states.size(); ++layer) {
      const CellWeights& w = decoder.weights(static_cast<Index>(layer));
      if (layer > 0) gates = linear(decoder.between_layers(read.hidden), w.weight_ih, w.bias_ih);
      states[layer] = cell_step(config_.cell, gates, states[layer], w);
      read.hidden = hidden_of(config_.cell, states[layer]);
    }
  });
  if (!reads_context()) look(read.hidden);
  return read;
}

Seq2SeqRnn::Readout Seq2SeqRnn::step(const Var& embedded, const Encoded& source,
                                     std::vector<Var>& states) {
  Readout read = advance(input_gates(embedded), source, states);
  read.embedded = embedded;
  return read;
}

// Without sampling, Luong's attention waits for no step, and the one vector of no attention is there before.
Seq2SeqRnn::Readout Seq2SeqRnn::decode_at_once(const Var& embedded, const Encoded& source) {
  if (!attention) {
    Var context =
        broadcast_to(source.memory, {embedded.size(0), embedded.size(1), memory_size(config_)});
    Var states = stack(source.states, 0);
    Var y = decoder(concatenate({embedded, context}, -1), states).y;
    return {y, context, embedded, {}};
  }
  Var hidden = decoder(embedded, stack(source.states, 0)).y;
  AttentionResult a = attention->attend(hidden, source.keys, source.memory, source.keep);
  return {hidden, a.context, embedded, a.probs};
}

Tensor Seq2SeqRnn::sampled_tokens(const Tensor& tgt_in, Index t, const Tensor& sampled,
                                  const Readout& before, const SourceBatch& source) {
  auto tokens = select(tgt_in, 1, t).to_vector<Index>();
  auto flags = select(sampled, 1, t).to_vector<bool>();
  std::vector<Index> rows;
  for (std::size_t b = 0; b < tokens.size(); ++b)
    if (flags[b] && tokens[b] != config_.pad) rows.push_back(static_cast<Index>(b));
  if (!rows.empty()) {
    NoGrad no_tape;
    auto count = static_cast<Index>(rows.size());
    Tensor picked = from_vector(rows, {count});
    auto of_rows = [&](const Var& v) { return Var(index_select(v.value(), 0, picked)); };
    Readout read{of_rows(before.hidden), of_rows(before.context), of_rows(before.embedded), {}};
    SourceBatch own_source = source;
    if (copy) {
      read.attention = of_rows(before.attention);
      own_source.copy_ids = index_select(source.copy_ids, 0, picked);
    }
    auto likeliest = argmax(answer(read, own_source).value(), -1).to_vector<Index>();
    for (std::size_t i = 0; i < rows.size(); ++i) tokens[rows[i]] = likeliest[i];
  }
  return from_vector(tokens, {tgt_in.size(0)});
}

Seq2SeqRnn::Readout Seq2SeqRnn::decode(const Tensor& tgt_in, const Encoded& source,
                                       double sampling) {
  if (!(sampling >= 0 && sampling <= 1))
    throw ValueError("seq2seq_rnn", "the share of sampled tokens is outside [0, 1]");
  if (tgt_in.rank() != 2 || tgt_in.size(1) < 1 || tgt_in.size(0) != source.memory.size(0))
    throw ShapeError("seq2seq_rnn",
                     "the target must be (B, T) with the B of the sources and T at least 1",
                     {{"tgt_in", tgt_in}, {"memory", source.memory}});
  Tensor sampled;
  if (sampling > 0) sampled = bernoulli(tgt_in.shape(), sampling, glim::generator().next());
  Var embedded, gates;
  if (sampling == 0) {
    embedded = embed_target(tgt_in);
    if (!attention || !reads_context()) return decode_at_once(embedded, source);
    gates = input_gates(embedded);
  }
  std::vector<Var> states = source.states, hidden, context, attended, inputs;
  Readout read;
  for (Index t = 0; t < tgt_in.size(1); ++t) {
    Scope scope("t" + std::to_string(t));
    if (sampling == 0) {
      read = advance(select(gates, 1, t), source, states);
    } else {
      Tensor tokens = t == 0 ? select(tgt_in, 1, 0).contiguous()
                             : sampled_tokens(tgt_in, t, sampled, read, source.source);
      read = step(embed_target(tokens), source, states);
      inputs.push_back(read.embedded);
    }
    hidden.push_back(read.hidden);
    context.push_back(read.context);
    if (attention) attended.push_back(read.attention);
  }
  if (sampling > 0) embedded = stack(inputs, 1);
  return {stack(hidden, 1), stack(context, 1), embedded, attention ? stack(attended, 1) : Var()};
}

Var Seq2SeqRnn::generate(const Readout& r) { return generator(joined(r)); }

Var Seq2SeqRnn::answer(const Readout& r, const SourceBatch& source) {
  if (!copy) return generate(r);
  return copy(generate(r), r.attention, r.context, r.hidden, r.embedded, source.copy_ids,
              source.extra);
}

TeacherForced Seq2SeqRnn::teach(const SourceBatch& source, const Tensor& tgt_in,
                                const TeachOptions& options) {
  Readout read = decode(tgt_in, encode(source), options.sampling);
  TeacherForced out;
  if (copy)
    out.logits = answer(read, source);
  else
    out.set_logits(generator, joined(read), options.defer_logits);
  if (options.need_attention && attention) out.attention.push_back(read.attention);
  return out;
}

}  // namespace glim

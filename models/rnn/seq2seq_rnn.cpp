#include "models/rnn/seq2seq_rnn.hpp"

#include "nn/attention/additive.hpp"
#include "nn/attention/multiplicative.hpp"
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
  if (!(c.dropout >= 0 && c.dropout < 1))
    fail("dropout " + std::to_string(c.dropout) + " lies outside [0, 1)");
  return c;
}

// He: of one direction.
Index encoder_hidden(const Seq2SeqRnnConfig& c) {
  return c.attention == AttentionScore::Dot ? c.d_model / 2 : c.d_model;
}
Index memory_size(const Seq2SeqRnnConfig& c) { return 2 * encoder_hidden(c); }
Index decoder_input(const Seq2SeqRnnConfig& c) {
  return c.d_embed + (c.attention == AttentionScore::Additive ? memory_size(c) : 0);
}

// Of each row, up to its last token that is not padding.
Tensor lengths_of(const Tensor& ids, Index pad) {
  if (ids.rank() != 2 || ids.dtype() != DType::Int64)
    throw with_operands(ShapeError("seq2seq_rnn", "needs int64 ids (B, S)"), Operand("ids", ids));
  Index columns = ids.size(1);
  auto list = ids.to_vector<Index>();
  std::vector<Index> lengths(static_cast<std::size_t>(ids.size(0)), 0);
  for (std::size_t b = 0; b < lengths.size(); ++b)
    for (Index s = 0; s < columns; ++s)
      if (list[b * static_cast<std::size_t>(columns) + static_cast<std::size_t>(s)] != pad)
        lengths[b] = s + 1;
  for (std::size_t b = 0; b < lengths.size(); ++b)
    if (lengths[b] == 0)
      throw ValueError("seq2seq_rnn", "source " + std::to_string(b) + " has no tokens");
  return from_vector(lengths, {ids.size(0)});
}

// What the generator reads.
Var joined(const Seq2SeqRnn::Readout& r) {
  return concatenate({r.hidden, r.context, r.embedded}, -1);
}

}  // namespace

Seq2SeqRnn::Seq2SeqRnn(const Seq2SeqRnnConfig& config)
    : config_(checked(config)),
      src_embed(child<Embedding>("src_embed", config.src_vocab, config.d_embed)),
      tgt_embed(child<Embedding>("tgt_embed", config.tgt_vocab, config.d_embed)),
      encoder(add_recurrent("encoder", config.d_embed, encoder_hidden(config), true)),
      bridge(child<ModuleList<Linear>>("bridge")),
      attention(add_attention()),
      decoder(add_recurrent("decoder", decoder_input(config), config.d_model, false)),
      generator(child<Linear>("generator", config.d_model + memory_size(config) + config.d_embed,
                              config.tgt_vocab)),
      dropout(child<Dropout>("dropout", config.dropout)) {
  for (Index i = 0; i < config.layers * parts_of(config.cell); ++i)
    bridge.append(memory_size(config), config.d_model);
  if (config.copy)
    copy = &child<PointerGenerator>("copy", memory_size(config), config.d_model, config.d_embed);
}

Recurrent& Seq2SeqRnn::add_recurrent(std::string_view name, Index in, Index hidden,
                                     bool bidirectional) {
  RecurrentOptions o;
  o.layers = config_.layers;
  o.bidirectional = bidirectional;
  o.dropout = config_.dropout;
  if (config_.cell == CellKind::Gru) return child<GRU>(name, in, hidden, o);
  if (config_.cell == CellKind::Lstm) return child<LSTM>(name, in, hidden, o);
  return child<RNN>(name, in, hidden, o,
                    config_.cell == CellKind::Relu ? Nonlinearity::Relu : Nonlinearity::Tanh);
}

ScoredAttention& Seq2SeqRnn::add_attention() {
  Index query = config_.d_model, key = memory_size(config_);
  switch (config_.attention) {
    case AttentionScore::Additive:
      return child<AdditiveAttention>("attention", query, key, query);
    case AttentionScore::Dot:
      return child<MultiplicativeAttention>("attention", LuongScore::Dot, query, key);
    case AttentionScore::General:
      return child<MultiplicativeAttention>("attention", LuongScore::General, query, key);
    case AttentionScore::Concat:
      break;
  }
  return child<MultiplicativeAttention>("attention", LuongScore::Concat, query, key);
}

Seq2SeqRnn::Encoded Seq2SeqRnn::encode(const SourceBatch& source) {
  const Tensor& src = source.ids;
  Tensor lengths = lengths_of(src, config_.pad);
  Encoded e{{}, {}, {}, {}, source};
  RecurrentOutput out = encoder.forward(dropout.forward(src_embed.forward(src)), {}, lengths);
  e.memory = out.y;
  e.keys = attention.project(out.y);
  e.keep = not_equal(src, static_cast<double>(config_.pad));
  e.states = initial_states(out.state);
  return e;
}

std::vector<Var> Seq2SeqRnn::initial_states(const RecurrentState& final) {
  std::vector<Var> states;
  std::size_t next = 0;
  for (Index layer = 0; layer < config_.layers; ++layer) {
    // The layer's two directions: (2, B, He) -> (B, 2 He)
    auto both = [&](const Var& v) {
      return concatenate({select(v, 0, 2 * layer), select(v, 0, 2 * layer + 1)}, 1);
    };
    Var state = tanh(bridge[next++].forward(both(final.h)));
    if (final.c.defined()) state = concatenate({state, bridge[next++].forward(both(final.c))}, 1);
    states.push_back(state);
  }
  return states;
}

Var Seq2SeqRnn::embed_target(const Tensor& ids) {
  Tensor known = copy ? embeddable(ids, config_.tgt_vocab, config_.unk) : ids;
  return dropout.forward(tgt_embed.forward(known));
}

// The embeddings' part of the products of the decoder's first layer: (..., E) -> (..., gates·D).
Var Seq2SeqRnn::input_gates(const Var& embedded) {
  Scope scope(decoder.scope_name());
  const CellWeights& w = decoder.weights(0);
  Var weight = reads_context() ? narrow(w.weight_ih, 1, 0, config_.d_embed) : w.weight_ih;
  return linear(embedded, weight, w.bias_ih);
}

Seq2SeqRnn::Readout Seq2SeqRnn::advance(Var gates, const Encoded& source,
                                        std::vector<Var>& states) {
  Index batch = gates.size(0);
  Readout read;
  auto look = [&](const Var& query) {
    Attended a = attention.attend(unsqueeze(query, 1), source.keys, source.memory, source.keep);
    read.context = reshape(a.context, {batch, -1});  // (B, 1, 2 He) -> (B, 2 He)
    read.attention = reshape(a.probs, {batch, -1});  // (B, 1, S) -> (B, S)
  };
  if (reads_context()) {
    look(hidden_of(config_.cell, states.back()));
    Scope scope(decoder.scope_name());
    Var weight = narrow(decoder.weights(0).weight_ih, 1, config_.d_embed, memory_size(config_));
    gates = add(gates, linear(read.context, weight, Var()));
  }
  {
    Scope scope(decoder.scope_name());
    for (std::size_t layer = 0; layer < states.size(); ++layer) {
      const CellWeights& w = decoder.weights(static_cast<Index>(layer));
      if (layer > 0) gates = linear(decoder.between_layers(read.hidden), w.weight_ih, w.bias_ih);
      states[layer] = cell_step(config_.cell, gates, states[layer], w);
      read.hidden = hidden_of(config_.cell, states[layer]);
    }
  }
  if (!reads_context()) look(read.hidden);
  return read;
}

Seq2SeqRnn::Readout Seq2SeqRnn::step(const Var& embedded, const Encoded& source,
                                     std::vector<Var>& states) {
  Readout read = advance(input_gates(embedded), source, states);
  read.embedded = embedded;
  return read;
}

// Luong's decoder without sampling: the attention waits for no step.
Seq2SeqRnn::Readout Seq2SeqRnn::decode_at_once(const Var& embedded, const Encoded& source) {
  RecurrentState start;
  std::vector<Var> h, c;
  Index d = config_.d_model;
  for (const Var& state : source.states) {
    h.push_back(hidden_of(config_.cell, state));
    if (config_.cell == CellKind::Lstm) c.push_back(narrow(state, 1, d, d));
  }
  start.h = stack(h, 0);
  if (!c.empty()) start.c = stack(c, 0);
  Readout read;
  read.hidden = decoder.forward(embedded, start).y;
  Attended a = attention.attend(read.hidden, source.keys, source.memory, source.keep);
  read.context = a.context;
  read.attention = a.probs;
  read.embedded = embedded;
  return read;
}

Tensor Seq2SeqRnn::sampled_tokens(const Tensor& tgt_in, Index t, const Tensor& sampled,
                                  const Readout& before, const SourceBatch& source) {
  auto tokens = tgt_in.select(1, t).to_vector<Index>();
  auto own = sampled.select(1, t).to_vector<bool>();
  std::vector<Index> rows;
  for (std::size_t b = 0; b < tokens.size(); ++b)
    if (own[b] && tokens[b] != config_.pad) rows.push_back(static_cast<Index>(b));
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
    throw ValueError("seq2seq_rnn", "the share of sampled tokens lies outside [0, 1]");
  if (tgt_in.rank() != 2 || tgt_in.size(1) < 1 || tgt_in.size(0) != source.memory.size(0))
    throw with_operands(
        ShapeError("seq2seq_rnn", "the target must be (B, T) with T at least 1, B the sources'"),
        Operand("tgt_in", tgt_in), Operand("memory", source.memory.value()));
  Tensor sampled;
  if (sampling > 0) sampled = bernoulli(tgt_in.shape(), sampling, glim::generator().next());
  Var embedded, gates;
  if (sampling == 0) {
    embedded = embed_target(tgt_in);
    if (!reads_context()) return decode_at_once(embedded, source);
    gates = input_gates(embedded);
  }
  std::vector<Var> states = source.states, hidden, context, attended, inputs;
  Readout read;
  for (Index t = 0; t < tgt_in.size(1); ++t) {
    Scope scope("t" + std::to_string(t));
    if (sampling == 0) {
      read = advance(select(gates, 1, t), source, states);
    } else {
      Tensor tokens = t == 0 ? tgt_in.select(1, 0).contiguous()
                             : sampled_tokens(tgt_in, t, sampled, read, source.source);
      read = step(embed_target(tokens), source, states);
      inputs.push_back(read.embedded);
    }
    hidden.push_back(read.hidden);
    context.push_back(read.context);
    attended.push_back(read.attention);
  }
  Readout all;
  all.hidden = stack(hidden, 1);
  all.context = stack(context, 1);
  all.attention = stack(attended, 1);
  all.embedded = sampling == 0 ? embedded : stack(inputs, 1);
  return all;
}

Var Seq2SeqRnn::generate(const Readout& r) { return generator.forward(joined(r)); }

Var Seq2SeqRnn::answer(const Readout& r, const SourceBatch& source) {
  if (!copy) return generate(r);
  return copy->forward(generate(r), r.attention, r.context, r.hidden, r.embedded, source);
}

Taught Seq2SeqRnn::teach(const SourceBatch& source, const Tensor& tgt_in,
                         const TeachOptions& options) {
  Readout read = decode(tgt_in, encode(source), options.sampling);
  Taught out;
  if (options.defer_logits && !copy) {
    out.hidden = joined(read);
    out.head = &generator;
  } else {
    out.logits = answer(read, source);
  }
  if (options.need_attention) out.attention.push_back(read.attention);
  return out;
}

}  // namespace glim

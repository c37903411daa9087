// query-is-key: what attention becomes when queries and keys have one projection.
//
// The tutorials: with Q = K attention "becomes with high probability something like the identity", and self-attention a
// map of each token by itself. A score is then q_i·q_j/√d_k, which is largest on the diagonal for vectors of one length,
// and the matrix of scores is symmetric. Measured is the mass on the diagonal, the mean A_ii of the encoder's
// self-attentions over all heads, before training and after it, and what the model has learned.

#include "autograd/observe/watch.hpp"
#include "autograd/op_form.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/study/measures.hpp"
#include "tools/study/sequences.hpp"
#include "tools/study/statistics.hpp"

namespace glim::query_is_key {

double diagonal_mass(const Tensor& probs) {
  const Tensor kept = mul(probs, eye(probs.size(-1), probs.dtype()));
  return mean(sum(kept, {-1})).item();
}

namespace {

double mass_of(Transformer& model, const std::vector<TokenPair>& pairs) {
  UseForm use(OpForm::Explicit);
  Tape tape;
  Watch probs(tape, "encoder*probs");
  model.encode(batch_of(pairs).source);
  std::vector<double> masses;
  for (const Watched& w : probs.values()) masses.push_back(diagonal_mass(w.value));
  return mean_of(masses);
}

}  // namespace

Measurement measure(std::uint64_t seed, bool small) {
  const Index steps = small ? 5 : 600, length = 10, sentences = small ? 4 : 100;
  const auto pairs = symbol_pairs(SymbolTask::Reverse, length, length, sentences, {seed, kHeldOut});
  Measurement m;
  for (bool shared : {false, true}) {
    const std::string name = shared ? "shared" : "apart";
    generator().set_state(seed, 0);
    TransformerConfig c = symbol_transformer();
    c.share_qk = shared;
    Transformer model(c);
    m.values["fresh_" + name] = mass_of(model, pairs);
    train_on(model, SymbolTask::Reverse, length, steps,
             [&](double step) { m.curve("loss", name, step, nll_of(model, pairs)); });
    m.values["trained_" + name] = mass_of(model, pairs);
    m.values["loss_" + name] = nll_of(model, pairs);
    m.curve("mass", name, 0, m.values["fresh_" + name]);
    m.curve("mass", name, static_cast<double>(steps), m.values["trained_" + name]);
  }
  m.values["fresh"] = m.values["fresh_shared"] / m.values["fresh_apart"];
  m.values["worse"] = m.values["loss_shared"] / m.values["loss_apart"];
  return m;
}

}  // namespace glim::query_is_key

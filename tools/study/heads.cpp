// heads: whether h heads cost what one costs, and look at different distances.
//
// Vaswani et al. 2017 (arXiv 1706.03762), section 3.2.2: with heads of width d/h "the total computational cost is similar
// to that of single-head attention with full dimensionality". Cost is counted: parameters, and the multiplications of
// all products of a forward pass. The time of an update is in the picture alone, because it is another in every run.
//
// The tutorials: heads look at different things, some near, some far. The distance of a head is
//
//   mean over queries i of Σ_j A_ij |i - j|       (tools/measure/attention_statistics.hpp)
//
// and the spread of an attention is the deviation of its heads' distances. Fresh weights are the comparison.
#include "autograd/observe/watch.hpp"
#include "autograd/op_form.hpp"
#include "tensor/clock.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/measure/attention_statistics.hpp"
#include "tools/study/measures.hpp"
#include "tools/study/sequences.hpp"
#include "tools/study/statistics.hpp"

namespace glim::heads {

double spread_of(const Tensor& probs) {
  const Tensor of_heads = mean(probs.to(DType::Float64), {0});  // distances are linear in A
  std::vector<double> distances;
  for (Index h = 0; h < of_heads.size(0); ++h)
    distances.push_back(head_statistics(select(of_heads, 0, h)).distance);
  return deviation_of(distances);
}

namespace {

// Multiplications of the products on a tape: for each element of a result one for each element of a row.
struct CountProducts final : Observer {
  void computed(const Formula& op, const Tensor& y) override {
    if (op.op == "matmul") results = y.numel();
  }
  void read(int, const Var& operand) override {  // the first operand of a product
    if (results == 0) return;
    total += static_cast<double>(results * operand.size(-1));
    results = 0;
  }
  Index results = 0;
  double total = 0;
};

}  // namespace

ForwardPass forward_pass(Transformer& model, const std::vector<TokenPair>& pairs) {
  UseForm use(OpForm::Explicit);
  CountProducts products;
  Tape tape;
  tape.observe(products);
  Watch probs(tape, "*probs");
  pair_loss(model, batch_of(pairs));
  std::vector<double> spreads;
  for (const Watched& w : probs.values()) spreads.push_back(spread_of(w.value));
  return {products.total, mean_of(spreads)};
}

Measurement measure(std::uint64_t seed, bool small) {
  const Index steps = small ? 5 : 600, length = 10, sentences = small ? 4 : 100;
  const auto pairs = symbol_pairs(SymbolTask::Reverse, length, length, sentences, {seed, kHeldOut});
  Measurement m;
  double parameters = 0, products = 0;
  for (Index heads : {1, 2, 4, 8}) {
    generator().set_state(seed, 0);
    TransformerConfig c = symbol_transformer();
    c.heads = heads;
    Transformer model(c);
    const auto weights = static_cast<double>(model.parameter_count());
    const auto [cost, fresh] = forward_pass(model, pairs);
    if (heads == 1) parameters = weights, products = cost;
    const double start = seconds_now();
    train_on(model, SymbolTask::Reverse, length, steps);
    m.curve("time", "seconds", heads, (seconds_now() - start) / static_cast<double>(steps));
    const std::string suffix = std::to_string(heads);
    m.values["loss_" + suffix] = nll_of(model, pairs);
    m.curve("loss", "reverse", heads, m.values["loss_" + suffix]);
    if (heads == 1) continue;
    const double trained = forward_pass(model, pairs).spread;
    m.values["spread_" + suffix] = trained / fresh;
    m.curve("spread", "fresh", heads, fresh);
    m.curve("spread", "trained", heads, trained);
    m.values["parameters"] = weights / parameters;
    m.values["products"] = cost / products;
  }
  return m;
}

}  // namespace glim::heads

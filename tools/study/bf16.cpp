// bf16: which gradients suffer when products are rounded to bfloat16, and whether training does.
//
// Kalamkar et al. 2019 (arXiv 1905.12322): training in bfloat16 reaches the results of float32 with the same settings.
// A bfloat16 has 8 bits of precision, 7 of them stored. Here the results of all matrix products, forward and backward,
// are rounded to that, to nearest and ties to even; everything else is float32. It is done to the bits of float32, so it
// is the same on every CPU. ∂L/∂S is a difference of products,
//
//   ∂L/∂S = A (∂L/∂A - Σ_s A ∂L/∂A)
//
// in which equal parts cancel, so it is expected to lose the most of its digits. Each error is ‖g' - g‖/‖g‖ for the same
// weights and batch, g' with rounding.
#include <bit>
#include <cmath>

#include "autograd/observe/watch.hpp"
#include "autograd/op_form.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/study/measures.hpp"
#include "tools/study/sequences.hpp"

namespace glim::bf16 {

float rounded(float x, int bits) {
  const auto u = std::bit_cast<std::uint32_t>(x);
  const int dropped = 23 - bits;
  if (dropped <= 0 || !std::isfinite(x)) return x;
  const std::uint32_t half = std::uint32_t{1} << (dropped - 1), odd = u >> dropped & 1;
  return std::bit_cast<float>((u + half - 1 + odd) >> dropped << dropped);
}

namespace {

struct RoundProducts final : Observer {
  explicit RoundProducts(int precision) : bits(precision) {}
  void computed(const Formula& op, const Tensor& y) override {
    if (op.op != "matmul") return;
    Tensor result = y;
    for (float *x = result.data<float>(), *end = x + y.numel(); x != end; ++x)
      *x = rounded(*x, bits);
  }
  int bits;
};

constexpr int kBfloat16 = 7, kFloat32 = 23;
const Backward kRecorded{.create_graph = true};  // so that products of backward are seen, too

using Gradients = std::map<std::string, std::vector<Tensor>>;

Gradients gradients(Transformer& model, const Batch& batch, int bits) {
  RoundProducts round(bits);
  Gradients found;
  {
    Tape tape;
    tape.observe(round);
    Watch scores(tape, "*scores");
    tape.backward(pair_loss(model, batch), kRecorded);
    for (const Watched& w : scores.values())
      if (w.grad.defined()) found["scores"].push_back(w.grad.clone());
    for (const auto& [name, p] : model.named_parameters()) {
      const bool norm = name.find("norm") != name.npos, embedding = name.find("embed") != name.npos;
      found[norm ? "norms" : embedding ? "embeddings" : "matrices"].push_back(p.grad().clone());
    }
  }
  model.zero_grad();
  return found;
}

double relative_error(const std::vector<Tensor>& exact, const std::vector<Tensor>& rough) {
  double apart = 0, size = 0;
  for (std::size_t i = 0; i < exact.size(); ++i)
    apart += std::pow(norm(sub(rough[i], exact[i])), 2), size += std::pow(norm(exact[i]), 2);
  return std::sqrt(apart / size);
}

}  // namespace

Measurement measure(std::uint64_t seed, bool small) {
  UseForm use(OpForm::Explicit);
  const Index steps = small ? 5 : 500, length = 10, sentences = small ? 4 : 100;
  const auto held_out =
      symbol_pairs(SymbolTask::Reverse, length, length, sentences, {seed, kHeldOut});
  Measurement m;
  for (int bits : {kFloat32, kBfloat16}) {
    generator().set_state(seed, 0);
    Transformer model(symbol_transformer());
    RoundProducts round(bits);
    auto loss = [&](Index step) {
      Tape::current()->observe(round);
      Var l = pair_loss(
          model, batch_of(symbol_pairs(SymbolTask::Reverse, 1, length, 32, generator().next())));
      if (step % (steps / 5) == 0)
        m.curve("loss", bits == kFloat32 ? "float32" : "bfloat16", double(step), l.item());
      return l;
    };
    train(model, steps, 3e-3, loss, {}, kRecorded);
    m.values[bits == kFloat32 ? "loss" : "loss_rounded"] = nll_of(model, held_out);
    if (bits != kFloat32) continue;
    const Batch batch =
        batch_of(symbol_pairs(SymbolTask::Reverse, 1, length, 32, {seed, kHeldOut + 1}));
    const Gradients exact = gradients(model, batch, kFloat32);
    for (int kept : {4, 5, 6, kBfloat16, 8, 10}) {
      const Gradients rough = gradients(model, batch, kept);
      for (const auto& [name, g] : exact) {
        const double error = relative_error(g, rough.at(name));
        m.curve("errors", name, kept, error);
        if (kept == kBfloat16) m.values[name] = error;
      }
    }
  }
  const double others = std::fmax(m.values["norms"], m.values["embeddings"]);
  m.values["first"] = m.values["scores"] / std::fmax(others, m.values["matrices"]);
  m.values["worse"] = m.values["loss_rounded"] - m.values["loss"];
  return m;
}

}  // namespace glim::bf16

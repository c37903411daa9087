// The bits of every kind of model: values, gradients, one of each parameter, and two steps of Adam. Python computes the same ones through its
// package (tests/python/test_bits.py), and both compare them with tests/python/bits.txt.
#include <fstream>
#include <map>

#include "models/bert/bert.hpp"
#include "models/cnn/cnn.hpp"
#include "models/conv/conv_seq2seq.hpp"
#include "models/gpt/gpt.hpp"
#include "models/non_autoregressive/non_autoregressive.hpp"
#include "models/rnn/seq2seq_rnn.hpp"
#include "models/transformer/transformer.hpp"
#include "models/vit/vit.hpp"
#include "optim/adam.hpp"
#include "tensor/matmul/plan.hpp"
#include "tests/models/common.hpp"

namespace test_bits {

using namespace glim;

// FNV-1a of the bytes of float32 tensors (Fowler, Noll & Vo 1991).
std::string hash_of(const std::vector<Tensor>& tensors) {
  std::uint64_t h = 0xcbf29ce484222325;
  for (const Tensor& t : tensors)
    for (float x : t.to_vector<float>()) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, &x, 4);
      for (int byte = 0; byte < 4; ++byte) h = (h ^ (bits >> 8 * byte & 0xff)) * 0x100000001b3;
    }
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(h));
  return text;
}

// Two steps down Σ y², then y, and the gradients and parameters of the last step.
template <class M, class F>
std::string run(M& model, const F& f) {
  Adam optimizer(model.named_parameters());
  std::vector<Tensor> seen;
  for (int step = 0; step < 2; ++step) {
    optimizer.zero_grad();
    Tape tape;
    Var y = f(model);
    tape.backward(sum(y * y));
    seen = {y.value().clone()};
    optimizer.step();
  }
  for (const auto& [name, p] : model.named_parameters()) {
    INFO(name);  // lengths have a loss of their own
    CHECK((name.starts_with("length_predictor") || dot(p.grad(), p.grad()) > 0));
    if (p.grad().defined()) seen.push_back(p.grad());
    seen.push_back(p.value());
  }
  return hash_of(seen);
}

std::map<std::string, std::string> expected() {
  std::ifstream in(GLIM_PYTHON_BITS);
  std::map<std::string, std::string> all;
  for (std::string kind, hash; in >> kind >> hash;) all[kind] = hash;
  return all;
}

template <class Config>
Config small() {
  Config c;
  if constexpr (requires { c.d_ff; }) c.d_ff = 32;
  if constexpr (requires { c.heads; }) c.heads = 2;
  if constexpr (requires { c.layers; }) c.layers = 1;
  if constexpr (requires { c.encoder_layers; }) c.encoder_layers = c.decoder_layers = 1;
  if constexpr (requires { c.vocab; }) c.vocab = 9;
  if constexpr (requires { c.src_vocab; }) c.src_vocab = c.tgt_vocab = 9;
  c.d_model = 16;
  return c;
}

TEST_CASE("every kind of model has the bits that Python's package has", "[models][python]") {
  const GemmEngine before = gemm_engine();
  use_gemm_engine(GemmEngine::Builtin);  // OpenBLAS's bits are its own
  const Tensor ids = from_vector<std::int64_t>({1, 4, 5, 6, 1, 5, 2, 0}, {2, 4});
  const auto teach = [&](SequenceModel& m) {
    return m.in_scope([&] { return m.teach(SourceBatch(ids), ids).logits; });
  };
  std::map<std::string, std::string> got;
  auto record = [&]<class M>(const char* kind, auto config, M*, const auto& f) {
    seed(3);
    M model(config);
    got[kind] = run(model, f);
  };
  record("transformer", small<TransformerConfig>(), static_cast<Transformer*>(nullptr),
         [&](Transformer& m) { return m(ids, ids); });
  GptConfig gpt = small<GptConfig>();
  gpt.context = 8;
  record("gpt", gpt, static_cast<Gpt*>(nullptr), [&](Gpt& m) { return m(ids); });
  record("bert", small<BertConfig>(), static_cast<Bert*>(nullptr), [&](Bert& m) { return m(ids); });
  VitConfig vit = small<VitConfig>();
  vit.height = vit.width = 14;
  const Tensor images = normal({2, 1, 14, 14}, 0, 1, {5, 0});
  record("vit", vit, static_cast<Vit*>(nullptr), [&](Vit& m) { return m(images); });
  CnnConfig cnn = small<CnnConfig>();
  cnn.height = cnn.width = 14;
  record("cnn", cnn, static_cast<Cnn*>(nullptr), [&](Cnn& m) { return m(images); });
  Seq2SeqRnnConfig rnn = small<Seq2SeqRnnConfig>();
  rnn.d_embed = 8;
  rnn.cell = CellKind::Lstm;
  record("rnn", rnn, static_cast<Seq2SeqRnn*>(nullptr), teach);
  record("conv", small<ConvSeq2SeqConfig>(), static_cast<ConvSeq2Seq*>(nullptr), teach);
  record("non-autoregressive", small<NonAutoregressiveConfig>(),
         static_cast<NonAutoregressive*>(nullptr), teach);
  use_gemm_engine(before);
  for (const auto& [kind, hash] : got) UNSCOPED_INFO(kind << " " << hash);
  CHECK(got == expected());
}

}  // namespace test_bits

// The same seed gives the same bits, for any number of threads.
#include "models/transformer.hpp"
#include "optim/adam.hpp"
#include "optim/clip.hpp"
#include "tensor/elementwise.hpp"
#include "tensor/parallel.hpp"
#include "tests/catch.hpp"

using namespace glim;

namespace {

StateDict trained(int threads) {
  set_num_threads(threads);
  seed(21);
  TransformerConfig c;
  c.src_vocab = c.tgt_vocab = 700;
  c.d_model = 64;
  c.heads = 4;
  c.d_ff = 256;
  c.encoder_layers = c.decoder_layers = 2;
  c.tie = Tie::Decoder;
  c.dropout = 0.2;
  Transformer model(c);
  Adam adam(model.named_parameters(), Adam::transformer());
  adam.set_rate(1e-3);
  for (std::uint64_t step = 0; step < 4; ++step) {
    Tensor source = random_integers({16, 24}, 3, 700, {7, step});
    Tensor target = random_integers({16, 21}, 3, 700, {8, step});
    source.narrow(1, 20, 4).narrow(0, 0, 8).fill_(0);  // padding
    Tape tape;
    Var logits = reshape(model.forward(source, target.narrow(1, 0, 20)), {-1, 700});
    Var loss = label_smoothing_loss(logits, target.narrow(1, 1, 20).reshape({-1}), 0.1, 0);
    tape.backward(mul(loss, 1.0 / 320));
    clip_gradient_norm(model.named_parameters(), 1.0);
    adam.step();
    adam.zero_grad();
  }
  StateDict state;
  for (auto& [name, tensor] : model.state_dict()) state[name] = tensor.clone();
  return state;
}

}  // namespace

TEST_CASE("weights after training are the same bits for 1, 2, 3 and 4 threads", "[determinism]") {
  int before = num_threads();
  StateDict one = trained(1), again = trained(1);
  for (auto& [name, tensor] : one) {
    INFO(name);
    CHECK(same_bits(tensor, again[name]));
  }
  for (int threads : {2, 3, 4}) {
    StateDict other = trained(threads);
    for (auto& [name, tensor] : one) {
      INFO(name << ", " << threads << " threads");
      CHECK(same_bits(tensor, other[name]));
      CHECK(all_finite(tensor));
    }
  }
  set_num_threads(before);
}

// A seed gives the same bits every time, for any number of threads.
#include <cmath>

#include "autograd/op_form.hpp"
#include "models/transformer/transformer.hpp"
#include "optim/adam.hpp"
#include "optim/clip.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/parallel.hpp"
#include "tests/models/common.hpp"

namespace test_determinism {

using namespace glim;

namespace {

StateDict trained(int threads) {
  set_num_threads(threads);
  seed(21);
  auto c = sized<TransformerConfig>(700, 64, 4, 256, 2);
  c.tie = Tie::Decoder;
  c.dropout = 0.2;
  Transformer model(c);
  Adam adam(model.named_parameters(), Adam::transformer());
  adam.set_rate(1e-3);
  for (std::uint64_t step = 0; step < 4; ++step) {
    Tensor source = random_integers({16, 24}, 3, 700, {7, step});
    Tensor target = random_integers({16, 21}, 3, 700, {8, step});
    narrow(narrow(source, 1, 20, 4), 0, 0, 8).fill_(0);  // padding
    Tape tape;
    Var logits = reshape(model(source, narrow(target, 1, 0, 20)), {-1, 700});
    Var loss = label_smoothing_loss(logits, reshape(narrow(target, 1, 1, 20), {-1}), 0.1, 0);
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

TEST_CASE("a search finds the same for 1, 2, 3 and 4 threads", "[determinism]") {
  int before = num_threads();
  seed(22);
  // products, rows and caches large enough to be shared out
  auto c = sized<TransformerConfig>(9000, 128, 4, 512, 1);
  Transformer model(c);
  model.eval();
  for (Index sentences : {1, 20})
    for (int beam : {1, 5}) {
      Tensor source = random_integers({sentences, 24}, 3, 9000, {10, 0});
      std::vector<Index> limits(static_cast<std::size_t>(sentences), 12);
      SearchOptions o;
      o.beam = beam;
      auto found = [&](int threads) {
        set_num_threads(threads);
        return model.generate_sequences(source, limits, o);
      };
      auto one = found(1);
      for (int threads : {2, 3, 4}) {
        INFO(sentences << " sentences, beam " << beam << ", " << threads << " threads");
        auto other = found(threads);
        for (std::size_t i = 0; i < one.size(); ++i) {
          CHECK(other[i][0].tokens == one[i][0].tokens);
          CHECK(other[i][0].log_prob == one[i][0].log_prob);
        }
      }
    }
  set_num_threads(before);
}

TEST_CASE("after 200 steps the fused and the explicit path have one loss", "[determinism]") {
  auto losses = [](OpForm level) {
    UseForm use(level);
    seed(23);
    auto c = sized<TransformerConfig>(16, 16, 2, 32, 1);
    c.dropout = 0.1;
    Transformer model(c);
    Adam adam(model.named_parameters(), Adam::transformer());
    adam.set_rate(1e-3);
    Tensor source = random_integers({4, 8}, 3, 16, {9, 0}),
           target = random_integers({4, 9}, 3, 16, {9, 1});
    std::vector<double> list;
    for (int step = 0; step < 200; ++step) {
      Tape tape;
      Var logits = reshape(model(source, narrow(target, 1, 0, 8)), {-1, 16});
      Var loss = mul(label_smoothing_loss(logits, reshape(narrow(target, 1, 1, 8), {-1}), 0.1, 0),
                     1.0 / 32);
      list.push_back(loss.value().item());
      tape.backward(loss);
      adam.step();
      adam.zero_grad();
    }
    return list;
  };
  auto fused = losses(OpForm::Fused), composed = losses(OpForm::Explicit);
  CHECK(fused.back() < 0.8 * fused.front());  // something was learned on the way
  double worst = 0;
  for (std::size_t i = 0; i < fused.size(); ++i)
    worst = std::max(worst, std::abs(fused[i] - composed[i]));
  INFO("losses " << fused.front() << " ... " << fused.back() << ", largest difference " << worst);
  CHECK(worst < 1e-5);
  CHECK(worst > 0);  // they are two paths
}

}  // namespace test_determinism

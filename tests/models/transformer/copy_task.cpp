// The copy task of the tutorials: V = 11, the model learns to give back its input.
#include <cmath>

#include "models/transformer/transformer.hpp"
#include "nn/loss.hpp"
#include "optim/adam.hpp"
#include "optim/schedule.hpp"
#include "tensor/ops/reduce.hpp"
#include "tests/models/common.hpp"

namespace test_copy_task {

using namespace glim;

namespace {

TransformerConfig copy_config() {
  auto c = sized<TransformerConfig>(11, 64, 4, 128, 2);
  c.norm = NormPlacement::Pre;
  return c;
}

}  // namespace

TEST_CASE("copying 1 2 ... 10 is learned and decoded greedily", "[train][slow]") {
  seed(11);
  Transformer model(copy_config());
  Adam adam(model.named_parameters(), Adam::transformer());
  Schedule schedule = noam_schedule(64, 100, 0.3);
  double recent = 0;  // running mean of the loss
  for (int step = 1; step <= 400; ++step) {
    // As the tutorials draw it: symbols 1 to 10, the first one always 1; the target is the source.
    Tensor data = random_integers({32, 10}, 1, 11, {5, static_cast<std::uint64_t>(step)});
    select(data, 1, 0).fill_(1);
    Tape tape;
    Var logits = model(data, narrow(data, 1, 0, 9));
    Var loss = cross_entropy(logits, narrow(data, 1, 1, 9));
    tape.backward(loss);
    adam.set_rate(schedule.rate(step));
    adam.step();
    adam.zero_grad();
    recent = step == 1 ? loss.item() : 0.9 * recent + 0.1 * loss.item();
    REQUIRE(std::isfinite(recent));
  }
  CHECK(recent < 0.05);
  model.eval();
  Tensor source = reshape(arange(1, 11), {1, 10});
  auto decoder = model.decoder_for(source);
  std::vector<Index> out{1};
  for (int i = 1; i < 10; ++i) {
    Tensor p = decoder->step({out.back()});
    out.push_back(argmax(p, 1).at<Index>({0}));
  }
  CHECK(out == arange(1, 11).to_vector<Index>());
}

}  // namespace test_copy_task

// Scheduled sampling: the ramps, the mixture, and the two passes of the Transformer.
#include "models/decoding/scheduled_sampling.hpp"

#include <cmath>

#include "models/transformer/transformer.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tests/models/common.hpp"

namespace test_scheduled_sampling {

using namespace glim;

TEST_CASE("the share of own predictions rises as each schedule says", "[sampling]") {
  using S = SamplingSchedule;
  auto share = [](S s, Index step) { return sampling_share(s, 0.8, 100, step); };
  CHECK(share(S::Constant, 0) == Approx(0.8));
  CHECK(share(S::Linear, 0) == 0);
  CHECK(share(S::Linear, 25) == Approx(0.2));
  CHECK(share(S::Linear, 100) == Approx(0.8));
  CHECK(share(S::Linear, 1000) == Approx(0.8));
  CHECK(share(S::Exponential, 0) == 0);
  CHECK(share(S::Exponential, 50) == Approx(0.8 * 0.9));  // 0.01^(1/2) = 0.1 true tokens
  CHECK(share(S::Exponential, 100) == Approx(0.8 * 0.99));
  CHECK(share(S::InverseSigmoid, 50) == Approx(0.4));
  CHECK(share(S::InverseSigmoid, 0) < 0.06);
  CHECK(share(S::InverseSigmoid, 100000) == Approx(0.8));
  for (S s : {S::Linear, S::Exponential, S::InverseSigmoid}) {
    double before = -1;
    for (Index step = 0; step < 300; step += 7) {
      CHECK(share(s, step) >= before);
      before = share(s, step);
    }
    CHECK(sampling_share(s, 1, 1, 1) <= 1);
  }
  CHECK_THROWS_AS(sampling_share(S::Linear, 1.1, 10, 0), ValueError);
  CHECK_THROWS_AS(sampling_share(S::Linear, 0.5, 0, 0), ValueError);
  CHECK_THROWS_AS(sampling_share(S::Linear, 0.5, 10, -1), ValueError);
}

TEST_CASE("predictions take the place of the tokens after them", "[sampling]") {
  Tensor truth = ids({1, 4, 5, 6, 1, 7, 0, 0}, {2, 4});
  Tensor said = ids({14, 15, 16, 17, 18, 0, 20, 21}, {2, 4});
  CHECK(same_bits(mix_predictions(truth, said, 0, {1, 1}, 0), truth));
  // All of them: shifted by one; <s> and padding stay.
  CHECK(mix_predictions(truth, said, 1, {1, 1}, 0).to_vector<Index>() ==
        std::vector<Index>{1, 14, 15, 16, 1, 18, 0, 0});
  Tensor many = full({50, 41}, 5, DType::Int64), other = full({50, 41}, 9, DType::Int64);
  Tensor mixed = mix_predictions(many, other, 0.3, {1, 1}, 0);
  double share = sum(equal(mixed, 9.0)).item() / (50.0 * 40.0);
  CHECK(std::abs(share - 0.3) < 0.04);
  CHECK(same_bits(mixed, mix_predictions(many, other, 0.3, {1, 1}, 0)));
  CHECK_FALSE(same_bits(mixed, mix_predictions(many, other, 0.3, {1, 2}, 0)));
  CHECK_THROWS_AS(mix_predictions(truth, narrow(said, 1, 0, 3), 0.5, {1, 1}, 0), ShapeError);
  CHECK(same_bits(mix_predictions(ids({1, 1}, {2, 1}), ids({4, 4}, {2, 1}), 1, {1, 1}, 0),
                  ids({1, 1}, {2, 1})));
}

TEST_CASE("the second pass reads the mixture and is all that is differentiated", "[sampling]") {
  auto c = sized<TransformerConfig>(11, 16, 2, 24, 1);
  for (bool copy : {false, true}) {
    seed(8);
    c.copy = copy;
    Transformer model(c);
    model.to(DType::Float64);
    SourceBatch source(ids({3, 4, 5, 2, 7, 8, 2, 0}, {2, 4}));
    source.copy_ids = ids({11, 4, 5, 2, 11, 12, 2, 0}, {2, 4});
    source.extra = copy ? 2 : 0;
    Tensor tgt_in = ids({1, 4, 5, 6, 1, 7, 0, 0}, {2, 4});
    Tensor said = argmax(model.teach(source, tgt_in).logits.value(), -1);
    Tensor mixed = mix_predictions(tgt_in, said, 1, {1, 1}, 0);
    auto gradients = [&](const Tensor& input, double share) {
      model.zero_grad();
      Tape tape;
      TeachOptions o;
      o.sampling = share;
      Var logits = model.teach(source, input, o).logits;
      tape.backward(sum(mul(logits, logits)));
      std::vector<Tensor> list{logits.value()};
      for (const Var& p : model.parameters()) list.push_back(p.grad().clone());
      return list;
    };
    auto two_passes = gradients(tgt_in, 1), by_hand = gradients(mixed, 0);
    auto plain = gradients(tgt_in, 0);
    for (std::size_t i = 0; i < by_hand.size(); ++i) CHECK(same_bits(two_passes[i], by_hand[i]));
    CHECK_FALSE(same_bits(two_passes[0], plain[0]));
  }
}

}  // namespace test_scheduled_sampling

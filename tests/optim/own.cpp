// Optimizers that a user writes: by whole parameters or by pieces, and without a transpose.
#include "optim/trace.hpp"
#include "tensor/matmul/matmul.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tests/optim/common.hpp"

namespace test_own_optimizer {

using namespace glim;

// Lion, written element by element.
class Lion final : public Optimizer {
 public:
  explicit Lion(const NamedParameters& parameters)
      : Optimizer(parameters, 0.01, {0.5}, {"exp_avg"}) {}

 private:
  void update(const Slot& slot, Index begin, Index end) const override {
    auto* theta = slot.parameter.value().data<double>();
    auto *m = slot.state[0].data<double>(), *g = slot.gradient.data<double>();
    for (Index i = begin; i < end; ++i) {
      const double c = 0.9 * m[i] + 0.1 * g[i];
      theta[i] -= rate() * ((c > 0) - (c < 0) + slot.weight_decay * theta[i]);
      m[i] = 0.99 * m[i] + 0.01 * g[i];
    }
  }
};

// Muon's direction of a gradient, without its momentum: a matrix with the same singular vectors, whose singular values
// one step of Newton and Schulz brings closer to 1. A vector goes down its gradient, by pieces.
class Muon final : public Optimizer {
 public:
  explicit Muon(const NamedParameters& parameters) : Optimizer(parameters, 0.1, {0}, {}) {}

 private:
  bool update_whole(const Slot& slot) const override {
    if (slot.shape.rank() != 2) return false;
    const Tensor x = slot.gradient / norm(slot.gradient);
    slot.parameter.value() -= rate() * (1.5 * x - 0.5 * matmul(matmul(x, transpose(x)), x));
    return true;
  }
  void update(const Slot& slot, Index begin, Index end) const override {
    REQUIRE(slot.name == "b");
    for (Index i = begin; i < end; ++i)
      slot.parameter.value().data<double>()[i] -= rate() * slot.gradient.data<double>()[i];
  }
};

struct Nothing final : Optimizer {
  explicit Nothing(const NamedParameters& parameters) : Optimizer(parameters, 0.1, {0}, {}) {}
};

TEST_CASE("a user's optimizer moves parameters by pieces", "[optim]") {
  TwoParams pair(DType::Float64);
  const Tensor w = pair.w.value().clone(), m = zeros(w.shape(), w.dtype());
  Lion lion(pair.list());
  for (Index i = 0; i < 3; ++i) {
    pair.set_gradients(i);
    w -= 0.01 * (sign(0.9 * m + 0.1 * pair.w.grad()) + 0.5 * w);
    m.copy_(0.99 * m + 0.01 * pair.w.grad());
    lion.step();
  }
  CHECK(close(pair.w.value(), w, 1e-15));
  CHECK(close(lion.state_dict().at("exp_avg.w"), m, 1e-15));
}

TEST_CASE("an optimizer may update a whole parameter", "[optim]") {
  TwoParams pair(DType::Float64);
  const Tensor w = pair.w.value().clone(), b = pair.b.value().clone();
  Muon muon(pair.list());
  pair.set_gradients(0);
  const Tensor x = pair.w.grad() / norm(pair.w.grad());
  muon.step();
  CHECK(
      close(pair.w.value(), w - 0.1 * (1.5 * x - 0.5 * matmul(matmul(x, transpose(x)), x)), 1e-15));
  CHECK(close(pair.b.value(), b - 0.1 * pair.b.grad(), 1e-15));
  CHECK(muon.steps() == 1);
}

TEST_CASE("an optimizer that states no step or no transpose says so", "[optim]") {
  TwoParams pair(DType::Float64);
  pair.set_gradients(0);
  Nothing nothing(pair.list());
  CHECK(contains(error_of<StateError>([&] { nothing.step(); }),
                 "w is not updated: override update or update_whole"));
  Lion lion(pair.list());
  const Tensor before = pair.w.value().clone();
  CHECK(contains(error_of<StateError>([&] { (void)lion.adjoint({}); }), "override transposed"));
  CHECK(same_bits(pair.w.value(), before));
}

}  // namespace test_own_optimizer

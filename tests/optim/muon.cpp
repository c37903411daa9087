// Muon against torch's, whose products are of bfloat16: the reference has them in float64.
#include "optim/muon.hpp"

#include <cmath>

#include "tensor/matmul/matmul.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tensor/random.hpp"
#include "tests/optim/common.hpp"

namespace test_muon {

using namespace glim;

TEST_CASE("every step of Muon equals torch's", "[optim][reference]") {
  for (const char* name : {"muon", "muon_plain", "muon_rms"})
    for (DType dtype : {DType::Float64, DType::Float32}) {
      INFO(name << " " << name_of(dtype));
      const auto c = optim().config(name);
      MuonOptions o{.rate = c["lr"],
                    .weight_decay = c["weight_decay"],
                    .momentum = c["momentum"],
                    .nesterov = c["nesterov"],
                    .eps = c["eps"],
                    .steps = c["ns_steps"]};
      o.match_rms_adamw = c["adjust_lr_fn"] == "match_rms_adamw";
      NamedParameters list;
      for (const char* matrix : {"wide", "tall", "square"})
        list.emplace_back(
            matrix,
            Var::leaf(optim().get(std::string("muon.param.") + matrix, dtype).clone(), matrix));
      Muon muon(list, o);
      for (Index i = 0; i < kSteps; ++i) {
        for (auto& [key, var] : list)
          var.leaf().grad =
              select(optim().get("muon.grads." + key, dtype), 0, i).contiguous().clone();
        muon.step();
        for (auto& [key, var] : list)
          CHECK(distance(var.value(), select(optim().get(std::string(name) + "." + key), 0, i)) <=
                (dtype == DType::Float64 ? 1e-12 : 2e-5));
      }
    }
}

TEST_CASE("Muon's update has singular values of about 1, and of 0 it is 0", "[optim]") {
  const Tensor x = Muon::orthogonal(normal({3, 40}, 0, 1, {5, 1}, DType::Float64));
  const Tensor gram = matmul(x, transpose(x));
  for (Index i = 0; i < 3; ++i)
    for (Index j = 0; j < 3; ++j)
      CHECK(gram.at<double>({i, j}) == Approx(i == j ? 0.9 : 0).margin(0.45));
  CHECK(dot(Muon::orthogonal(zeros({3, 4})), ones({3, 4})) == 0);
}

TEST_CASE("Muon leaves vectors to AdamW, and has no threshold", "[optim]") {
  const TwoParams both(DType::Float64), alone(DType::Float64);
  Muon muon({{"w", both.w}}, {.rate = 0.01, .weight_decay = 0.1}, {{"b", both.b}});
  AdamW adam({{"b", alone.b}}, {.rate = 0.01, .weight_decay = 0.1, .decay_matrices_only = true});
  for (Index i = 0; i < kSteps; ++i) {
    both.set_gradients(i);
    alone.set_gradients(i);
    muon.step();
    adam.step();
  }
  CHECK(distance(both.b.value(), alone.b.value()) == 0);
  CHECK_THROWS_AS(muon.stability(), StateError);
  CHECK_THROWS_AS(Muon(both.list()), ValueError);
  CHECK_THROWS_AS(Muon({{"w", both.w}}, {.momentum = 1}), ValueError);
  CHECK_THROWS_AS(Muon({{"w", both.w}}, {.eps = -1}), ValueError);
}

}  // namespace test_muon

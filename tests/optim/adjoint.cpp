// The transpose of each optimizer's step and of clipping: u·(J v) = (Jᵀ u)·v, where J is that of the step as Vars.
#include <cmath>
#include <functional>

#include "autograd/products.hpp"
#include "optim/clip.hpp"
#include "optim/muon.hpp"
#include "tensor/matmul/matmul.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tests/optim/common.hpp"

namespace test_adjoint {

using namespace glim;

// A parameter, its state and its gradient, before a step, in the order of the optimizer's states.
using Vars = std::vector<Var>;

// The step of torch.optim.Adam and AdamW, t from 1.
Vars adam_step(const AdamOptions& o, bool decoupled, double t, const Vars& s) {
  const Var &theta = s[0], g = decoupled ? s[3] : s[3] + o.weight_decay * theta;
  const Var m = o.beta1 * s[1] + (1 - o.beta1) * g, v = o.beta2 * s[2] + (1 - o.beta2) * g * g;
  const Var m_hat = m / (1 - std::pow(o.beta1, t)), v_hat = v / (1 - std::pow(o.beta2, t));
  const Var kept = decoupled ? (1 - o.rate * o.weight_decay) * theta : theta;
  return {kept - o.rate * m_hat / (sqrt(v_hat) + o.eps), m, v};
}

Vars sgd_step(const SgdOptions& o, bool first, const Vars& s) {
  const Var& theta = s[0];
  const Var g = s.back() + o.weight_decay * theta;
  if (o.momentum == 0) return {theta - o.rate * g};
  const Var m = first ? g + 0.0 * s[1] : o.momentum * s[1] + (1 - o.dampening) * g;
  return {theta - o.rate * (o.nesterov ? g + o.momentum * m : m), m};
}

// The step of Muon for a matrix; other parameters take AdamW's, without decay.
Vars muon_step(const MuonOptions& o, double t, const Vars& s) {
  if (s[0].rank() != 2) return adam_step({.rate = o.rate}, true, t, s);
  const Var &theta = s[0], &g = s[3];
  const Var m = o.momentum * s[1] + (1 - o.momentum) * g;
  const Var u = o.nesterov ? o.momentum * m + (1 - o.momentum) * g : m;
  const bool tall = theta.size(0) > theta.size(1);
  Var x = (tall ? transpose(u) : u) / sqrt(sum(u * u));
  for (Index i = 0; i < o.steps; ++i) {
    const Var gram = matmul(x, transpose(x));
    x = o.coefficients[0] * x +
        matmul(o.coefficients[1] * gram + o.coefficients[2] * matmul(gram, gram), x);
  }
  const double rows = static_cast<double>(theta.size(0)),
               columns = static_cast<double>(theta.size(1));
  const double size = o.match_rms_adamw ? 0.2 * std::sqrt(std::max(rows, columns))
                                        : std::sqrt(std::max(1.0, rows / columns));
  const Var step = tall ? transpose(x) : x;
  return {(1 - o.rate * o.weight_decay) * theta - (o.rate * size) * step, m, 1.0 * s[2]};
}

Tensor draw(const Shape& shape, std::uint64_t stream) {
  return normal(shape, 0, 1, {3, stream}, DType::Float64);
}

// `step` is what the optimizer's does at its t-th update.
void check_transpose(Optimizer& optimizer, const TwoParams& pair,
                     const std::vector<std::string>& states,
                     const std::function<Vars(Index, const Vars&)>& step) {
  for (Index t = 1; t <= 4; ++t) {
    INFO("update " << t);
    for (const auto& [name, p] : pair.list())  // none is 0, where √v has no slope
      p.set_grad(draw(p.shape(), 100 + static_cast<std::uint64_t>(t)));
    const StateDict kept = optimizer.state_dict();
    std::vector<std::pair<std::string, Vars>> before;
    std::vector<Vars> after;
    Tape tape;
    std::uint64_t stream = 0;
    StateDict u;
    double there = 0, back = 0;
    std::vector<Vars> directions;
    for (const auto& [name, p] : pair.list()) {
      Vars s{Var::leaf(p.value().clone())};
      for (const std::string& state : states) {
        auto at = kept.find(state + "." + name);
        s.push_back(Var::leaf(at == kept.end() ? zeros(p.shape(), p.dtype()) : at->second.clone()));
      }
      s.push_back(Var::leaf(p.grad().clone()));
      before.emplace_back(name, s);
      after.push_back(step(t, s));
      Vars vs;
      for (const Var& x : s) vs.emplace_back(draw(x.shape(), ++stream));
      directions.push_back(vs);
      const std::vector<Var> jv = jvp(tape, after.back(), s, vs);
      for (std::size_t k = 0; k < jv.size(); ++k) {
        const Tensor random = draw(p.shape(), ++stream);
        u[k == 0 ? name : states[k - 1] + "." + name] = random;
        there += dot(random, jv[k].value());
      }
    }
    const StateDict transposed = optimizer.adjoint(u);
    for (std::size_t i = 0; i < before.size(); ++i) {
      const std::string& name = before[i].first;
      back += dot(transposed.at(name), directions[i][0].value());
      for (std::size_t k = 0; k < states.size(); ++k)
        back += dot(transposed.at(states[k] + "." + name), directions[i][k + 1].value());
      back += dot(transposed.at("gradient." + name), directions[i].back().value());
    }
    CHECK(std::abs(there - back) <= 1e-13 * std::abs(there));
    optimizer.step();
    std::size_t i = 0;
    for (const auto& [name, p] : pair.list())
      CHECK(distance(p.value(), after[i++][0].value()) <= 1e-14);
  }
}

TEST_CASE("the transpose of SGD's step", "[optim][adjoint]") {
  for (const SgdOptions& o :
       {SgdOptions{.rate = 0.1}, SgdOptions{.rate = 0.1, .weight_decay = 0.3},
        SgdOptions{.rate = 0.1, .momentum = 0.9},
        SgdOptions{.rate = 0.1, .momentum = 0.9, .dampening = 0.2, .weight_decay = 0.3},
        SgdOptions{.rate = 0.1, .momentum = 0.8, .weight_decay = 0.3, .nesterov = true}}) {
    INFO("momentum " << o.momentum << " decay " << o.weight_decay << " nesterov " << o.nesterov);
    TwoParams pair(DType::Float64);
    Sgd sgd(pair.list(), o);
    check_transpose(
        sgd, pair,
        o.momentum > 0 ? std::vector<std::string>{"momentum_buffer"} : std::vector<std::string>{},
        [&](Index t, const Vars& s) { return sgd_step(o, t == 1, s); });
  }
}

TEST_CASE("the transpose of Adam's and AdamW's step", "[optim][adjoint]") {
  for (const AdamOptions& o :
       {AdamOptions{.rate = 0.01}, AdamOptions{.rate = 0.01, .weight_decay = 0.3},
        AdamOptions{.rate = 0.02, .beta1 = 0.5, .beta2 = 0.8, .eps = 1e-2}})
    for (bool decoupled : {false, true}) {
      INFO("eps " << o.eps << " decay " << o.weight_decay << " decoupled " << decoupled);
      TwoParams pair(DType::Float64);
      std::unique_ptr<Optimizer> adam = decoupled ? std::make_unique<AdamW>(pair.list(), o)
                                                  : std::make_unique<Adam>(pair.list(), o);
      check_transpose(*adam, pair, {"exp_avg", "exp_avg_sq"}, [&](Index t, const Vars& s) {
        return adam_step(o, decoupled, static_cast<double>(t), s);
      });
    }
}

TEST_CASE("the transpose of Muon's step", "[optim][adjoint]") {
  for (const MuonOptions& o :
       {MuonOptions{.rate = 0.02}, MuonOptions{.rate = 0.02, .momentum = 0.8, .nesterov = false},
        MuonOptions{.rate = 0.02, .weight_decay = 0, .steps = 3, .match_rms_adamw = true}})
    for (const Shape& shape : {Shape{3, 4}, Shape{4, 3}}) {
      INFO("steps " << o.steps << ", " << to_string(shape));
      TwoParams pair(DType::Float64);
      pair.w = Var::leaf(draw(shape, 50), "w");
      Muon muon({{"w", pair.w}}, o, {{"b", pair.b}});
      check_transpose(muon, pair, {"exp_avg", "exp_avg_sq"}, [&](Index t, const Vars& s) {
        return muon_step(o, static_cast<double>(t), s);
      });
    }
}

TEST_CASE("the transpose of Adam's step where a gradient is 0", "[optim][adjoint]") {
  const Var w = Var::leaf(tensor({1, 2}, DType::Float64), "w");
  Adam adam({{"w", w}}, {.rate = 0.1});
  w.set_grad(tensor({0, 1}, DType::Float64));
  const StateDict before = adam.adjoint({{"w", tensor({1, 1}, DType::Float64)}});
  CHECK(before.at("gradient.w").at<double>({0}) == Approx(-0.1 / 1e-8));  // -η/ε
  CHECK(before.at("w").at<double>({0}) == 1);
}

TEST_CASE("adjoint refuses what the optimizer lacks", "[optim][adjoint]") {
  TwoParams pair(DType::Float64);
  Sgd sgd(pair.list());
  pair.set_gradients(0);
  CHECK_THROWS_AS(sgd.adjoint({{"exp_avg.w", pair.w.value()}}), ValueError);
  CHECK_THROWS_AS(sgd.adjoint({{"w", pair.b.value()}}), ShapeError);
  pair.b.zero_grad();
  const StateDict before = sgd.adjoint({{"b", pair.b.value()}});
  CHECK(same_bits(before.at("b"), pair.b.value()));
  CHECK_FALSE(before.count("gradient.b"));
}

TEST_CASE("the transpose of clipping", "[optim][adjoint]") {
  const Tensor g = draw({5}, 1), h = draw({2, 3}, 2), vg = draw({5}, 3), vh = draw({2, 3}, 4),
               ug = draw({5}, 5), uh = draw({2, 3}, 6);
  for (double max_norm : {0.7, 100.0}) {
    INFO(max_norm);
    const Var x = Var::leaf(g), y = Var::leaf(h);
    Tape tape;
    const Var s = max_norm / (sqrt(sum(x * x) + sum(y * y)) + 1e-6);
    const bool clips = s.item() < 1;
    const std::vector<Var> jv =
        jvp(tape, clips ? Vars{s * x, s * y} : Vars{1.0 * x, 1.0 * y}, {x, y}, {vg, vh});
    const std::vector<Tensor> back = clip_adjoint({g, {}, h}, max_norm, {ug, {}, uh});
    CHECK(std::abs(dot(ug, jv[0].value()) + dot(uh, jv[1].value()) - dot(back[0], vg) -
                   dot(back[2], vh)) < 1e-13);
  }
  // At zero gradients the norm has no derivative: 0 is taken.
  const Tensor none = zeros({5}, DType::Float64);
  CHECK(close(clip_adjoint({none}, 5e-7, {ug})[0], 0.5 * ug, 1e-15));
}

}  // namespace test_adjoint

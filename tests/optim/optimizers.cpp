// SGD, Adam and AdamW against torch's, clipping, state, and what optimizers refuse.
#include <cmath>
#include <memory>

#include "optim/adam.hpp"
#include "optim/averaging.hpp"
#include "optim/clip.hpp"
#include "optim/sgd.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/parallel.hpp"
#include "tensor/random.hpp"
#include "tests/catch.hpp"
#include "tests/reference.hpp"

namespace test_optimizers {

using namespace glim;

namespace {

constexpr Index kSteps = 12;

const Reference& optim() {
  static const Reference ref("optim");
  return ref;
}

// The reference's two parameters.
struct Pair {
  explicit Pair(DType dtype)
      : w(Var::leaf(optim().get("param.w", dtype).clone(), "w")),
        b(Var::leaf(optim().get("param.b", dtype).clone(), "b")) {}
  NamedParameters list() const { return {{"w", w}, {"b", b}}; }
  void set_gradients(Index step) const {
    for (auto& [name, var] : list())
      var.leaf().grad =
          optim().get("grads." + name, var.dtype()).select(0, step).contiguous().clone();
  }
  Var w, b;
};

std::unique_ptr<Optimizer> optimizer_for(const nlohmann::json& c, const NamedParameters& list) {
  if (c["optimiser"] == "SGD")
    return std::make_unique<Sgd>(list, SgdOptions{.rate = c["lr"],
                                                  .momentum = c["momentum"],
                                                  .dampening = c["dampening"],
                                                  .weight_decay = c["weight_decay"],
                                                  .nesterov = c["nesterov"]});
  AdamOptions o{.rate = c.value("lr", 1e-3),
                .beta1 = c["betas"][0],
                .beta2 = c["betas"][1],
                .eps = c["eps"],
                .weight_decay = c.value("weight_decay", 0.0)};
  if (c["optimiser"] == "AdamW") return std::make_unique<AdamW>(list, o);
  return std::make_unique<Adam>(list, o);
}

const std::vector<std::string> kCases = {
    "sgd",           "sgd_momentum", "sgd_nesterov", "sgd_weight_decay",
    "sgd_dampening", "sgd_all",      "adam",         "adam_transformer",
    "adam_l2",       "adamw",        "adamw_decay",  "adam_noam"};

// Parameters of many sizes, and gradients that depend on the step.
struct Many {
  explicit Many(DType dtype = DType::Float32) {
    for (Index n : {1, 7, 16384, 16385, 100000})
      vars.push_back(Var::leaf(normal({n}, 0, 1, {1, static_cast<std::uint64_t>(n)}, dtype)));
  }
  NamedParameters list() const {
    NamedParameters named;
    for (std::size_t i = 0; i < vars.size(); ++i)
      named.emplace_back("p" + std::to_string(i), vars[i]);
    return named;
  }
  void set_gradients(std::uint64_t step) const {
    for (const Var& v : vars)
      v.leaf().grad =
          normal(v.shape(), 0, 1, {2, 1000 * step + static_cast<std::uint64_t>(v.numel() % 977)},
                 v.dtype());
  }
  std::vector<Var> vars;
};

bool same_values(const Many& a, const Many& b) {
  for (std::size_t i = 0; i < a.vars.size(); ++i)
    if (!same_bits(a.vars[i].value(), b.vars[i].value())) return false;
  return true;
}

}  // namespace

TEST_CASE("every step equals torch's", "[optim][reference]") {
  for (const std::string& name : kCases) {
    for (DType dtype : {DType::Float64, DType::Float32}) {
      INFO(name << " " << name_of(dtype));
      Pair pair(dtype);
      auto optimizer = optimizer_for(optim().config(name), pair.list());
      for (Index i = 0; i < kSteps; ++i) {
        INFO("step " << i + 1);
        if (name == "adam_noam")
          optimizer->set_rate(optim().get("adam_noam.rates").at<double>({i}));
        pair.set_gradients(i);
        optimizer->step();
        for (auto& [key, var] : pair.list()) {
          Tensor expected = optim().get(name + "." + key).select(0, i);
          CHECK(distance(var.value(), expected) <= (dtype == DType::Float64 ? 1e-13 : 5e-6));
        }
      }
      CHECK(optimizer->steps() == kSteps);
    }
  }
}

TEST_CASE("defaults are torch's", "[optim][reference]") {
  Pair pair(DType::Float64);
  Adam adam(pair.list());
  CHECK(adam.rate() == 1e-3);
  pair.set_gradients(0);
  adam.step();
  CHECK(close(pair.w.value(), optim().get("adam.w").select(0, 0), 1e-15));
  Pair other(DType::Float64);
  AdamW adamw(other.list());
  other.set_gradients(0);
  adamw.step();
  CHECK(close(other.w.value(), optim().get("adamw.w").select(0, 0), 1e-15));
}

TEST_CASE("an optimizer continues from its state bit by bit", "[optim]") {
  for (const std::string& name : kCases) {
    INFO(name);
    auto& config = optim().config(name);
    Pair straight(DType::Float32);
    auto whole = optimizer_for(config, straight.list());
    Pair first(DType::Float32);
    auto before = optimizer_for(config, first.list());
    for (Index i = 0; i < kSteps; ++i) {
      straight.set_gradients(i);
      whole->step();
      if (i >= 5) continue;
      first.set_gradients(i);
      before->step();
    }
    Pair second(DType::Float32);
    second.w.value().copy_(first.w.value());
    second.b.value().copy_(first.b.value());
    auto after = optimizer_for(config, second.list());
    after->set_rate(7);
    after->load_state_dict(before->state_dict());
    CHECK(after->rate() == before->rate());
    CHECK(after->steps() == 5);
    for (Index i = 5; i < kSteps; ++i) {
      second.set_gradients(i);
      after->step();
    }
    CHECK(same_bits(second.w.value(), straight.w.value()));
    CHECK(same_bits(second.b.value(), straight.b.value()));
    // What was loaded is a copy: the first optimizer stands where it stood.
    CHECK(before->steps() == 5);
  }
}

TEST_CASE("state is named by parameter", "[optim]") {
  Pair pair(DType::Float32);
  Adam adam(pair.list());
  CHECK(adam.state_dict().size() == 2);  // rate, steps
  pair.set_gradients(0);
  pair.b.zero_grad();
  adam.step();
  StateDict state = adam.state_dict();
  CHECK(state.size() == 5);
  CHECK(state.at("exp_avg.w").shape() == Shape{3, 4});
  CHECK(state.at("exp_avg_sq.w").dtype() == DType::Float32);
  CHECK(state.at("step.w").item() == 1);
  CHECK(state.at("steps").item() == 1);
  CHECK(state.count("exp_avg.b") == 0);
}

TEST_CASE("a parameter without a gradient is left alone, its bias correction too", "[optim]") {
  // b gets its first gradient at step 4, and must move as at a first step.
  Pair pair(DType::Float64), fresh(DType::Float64);
  Adam adam(pair.list()), one(fresh.list());
  Tensor before = pair.b.value().clone();
  for (Index i = 0; i < 3; ++i) {
    pair.set_gradients(i);
    pair.b.zero_grad();
    adam.step();
    CHECK(same_bits(pair.b.value(), before));
  }
  pair.set_gradients(0);
  adam.step();
  fresh.set_gradients(0);
  one.step();
  CHECK(same_bits(pair.b.value(), fresh.b.value()));
  // One that is not trained keeps its value though a gradient is there.
  pair.w.leaf().trainable = false;
  Tensor w = pair.w.value().clone();
  pair.set_gradients(1);
  adam.step();
  CHECK(same_bits(pair.w.value(), w));
  adam.zero_grad();
  CHECK_FALSE(pair.w.grad().defined());
  CHECK_FALSE(pair.b.grad().defined());
}

TEST_CASE("groups have their own rate and weight decay", "[optim]") {
  Pair grouped(DType::Float64), plain(DType::Float64), decayed(DType::Float64);
  auto groups = decay_matrices(grouped.list(), 0.1);
  groups[1].rate_factor = 0.5;
  AdamW adam(groups, {.rate = 0.01});
  AdamW half(plain.list(), {.rate = 0.005});
  AdamW with(decayed.list(), {.rate = 0.01, .weight_decay = 0.1});
  for (Index i = 0; i < 3; ++i) {
    for (const Pair* p : {&grouped, &plain, &decayed}) p->set_gradients(i);
    adam.step();
    half.step();
    with.step();
  }
  CHECK(same_bits(grouped.w.value(), decayed.w.value()));
  CHECK(same_bits(grouped.b.value(), plain.b.value()));
}

TEST_CASE("threads change no bit, and steps allocate nothing", "[optim]") {
  int before = num_threads();
  auto run = [](int threads, DType dtype) {
    set_num_threads(threads);
    Many many(dtype);
    Adam adam(many.list(), {.weight_decay = 0.01});
    for (std::uint64_t step = 0; step < 3; ++step) {
      many.set_gradients(step);
      clip_gradient_norm(many.list(), 10);
      adam.step();
    }
    return many;
  };
  for (DType dtype : {DType::Float32, DType::Float64}) {
    Many one = run(1, dtype);
    for (int threads : {2, 3, 4}) CHECK(same_values(one, run(threads, dtype)));
  }
  set_num_threads(before);

  Many many;
  Adam adam(many.list());
  Sgd sgd(many.list(), {.momentum = 0.9});
  for (Optimizer* optimizer : {static_cast<Optimizer*>(&adam), static_cast<Optimizer*>(&sgd)}) {
    many.set_gradients(0);
    optimizer->step();
    auto allocations = allocator_stats().allocations;
    for (int i = 0; i < 3; ++i) optimizer->step();
    CHECK(allocator_stats().allocations == allocations);
  }
}

TEST_CASE("every element is updated once, whatever the sizes beside it", "[optim]") {
  // Pieces of the work end within large parameters and after several small ones.
  const std::vector<Index> sizes{3, 20000, 5, 16384, 7, 1, 40000, 16000, 500, 2};
  NamedParameters together;
  std::vector<Var> alone;
  auto gradient = [](Index n, std::uint64_t i) { return uniform({n}, -1, 1, {4, i}); };
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    Tensor start = uniform({sizes[i]}, -1, 1, {3, i});
    together.emplace_back("p" + std::to_string(i), Var::leaf(start.clone()));
    alone.push_back(Var::leaf(start.clone()));
  }
  Adam one(together);
  std::vector<std::unique_ptr<Adam>> each;
  for (const Var& v : alone) each.push_back(std::make_unique<Adam>(NamedParameters{{"p", v}}));
  for (std::uint64_t step = 0; step < 3; ++step) {
    for (std::size_t i = 0; i < sizes.size(); ++i)
      for (const Var& v : {together[i].second, alone[i]})
        v.leaf().grad = gradient(sizes[i], 100 * step + i);
    one.step();
    for (auto& optimizer : each) optimizer->step();
  }
  for (std::size_t i = 0; i < sizes.size(); ++i)
    CHECK(together[i].second.value().to_vector<float>() == alone[i].value().to_vector<float>());
}

TEST_CASE("optimizers that step in turn keep to their own averages", "[optim]") {
  const std::vector<AdamOptions> options{{}, {.beta1 = 0.5}, {.beta2 = 0.9}};
  auto run = [&](const std::vector<std::size_t>& which) {
    std::vector<Var> x;
    std::vector<std::unique_ptr<Adam>> adams;
    for (std::size_t i : which) {
      x.push_back(Var::leaf(tensor({5, -3})));
      adams.push_back(std::make_unique<Adam>(NamedParameters{{"x", x.back()}}, options[i]));
    }
    for (int step = 0; step < 4; ++step)
      for (std::size_t k = 0; k < x.size(); ++k) {
        x[k].leaf().grad = tensor({1.0 + step, -2.0});
        adams[k]->step();
      }
    std::vector<std::vector<float>> values;
    for (const Var& v : x) values.push_back(v.value().to_vector<float>());
    return values;
  };
  auto in_turn = run({0, 1, 2});
  for (std::size_t i = 0; i < options.size(); ++i) CHECK(in_turn[i] == run({i})[0]);
}

TEST_CASE("adam finds the minimum of a small problem", "[optim]") {
  Var x = Var::leaf(tensor({5, -3}, DType::Float64));
  Tensor goal = tensor({1, 2}, DType::Float64);
  Adam adam({{"x", x}}, {.rate = 0.1});
  for (int i = 0; i < 500; ++i) {
    Tape tape;
    Var d = sub(x, Var(goal));
    tape.backward(sum(mul(d, d)));
    adam.step();
    adam.zero_grad();
  }
  CHECK(distance(x.value(), goal) < 1e-3);
}

TEST_CASE("clipping by the norm of all gradients equals torch's", "[optim][reference]") {
  for (std::string name : {"clip_above", "clip_below", "clip_tiny", "clip_zero"}) {
    for (DType dtype : {DType::Float64, DType::Float32}) {
      INFO(name << " " << name_of(dtype));
      Pair pair(dtype);
      for (auto& [key, var] : pair.list())
        var.leaf().grad = name == "clip_zero" ? zeros(var.shape(), dtype)
                                              : optim().get("clip.grad." + key, dtype).clone();
      double tolerance = dtype == DType::Float64 ? 1e-14 : 1e-6;
      double norm = clip_gradient_norm(pair.list(), optim().config(name)["max_norm"]);
      CHECK(std::abs(norm - optim().get(name + ".norm").item()) <= tolerance * (1 + norm));
      for (auto& [key, var] : pair.list())
        CHECK(distance(var.grad(), optim().get(name + ".grad." + key)) <= tolerance);
    }
  }
}

TEST_CASE("a gradient that is not finite is named, and nothing is scaled", "[optim]") {
  Pair pair(DType::Float32);
  pair.set_gradients(0);
  Tensor w = pair.w.grad().clone();
  pair.b.grad().data<float>()[3] = std::nanf("");
  auto text = error_of<NonFiniteError>([&] { clip_gradient_norm(pair.list(), 0.1); });
  CHECK(contains(text, "the gradient of b is not finite"));
  CHECK(same_bits(pair.w.grad(), w));
  pair.b.grad().data<float>()[3] = std::numeric_limits<float>::infinity();
  CHECK_THROWS_AS(gradient_norm(pair.list()), NonFiniteError);
  // The largest float32 numbers still have a norm.
  pair.b.grad().fill_(3e38);
  CHECK(gradient_norm(pair.list()) == Approx(std::sqrt(5.0) * 3e38));
  pair.b.zero_grad();
  CHECK(gradient_norm(pair.list()) > 0);
  Pair wide(DType::Float64);
  wide.set_gradients(0);
  wide.w.grad().fill_(1e200);
  text = error_of<NonFiniteError>([&] { gradient_norm(wide.list()); });
  CHECK(contains(text, "too large"));
  CHECK_THROWS_AS(clip_gradient_norm(pair.list(), 0), ValueError);
  CHECK_THROWS_AS(clip_gradient_norm(pair.list(), std::nan("")), ValueError);
}

TEST_CASE("what optimizers refuse", "[optim]") {
  Pair pair(DType::Float32);
  auto list = pair.list();
  CHECK_THROWS_AS(Adam(list, {.rate = -1}), ValueError);
  CHECK_THROWS_AS(Adam(list, {.rate = std::nan("")}), ValueError);
  CHECK_THROWS_AS(Adam(list, {.beta1 = 1}), ValueError);
  CHECK_THROWS_AS(Adam(list, {.beta2 = -0.1}), ValueError);
  CHECK_THROWS_AS(Adam(list, {.eps = -1}), ValueError);
  CHECK_THROWS_AS(AdamW(list, {.weight_decay = -1}), ValueError);
  CHECK_THROWS_AS(Sgd(list, {.momentum = 1}), ValueError);
  CHECK_THROWS_AS(Sgd(list, {.nesterov = true}), ValueError);
  CHECK_THROWS_AS(Sgd(list, {.momentum = 0.9, .dampening = 0.1, .nesterov = true}), ValueError);
  CHECK_THROWS_AS(Adam(NamedParameters{}), ValueError);
  CHECK_THROWS_AS(Adam(NamedParameters{{"w", pair.w}, {"w", pair.b}}), ValueError);
  CHECK_THROWS_AS(Adam(NamedParameters{{"w", pair.w}, {"v", pair.w}}), ValueError);
  CHECK_THROWS_AS(Adam(NamedParameters{{"c", Var(zeros({2}))}}), StateError);

  Adam adam(list);
  CHECK_THROWS_AS(adam.set_rate(-1), ValueError);
  pair.set_gradients(0);
  pair.b.leaf().value = pair.b.value().to(DType::Float64);
  Tensor w = pair.w.value().clone();
  auto text = error_of<StateError>([&] { adam.step(); });
  CHECK(contains(text, "b is not what it was"));
  CHECK(same_bits(pair.w.value(), w));  // found before anything moved
  CHECK(adam.steps() == 0);
}

TEST_CASE("loading a state says what does not fit, and changes nothing then", "[optim]") {
  Pair pair(DType::Float32);
  Adam adam(pair.list());
  pair.set_gradients(0);
  adam.step();
  StateDict good = adam.state_dict();
  auto refused = [&](const std::function<void(StateDict&)>& change) {
    StateDict state = good;
    change(state);
    std::string text;
    try {
      adam.load_state_dict(state);
    } catch (const Error& e) {
      text = e.what();
    }
    CHECK(adam.steps() == 1);
    CHECK(adam.rate() == 1e-3);
    return text;
  };
  CHECK(contains(refused([](StateDict& s) { s.erase("exp_avg_sq.w"); }), "lacks exp_avg_sq.w"));
  CHECK(contains(refused([](StateDict& s) { s.erase("steps"); }), "lacks steps"));
  CHECK(contains(refused([](StateDict& s) { s["exp_avg.x"] = zeros({2}); }), "exp_avg.x"));
  CHECK(contains(refused([](StateDict& s) { s["exp_avg.w"] = zeros({4, 3}); }), "exp_avg.w"));
  CHECK(contains(refused([](StateDict& s) {
                   s["exp_avg.w"] = zeros({3, 4}, DType::Float64);
                 }),
                 "another dtype"));
  CHECK(contains(refused([](StateDict& s) { s["rate"] = scalar(-1, DType::Float64); }), "rate"));
  CHECK(refused([](StateDict&) {}).empty());
}

TEST_CASE("the average of the last k", "[optim][reference]") {
  Pair pair(DType::Float64);
  auto optimizer = optimizer_for(optim().config("sgd_momentum"), pair.list());
  LastAverage last(3);
  CHECK_THROWS_AS(last.average(), ValueError);
  for (Index i = 0; i < kSteps; ++i) {
    pair.set_gradients(i);
    optimizer->step();
    last.add({{"w", pair.w.value()},
              {"b", pair.b.value()},
              {"count", scalar(static_cast<double>(i), DType::Int64)}});
  }
  CHECK(last.size() == 3);
  StateDict mean_of = last.average();
  CHECK(close(mean_of.at("w"), optim().get("average_last3.w"), 1e-15));
  CHECK(close(mean_of.at("b"), optim().get("average_last3.b"), 1e-15));
  CHECK(mean_of.at("count").item() == 11);
  // float32 states are summed in float64.
  StateDict big{{"x", full({1}, 16777216)}}, one{{"x", full({1}, 1)}};
  CHECK(average({big, one, one, one}).at("x").item() == Approx(16777219.0 / 4).epsilon(1e-7));

  CHECK_THROWS_AS(LastAverage(0), ValueError);
  CHECK_THROWS_AS(average({}), ValueError);
  CHECK_THROWS_AS(average({big, {{"y", zeros({1})}}}), ValueError);
  CHECK_THROWS_AS(average({big, {}}), ValueError);
  CHECK_THROWS_AS(average({big, {{"x", zeros({2})}}}), ShapeError);
  CHECK_THROWS_AS(average({big, {{"x", zeros({1}, DType::Float64)}}}), DTypeError);
}

}  // namespace test_optimizers

// How the work of a step is shared out: every element once, the same bits for any number of threads.

#include "optim/clip.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/parallel.hpp"
#include "tensor/random.hpp"
#include "tests/optim/common.hpp"

namespace test_sharing {

using namespace glim;

namespace {

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

}  // namespace test_sharing

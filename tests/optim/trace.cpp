// Gradients through a training, against a training that is one graph on one tape, and against trainings with other weights.
#include "optim/trace.hpp"

#include <atomic>
#include <cmath>

#include "autograd/ops.hpp"
#include "optim/adam.hpp"
#include "optim/sgd.hpp"
#include "tensor/interrupt.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tensor/random.hpp"
#include "tests/catch.hpp"
#include "tests/reference.hpp"

namespace test_trace {

using namespace glim;

constexpr Index kExamples = 6;
const std::vector<std::vector<Index>> kBatches{{0, 1, 2}, {3, 4}, {5, 0, 0}, {1, 3},
                                               {2, 5, 4}, {0, 4}, {1, 2}};
constexpr double kMaxNorm = 0.4;

Tensor draw(const Shape& shape, std::uint64_t stream) {
  return normal(shape, 0, 1, {11, stream}, DType::Float64);
}

// Regression of y (n,) on x (n, 3) by a tanh of two units: w (2, 3), v (2,). `unused` gets no gradient.
struct Task {
  Tensor x = draw({kExamples, 3}, 1), y = draw({kExamples}, 2);
  Tensor held_x = draw({2, 3}, 3), held_y = draw({2}, 4);
  Var w = Var::leaf(draw({2, 3}, 5), "w"), v = Var::leaf(draw({2}, 6), "v");
  Var unused = Var::leaf(draw({2}, 7), "unused");

  static Var errors(const Tensor& x, const Tensor& y, const Var& first, const Var& second) {
    const Var wrong = sum(tanh(matmul(Var(x), transpose(first))) * second, {1}) - y;
    return wrong * wrong;
  }
  Var losses(const std::vector<Index>& examples, const Var& first, const Var& second) const {
    const Tensor rows = from_vector(examples, {static_cast<Index>(examples.size())});
    return errors(index_select(x, 0, rows), index_select(y, 0, rows), first, second);
  }
  Var query() const { return errors(held_x, held_y, w, v); }
  TraceRecipe recipe() const {
    return {.losses = [this](const std::vector<Index>& e) { return losses(e, w, v); },
            .examples = kExamples,
            .batches = kBatches,
            .rate = rate_of,
            .max_norm = kMaxNorm};
  }
  // Zero in update 3: its derivative is what a small rate there would do.
  static double rate_of(Index t) { return t == 3 ? 0 : 0.05 / std::sqrt(static_cast<double>(t)); }
  NamedParameters list() const { return {{"w", w}, {"v", v}, {"unused", unused}}; }
};

// ∂(query j)/∂(weights, rates, w, v) by one backward pass over the whole training.
struct Unrolled {
  std::vector<std::vector<Tensor>> gradients;

  explicit Unrolled(const Task& task, const AdamOptions& o) {
    Tape tape;
    const Var weights = Var::leaf(ones({kExamples}, DType::Float64));
    Var theta[2] = {Var::leaf(task.w.value().clone()), Var::leaf(task.v.value().clone())};
    std::vector<Var> xs{weights, theta[0], theta[1]};
    Var m[2] = {zeros({2, 3}, DType::Float64), zeros({2}, DType::Float64)}, u[2] = {m[0], m[1]};
    double t = 0;
    for (const std::vector<Index>& batch : kBatches) {
      ++t;
      const Tensor rows = from_vector(batch, {static_cast<Index>(batch.size())});
      const Var loss = sum(index_select(weights, 0, rows) * task.losses(batch, theta[0], theta[1]));
      std::vector<Var> g = tape.grad(loss, {theta[0], theta[1]}, {}, {.create_graph = true});
      const Var norm = sqrt(sum(g[0] * g[0]) + sum(g[1] * g[1]));
      const Var s = kMaxNorm / (norm + 1e-6);
      const Var rate = Var::leaf(scalar(Task::rate_of(static_cast<Index>(t)), DType::Float64));
      xs.push_back(rate);
      for (int k = 0; k < 2; ++k) {
        if (s.item() < 1) g[k] = s * g[k];
        m[k] = o.beta1 * m[k] + (1 - o.beta1) * g[k];
        u[k] = o.beta2 * u[k] + (1 - o.beta2) * g[k] * g[k];
        const Var m_hat = m[k] / (1 - std::pow(o.beta1, t)),
                  v_hat = u[k] / (1 - std::pow(o.beta2, t));
        theta[k] = theta[k] - rate * m_hat / (sqrt(v_hat) + o.eps);
      }
    }
    const Var q = Task::errors(task.held_x, task.held_y, theta[0], theta[1]);
    for (Index j = 0; j < 2; ++j) {
      Tensor one = zeros({2}, DType::Float64);
      select(one, 0, j).fill_(1);
      gradients.emplace_back();
      for (const Var& d : tape.grad(q, xs, one, {.retain = true}))
        gradients.back().push_back(d.value());
    }
  }
};

TEST_CASE("influence is the gradient of the training as one graph", "[optim][trace]") {
  Task task;
  const AdamOptions o{.eps = 1e-3};
  const Unrolled unrolled(task, o);
  Adam adam(task.list(), o);
  TrainingTrace trace(adam, task.recipe());
  const Tensor end = task.w.value().clone();
  const std::vector<Influence> influence = trace.influence([&] { return task.query(); });
  REQUIRE(influence.size() == 2);
  CHECK(same_bits(task.w.value(), end));
  for (std::size_t j = 0; j < 2; ++j) {
    const std::vector<Tensor>& d = unrolled.gradients[j];
    for (Index i = 0; i < kExamples; ++i)
      CHECK(influence[j].examples[static_cast<std::size_t>(i)] ==
            Approx(d[0].at<double>({i})).epsilon(1e-11));
    CHECK(distance(influence[j].parameters.at("w"), d[1]) < 1e-12);
    CHECK(distance(influence[j].parameters.at("v"), d[2]) < 1e-12);
    std::vector<double> sums(kExamples);
    for (std::size_t t = 0; t < kBatches.size(); ++t) {
      CHECK(influence[j].rates[t] == Approx(d[3 + t].item()).epsilon(1e-10));
      for (std::size_t b = 0; b < kBatches[t].size(); ++b)
        sums[static_cast<std::size_t>(kBatches[t][b])] += influence[j].by_update[t][b];
    }
    for (std::size_t i = 0; i < sums.size(); ++i)
      CHECK(sums[i] == Approx(influence[j].examples[i]).epsilon(1e-12));
    CHECK(influence[j].norms.front() == Approx(std::sqrt(dot(d[1], d[1]) + dot(d[2], d[2]))));
  }
}

TEST_CASE("influence is how a training with other weights ends", "[optim][trace]") {
  Task task;
  Sgd sgd(task.list(), {.rate = 0.1, .momentum = 0.5});
  TraceRecipe recipe = task.recipe();
  recipe.rate = {};
  TrainingTrace trace(sgd, recipe);
  const TrainingTrace::Query query = [&] { return sum(task.query()); };
  const Influence influence = trace.influence(query)[0];
  for (std::size_t i = 0; i < kExamples; ++i) {
    auto at = [&](double weight) {
      std::vector<double> weights(kExamples, 1.0);
      weights[i] = weight;
      return trace.retrained(weights, query).item();
    };
    const double h = 1e-4;
    CHECK((at(1 + h) - at(1 - h)) / (2 * h) == Approx(influence.examples[i]).epsilon(1e-6));
  }
  // All weights 1 end in the same bits.
  const Tensor value = query().value();
  CHECK(same_bits(trace.retrained(std::vector<double>(kExamples, 1.0), query), value));
}

TEST_CASE("a training with dropout draws its numbers again", "[optim][trace]") {
  Task task;
  Sgd sgd(task.list(), {.rate = 0.1});
  TraceRecipe recipe = task.recipe();
  recipe.losses = [&](const std::vector<Index>& e) {
    return task.losses(e, dropout(task.w, 0.3, generator().next()), task.v);
  };
  seed(5);
  TrainingTrace trace(sgd, recipe);
  const TrainingTrace::Query query = [&] { return sum(task.query()); };
  const Influence influence = trace.influence(query)[0];
  std::vector<double> more(kExamples, 1.0), less = more;
  more[1] += 1e-4, less[1] -= 1e-4;
  const double change = trace.retrained(more, query).item() - trace.retrained(less, query).item();
  CHECK(change / 2e-4 == Approx(influence.examples[1]).epsilon(1e-6));
}

TEST_CASE("a trace answers for the end of its training, whatever became of the model",
          "[optim][trace]") {
  Task task;
  Sgd sgd(task.list(), {.rate = 0.1});
  TrainingTrace trace(sgd, task.recipe());
  const TrainingTrace::Query query = [&] { return sum(task.query()); };
  const std::vector<double> before = trace.influence(query)[0].examples;
  task.w.value().fill_(3);
  CHECK(trace.influence(query)[0].examples == before);
  task.w.value().fill_(3);
  const Tensor value = trace.value(query);
  CHECK(same_bits(trace.retrained(std::vector<double>(kExamples, 1.0), query), value));
}

TEST_CASE("a stop in the middle of an influence ends it", "[optim][trace]") {
  Task task;
  Sgd sgd(task.list(), {.rate = 0.1});
  std::atomic<bool> stop{false};
  Index calls = 0;
  TraceRecipe recipe = task.recipe();
  recipe.losses = [&](const std::vector<Index>& e) {
    if (++calls == 12) stop = true;
    return task.losses(e, task.w, task.v);
  };
  TrainingTrace trace(sgd, recipe);
  const Tensor end = task.w.value().clone();
  {
    const Interruptible until(&stop);
    CHECK_THROWS_AS(trace.influence([&] { return sum(task.query()); }), Interrupted);
  }
  CHECK(same_bits(task.w.value(), end));
}

TEST_CASE("what a trace refuses", "[optim][trace]") {
  Task task;
  Sgd sgd(task.list(), {.rate = 0.1});
  auto with = [&](auto change) {
    TraceRecipe recipe = task.recipe();
    change(recipe);
    return TrainingTrace(sgd, recipe);
  };
  CHECK_THROWS_AS(with([](TraceRecipe& r) { r.batches.clear(); }), ValueError);
  CHECK_THROWS_AS(with([](TraceRecipe& r) { r.batches.push_back({}); }), ValueError);
  CHECK_THROWS_AS(with([](TraceRecipe& r) { r.batches.push_back({kExamples}); }), IndexError);
  CHECK_THROWS_AS(
      with([&](TraceRecipe& r) { r.losses = [&](const auto&) { return sum(task.query()); }; }),
      ShapeError);
  CHECK_THROWS_AS(with([](TraceRecipe& r) { r.max_norm = std::nan(""); }), ValueError);
  const Var other = Var::leaf(ones({2}, DType::Float64));
  CHECK_THROWS_AS(with([&](TraceRecipe& r) {
                    r.losses = [&](const std::vector<Index>& e) {
                      return index_select(other, 0,
                                          zeros({static_cast<Index>(e.size())}, DType::Int64));
                    };
                  }),
                  StateError);
  TrainingTrace good = with([](TraceRecipe&) {});
  CHECK_THROWS_AS(good.influence([] { return Var(scalar(1, DType::Float64)); }), StateError);
  CHECK_THROWS_AS(good.influence([&] { return sum(task.query()) / 0.0; }), NonFiniteError);
  // Losses that differ when they are computed again.
  double calls = 0;
  TrainingTrace trace = with([&](TraceRecipe& r) {
    r.losses = [&](const std::vector<Index>& e) {
      return (++calls) * task.losses(e, task.w, task.v);
    };
  });
  CHECK_THROWS_AS(trace.influence([&] { return sum(task.query()); }), StateError);
  CHECK_THROWS_AS(trace.retrained({1, 2}, [&] { return sum(task.query()); }), ValueError);
}

}  // namespace test_trace

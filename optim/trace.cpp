#include "optim/trace.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "autograd/ops.hpp"
#include "autograd/products.hpp"
#include "optim/clip.hpp"
#include "tensor/error.hpp"
#include "tensor/interrupt.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tensor/random.hpp"

namespace glim {
namespace {

StateDict copies_of(const StateDict& state) {
  StateDict copies;
  for (const auto& [name, x] : state) copies[name] = x.clone();
  return copies;
}

Tensor weights_of(const std::vector<Index>& batch, const std::vector<double>& weights,
                  DType dtype) {
  std::vector<double> list;
  for (Index i : batch) list.push_back(weights[static_cast<std::size_t>(i)]);
  return from_vector(list, {static_cast<Index>(batch.size())}).to(dtype);
}

std::vector<Var> leaves_of(const NamedParameters& parameters) {
  std::vector<Var> leaves;
  for (const auto& [name, p] : parameters) leaves.push_back(p);
  return leaves;
}

// The nodes that a gradient reached.
struct Reached final : Observer {
  void arrived(int node, const Var&) override { nodes.insert(node); }
  std::set<int> nodes;
};

double norm_of(const NamedParameters& parameters, const StateDict& lambda) {
  double total = 0;
  for (const auto& [name, p] : parameters) total += sum_of_squares(lambda.at(name));
  return std::sqrt(total);
}

}  // namespace

TrainingTrace::TrainingTrace(Optimizer& optimizer, TraceRecipe recipe)
    : optimizer_(optimizer),
      recipe_(std::move(recipe)),
      first_rate_(optimizer.rate()),
      every_(static_cast<Index>(std::ceil(std::sqrt(recipe_.batches.size())))) {
  if (recipe_.batches.empty()) throw ValueError("trace", "there are no batches");
  if (!(recipe_.max_norm > 0)) throw ValueError("trace", "max_norm must be positive");
  for (std::size_t t = 0; t < recipe_.batches.size(); ++t) {
    if (recipe_.batches[t].empty())
      throw ValueError("trace", "batch " + std::to_string(t) + " is empty");
    for (Index i : recipe_.batches[t])
      if (i < 0 || i >= recipe_.examples)
        throw IndexError("trace", "batch " + std::to_string(t) + " has example " +
                                      std::to_string(i) + ", of " +
                                      std::to_string(recipe_.examples));
  }
  for (const auto& [name, p] : optimizer.parameters())
    if (p.leaf().trainable) parameters_.emplace_back(name, p);
  if (parameters_.empty()) throw ValueError("trace", "the optimizer has no trainable parameters");
  dtype_ = parameters_[0].second.dtype();
  const std::vector<double> all(static_cast<std::size_t>(recipe_.examples), 1.0);
  for (Index t = 0; t < updates(); ++t) {
    if (t % every_ == 0) kept_.push_back(now());
    update(t, all);
  }
  kept_.push_back(now());
}

struct TrainingTrace::ToTheEnd {
  TrainingTrace& trace;
  // After an error, too, whose cause may be the model itself.
  ~ToTheEnd() {
    const Interruptible no_stop(nullptr);
    try {
      trace.go_to(trace.kept_.back());
    } catch (const Error&) {
    }
  }
};

Index TrainingTrace::kept_bytes() const {
  Index bytes = 0;
  for (const State& s : kept_)
    for (const StateDict* part : {&s.parameters, &s.optimizer})
      for (const auto& [name, x] : *part) bytes += x.bytes();
  return bytes;
}

TrainingTrace::State TrainingTrace::now() const {
  State s;
  for (const auto& [name, p] : parameters_) s.parameters[name] = p.value().clone();
  s.optimizer = copies_of(optimizer_.state_dict());
  s.seed = generator().seed(), s.stream = generator().stream();
  return s;
}

void TrainingTrace::go_to(const State& state) {
  for (const auto& [name, p] : parameters_) {
    p.value().copy_(state.parameters.at(name));
    p.zero_grad();
  }
  optimizer_.load_state_dict(state.optimizer);
  generator().set_state(state.seed, state.stream);
}

double TrainingTrace::rate_of(Index t) const {
  return recipe_.rate ? recipe_.rate(t + 1) : first_rate_;
}

Var TrainingTrace::unchanged(const char* f_name, const std::function<Var()>& f) const {
  std::vector<std::uint64_t> before;
  for (const auto& [name, p] : parameters_) before.push_back(p.value().storage().version());
  Var result = f();
  for (std::size_t k = 0; k < before.size(); ++k)
    if (parameters_[k].second.value().storage().version() != before[k])
      throw StateError("trace",
                       std::string(f_name) + " changed " + parameters_[k].first +
                           ": it may read the parameters, and the updates alone change them");
  return result;
}

Var TrainingTrace::weighted_loss(const std::vector<Index>& batch, const Var& weights) const {
  const Var losses = unchanged("losses", [&] { return recipe_.losses(batch); });
  if (losses.rank() != 1 || losses.size(0) != static_cast<Index>(batch.size()))
    throw ShapeError("trace",
                     "the losses of " + std::to_string(batch.size()) +
                         " examples must be one number each, of shape (" +
                         std::to_string(batch.size()) + ",)",
                     {{"losses", losses.value()}});
  return sum(weights * losses);
}

void TrainingTrace::update(Index t, const std::vector<double>& weights) {
  const std::vector<Index>& batch = recipe_.batches[static_cast<std::size_t>(t)];
  bool any = false;
  {
    Tape tape;
    const Var loss = weighted_loss(batch, weights_of(batch, weights, dtype_));
    optimizer_.zero_grad();  // the losses may have run a backward of their own
    Reached reached;
    tape.observe(reached);
    // Not backward, which would add to the gradients of other models, too.
    const std::vector<Var> gradients = tape.grad(loss, leaves_of(parameters_));
    for (std::size_t k = 0; k < gradients.size(); ++k)
      if (const Var& p = parameters_[k].second; reached.nodes.contains(tape.node_of(p))) {
        p.set_grad(gradients[k].value().clone());
        any = true;
      }
  }
  if (!any) throw StateError("trace", "the losses depend on no parameter of the optimizer");
  begin_step(t);
  optimizer_.step();
  optimizer_.zero_grad();
}

void TrainingTrace::begin_step(Index t) {
  clips() ? clip_gradient_norm(parameters_, recipe_.max_norm) : gradient_norm(parameters_);
  optimizer_.set_rate(rate_of(t));
}

StateDict TrainingTrace::direction() {
  const State before = now();
  optimizer_.set_rate(1);
  optimizer_.step();
  StateDict moved;
  for (const auto& [name, p] : parameters_) {
    moved[name] = p.value() - before.parameters.at(name);
    p.value().copy_(before.parameters.at(name));
  }
  optimizer_.load_state_dict(before.optimizer);
  return moved;
}

Tensor TrainingTrace::retrained(const std::vector<double>& weights, const Query& query) {
  if (static_cast<Index>(weights.size()) != recipe_.examples)
    throw ValueError("trace", "there are " + std::to_string(weights.size()) + " weights of " +
                                  std::to_string(recipe_.examples) + " examples");
  const ToTheEnd end{*this};
  go_to(kept_.front());
  for (Index t = 0; t < updates(); ++t) update(t, weights);
  return present(query);
}

Tensor TrainingTrace::value(const Query& query) {
  const ToTheEnd end{*this};
  go_to(kept_.back());
  return present(query);
}

Tensor TrainingTrace::present(const Query& query) const {
  Tape tape;  // which a query may look at
  return unchanged("the query", query).value().clone();
}

void TrainingTrace::visit(const std::function<void(Index, double)>& f) {
  const ToTheEnd end{*this};
  for (std::size_t k = 0; k + 1 < kept_.size(); ++k) {
    go_to(kept_[k]);
    const Index t = static_cast<Index>(k) * every_;
    f(t, rate_of(t));
  }
}

std::vector<Influence> TrainingTrace::influence(const Query& query) {
  const std::vector<double> all(static_cast<std::size_t>(recipe_.examples), 1.0);
  std::vector<Backward> queries;
  const ToTheEnd end{*this};
  {
    go_to(kept_.back());
    Tape tape;
    const Var q = unchanged("the query", query);
    if (!q.requires_grad())
      throw StateError("trace", "the query depends on no parameter", {{"query", q.value()}});
    if (!all_finite(q.value()))
      throw NonFiniteError("trace", "the query is not finite", {{"query", q.value()}});
    if (q.rank() > 1 || q.numel() == 0)
      throw ShapeError("trace", "a query is one number, or a list of them", {{"query", q.value()}});
    each_gradient(tape, q, leaves_of(parameters_), [&](Index, const std::vector<Var>& gradients) {
      Backward& b = queries.emplace_back();
      for (std::size_t k = 0; k < parameters_.size(); ++k)
        b.lambda[parameters_[k].first] = gradients[k].value().clone();
      b.sums.examples.resize(all.size());
      b.sums.by_update.resize(recipe_.batches.size());
      b.sums.rates.resize(recipe_.batches.size());
      b.sums.norms.resize(recipe_.batches.size() + 1);
      b.sums.norms.back() = norm_of(parameters_, b.lambda);
    });
  }
  for (std::size_t k = kept_.size() - 1; k-- > 0;) {
    const Index first = static_cast<Index>(k) * every_, last = std::min(first + every_, updates());
    go_to(kept_[k]);
    std::vector<State> states;
    for (Index t = first; t < last; ++t) {
      states.push_back(now());
      update(t, all);
    }
    states.push_back(now());
    require_same(states.back(), kept_[k + 1], first, last);
    for (Index t = last; t-- > first;) {
      go_to(states[static_cast<std::size_t>(t - first)]);
      back(t, queries);
    }
  }
  std::vector<Influence> result;
  for (Backward& b : queries) {
    for (const auto& [name, p] : parameters_) b.sums.parameters[name] = b.lambda.at(name);
    result.push_back(std::move(b.sums));
  }
  return result;
}

void TrainingTrace::require_same(const State& again, const State& kept, Index first,
                                 Index last) const {
  for (const auto& [name, x] : kept.parameters)
    if (!same_bits(x, again.parameters.at(name)))
      throw StateError("trace", "updates " + std::to_string(first + 1) + " to " +
                                    std::to_string(last) + " computed again give other bits of " +
                                    name +
                                    ": losses may depend on the examples, the parameters, one mode "
                                    "(train or eval) and Glim's random numbers alone");
}

void TrainingTrace::back(Index t, std::vector<Backward>& queries) {
  const auto step = static_cast<std::size_t>(t);
  const std::vector<Index>& batch = recipe_.batches[step];
  Tape tape;
  const Var weights = Var::leaf(ones({static_cast<Index>(batch.size())}, dtype_), "weights");
  std::vector<Var> xs = leaves_of(parameters_);
  const std::vector<Var> gradients =
      tape.grad(weighted_loss(batch, weights), xs, {}, {.create_graph = true});
  xs.push_back(weights);
  std::vector<Tensor> g(gradients.size());
  for (std::size_t k = 0; k < gradients.size(); ++k)
    if (gradients[k].requires_grad()) {  // else the losses do not depend on it
      g[k] = gradients[k].value();
      parameters_[k].second.set_grad(g[k].clone());
    }
  begin_step(t);
  std::vector<StateDict> after;  // λ_{t+1} of each query
  for (Backward& q : queries) {
    after.push_back(q.lambda);
    q.lambda = optimizer_.adjoint(q.lambda);
    std::vector<Tensor> dgs(g.size());
    for (std::size_t k = 0; k < g.size(); ++k)
      if (auto x = q.lambda.extract("gradient." + parameters_[k].first)) dgs[k] = x.mapped();
    if (clips()) dgs = clip_adjoint(g, recipe_.max_norm, dgs);
    std::vector<Var> ys, dys;
    for (std::size_t k = 0; k < g.size(); ++k)
      if (g[k].defined()) ys.push_back(gradients[k]), dys.emplace_back(dgs[k]);
    const std::vector<Var> products = tape.grad(ys, xs, dys, {.retain = true});
    for (std::size_t k = 0; k < g.size(); ++k) {
      Tensor& value = q.lambda.at(parameters_[k].first);
      value = value + products[k].value();
    }
    q.sums.by_update[step] = products.back().value().to(DType::Float64).to_vector<double>();
    for (std::size_t b = 0; b < batch.size(); ++b)
      q.sums.examples[static_cast<std::size_t>(batch[b])] += q.sums.by_update[step][b];
    q.sums.norms[step] = norm_of(parameters_, q.lambda);
  }
  for (const auto& [name, moved] : direction())
    for (std::size_t k = 0; k < queries.size(); ++k)
      queries[k].sums.rates[step] += dot(after[k].at(name), moved);
  optimizer_.zero_grad();
}

}  // namespace glim

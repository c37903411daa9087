// A training that can be differentiated: the gradient of a query, such as a held-out loss, with regard to the weight of
// each example, through every update. (One pass as a list of values is tools/derive/trace.hpp.)
//
//   L_t(θ, w) = Σ_{i in batch t} w_i ℓ_i(θ)      g_t = ∂L_t/∂θ      s_{t+1} = U_t(s_t, g_t)      w = 1
//
// s is the parameters θ and the optimizer's state, U an update with its clipping and its rate. Backward, λ = ∂q/∂s:
//
//   λ_N = ∂q/∂s_N                             of the query at the end
//   (λ_t, dg) = U_tᵀ λ_{t+1}                  Optimizer::adjoint, clip_adjoint
//   ∂q/∂w_i += dg · ∂ℓ_i/∂θ                   i in batch t
//   λ_t     += (∂²L_t/∂θ²) dg                 both by one backward pass over g_t (autograd/products.hpp)
//   ∂q/∂η_t  = λ_{t+1} · (U_t at a rate of 1 - θ_t)   every U is linear in its rate, which may be 0
//
// -Σ_{i in S} ∂q/∂w_i predicts how q changes when the examples S are left out: weight 0, the same batches.
//
// The training keeps its state at √N of its N updates. Backward takes them from the last on, and computes the updates in
// between again, bit by bit. Time: some 6 trainings for a query, and 3 more for each further one.
// Maclaurin, Duvenaud & Adams 2015, arXiv 1502.03492; Ilyas & Engstrom 2025, arXiv 2504.16430.
//
// Parameters and optimizer are those of the end of the training after every call. Dropout draws the numbers of its update
// again. Gradients of leaves that are no parameters of the optimizer stay as they are. Errors: StateError where an update
// computed again has other bits, and for losses and queries that change a parameter; ValueError for batches, weights and
// queries that are none; errors of `losses` pass through.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "autograd/tape.hpp"
#include "optim/optimizer.hpp"

namespace glim {

struct TraceRecipe {
  // The losses (n,) of n examples, on the tape that is open. Their sum is what an update goes down.
  std::function<Var(const std::vector<Index>& examples)> losses;
  Index examples = 0;
  std::vector<std::vector<Index>> batches = {};  // one an update
  std::function<double(Index)> rate = {};  // the rate of update 1, 2, ...; empty: the optimizer's
  double max_norm = std::numeric_limits<double>::infinity();  // the norm of clipping
};

// ∂q/∂(what the training was given), of a query.
struct Influence {
  std::vector<double> examples;  // influence of each example's weight
  std::vector<std::vector<double>>
      by_update;              // each update's part of them, in the order of its batch
  std::vector<double> rates;  // influence of the rate of each update
  StateDict parameters;       // influence of the parameters before the first update
  std::vector<double> norms;  // ‖∂q/∂θ_t‖ after 0 ... N updates
};

class TrainingTrace {
 public:
  // One value, or K of them (K,), of the parameters at the end of the training.
  using Query = std::function<Var()>;

  // Trains. The optimizer must outlive the trace.
  TrainingTrace(Optimizer& optimizer, TraceRecipe recipe);

  Index updates() const { return static_cast<Index>(recipe_.batches.size()); }
  const TraceRecipe& recipe() const { return recipe_; }
  const NamedParameters& parameters() const { return parameters_; }  // the trainable ones
  Index kept_bytes() const;                                          // bytes of the stored states
  std::vector<Influence> influence(const Query& query);              // one a value of the query
  Tensor value(const Query& query);                                  // at the end of the training
  // The query's values after a training with these weights of the examples.
  Tensor retrained(const std::vector<double>& weights, const Query& query);
  // f(t, rate of update t + 1) with parameters and state as they were after t updates, for t = 0 and those that are kept.
  void visit(const std::function<void(Index, double)>& f);

 private:
  struct State {
    StateDict parameters, optimizer;
    std::uint64_t seed = 0, stream = 0;  // generator()'s
  };
  Tensor present(const Query& query) const;  // at the present parameters
  // f(); StateError if it changed a parameter.
  Var unchanged(const char* f_name, const std::function<Var()>& f) const;
  // weights · losses of these examples.
  Var weighted_loss(const std::vector<Index>& batch, const Var& weights) const;
  State now() const;
  void go_to(const State& state);
  struct ToTheEnd;  // goes to the end of the training when a block ends
  void require_same(const State& again, const State& kept, Index first, Index last) const;
  double rate_of(Index t) const;
  bool clips() const { return recipe_.max_norm < std::numeric_limits<double>::infinity(); }
  void begin_step(Index t);  // clips the gradients, and sets the rate
  // The parameters' change for each unit of the rate, in the step that step() would take.
  StateDict direction();
  // Update t of the training, from the present state.
  void update(Index t, const std::vector<double>& weights);
  // From after update t, in whose state it is, to before it.
  struct Backward {
    StateDict lambda;
    Influence sums;
  };
  void back(Index t, std::vector<Backward>& queries);

  Optimizer& optimizer_;
  TraceRecipe recipe_;
  NamedParameters parameters_;
  DType dtype_{};
  double first_rate_;
  Index every_;
  std::vector<State> kept_;  // after 0, every_, 2 every_ ... updates, and after the last
};

}  // namespace glim

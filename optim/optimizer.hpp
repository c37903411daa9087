// Optimizer: one step down the gradients that backward left in the parameters.
//
//   Adam optimizer(model.parameters(), {.rate = 1e-3});
//   ... tape.backward(loss);
//   optimizer.set_rate(schedule.rate(optimizer.steps() + 1));
//   optimizer.step();
//   optimizer.zero_grad();
//
// A parameter that has no gradient or is not trainable stays as it is, and so does its state, as in
// torch. An update is one pass over parameter, gradient and state, whose elements are independent (Muon's
// needs the whole matrix), so the bits are the same for any number of threads. After the first step, step() allocates nothing.
//
// State is kept per parameter under "STATE.NAME" ("exp_avg.encoder.layers.0.linear1.weight"), with
// "step.NAME", the number of updates of that parameter, and "rate" and "steps" of the optimizer. A
// run continued from it takes the same steps bit by bit.
//
// adjoint() is the transpose of a step, for gradients through training (optim/trace.hpp): from ∂q/∂θ and ∂q/∂state after
// the step to those before it, and to ∂q/∂g. Each optimizer states it beside its step; one that does not trains all the
// same, and cannot be traced.
//
// Your own optimizer derives from Optimizer, names its state, and overrides update() or update_whole():
// nn/library.md, "An optimizer of your own".
//
// Errors: ValueError for options outside their domain, no parameters, or one named or listed twice;
// StateError for a parameter that is no leaf, or changed shape or dtype after construction.
#pragma once

#include <string>
#include <vector>

#include "autograd/var.hpp"

namespace glim {

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  void step(const Where& where = Where::current());
  // ∂q/∂(parameters, state) after the step that step() would take, to those before it, and ∂q/∂gradient. Names are
  // "NAME" for a parameter, "STATE.NAME", and "gradient.NAME" in the result; a missing one is zeros. Where step()
  // leaves a parameter alone, so does its transpose. ValueError for unknown names, ShapeError for another shape.
  StateDict adjoint(const StateDict& after) const;
  // P by parameter, where a step is θ ← θ - η P⁻¹ m̂, and the largest eigenvalue of ηP⁻¹H below which steps on a quadratic
  // loss are stable (Cohen et al. 2021, arXiv 2103.00065; 2022, arXiv 2207.14484). SGD has no P: its dict is empty.
  // Frozen parameters are not in it. StateError before the first update.
  struct Stability {
    StateDict preconditioner;
    double threshold;
  };
  Stability stability() const;
  void zero_grad() const;  // drops the gradients
  double rate() const { return rate_; }
  void set_rate(double rate);  // ValueError unless finite, in each dtype too, and not negative
  Index steps() const { return steps_; }
  NamedParameters parameters() const;

  // The tensors are the optimizer's own, not copies.
  StateDict state_dict() const;
  // Copies values in. ValueError naming what is unknown or incomplete, ShapeError and DTypeError
  // naming the tensor; after an error nothing has changed.
  void load_state_dict(const StateDict& state);

 protected:
  struct Slot {  // one parameter
    std::string name;
    Var parameter;
    double weight_decay;
    Shape shape;
    DType dtype;
    std::vector<Tensor> state;  // by state name; undefined before the first step
    Index step = 0;             // updates so far, with the current one
    Tensor gradient{};          // contiguous; undefined where this step leaves the parameter alone
  };
  struct Decay {
    double factor;
    bool matrices_only = false;  // not of biases and norms (rank below 2)
  };
  // `states`: tensors kept for each parameter, of its shape and dtype, at first zeros.
  Optimizer(const NamedParameters& parameters, double rate, const Decay& decay,
            std::vector<std::string> states);

  // ValueError for a number that a parameter's dtype makes infinite, 0 or 1.
  void require_in_dtypes(std::string_view what, double x) const;
  // ∂q/∂ of a parameter, its state and its gradient.
  struct Adjoint {
    Tensor parameter;
    std::vector<Tensor> state;
    Tensor gradient{};
  };
  // Updates elements [begin, end) of a parameter and of its state, all contiguous. Pieces run on all threads.
  // StateError unless overridden.
  virtual void update(const Slot& slot, Index begin, Index end) const;
  // Updates a whole parameter and returns true, for a step that is no function of each element, such as Muon's. Called
  // for one parameter after the other, before any update(); products use all threads. False leaves it to update().
  virtual bool update_whole(const Slot& slot) const;
  // The transpose of the update; slot.state is as before it, or undefined for zeros. StateError unless overridden.
  virtual Adjoint transposed(const Slot& slot, const Adjoint& after) const;
  // The divisor of an update, undefined for 1, and the threshold of stability(). StateError unless overridden.
  virtual Tensor divisor(const Slot& slot) const;
  virtual double threshold() const;

 private:
  struct Piece {
    std::size_t slot;
    Index begin, end;
  };
  void prepare(Slot& slot) const;
  void require_rate(double rate) const;

  std::vector<Slot> slots_;
  std::vector<Piece> pieces_;        // all parameters, large ones cut
  std::vector<std::size_t> shares_;  // equal shares of the work: where the pieces of each end
  std::vector<std::string> states_;
  double rate_;
  Index steps_ = 0;
};

}  // namespace glim

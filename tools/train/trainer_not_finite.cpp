// The error of a run whose loss or gradient is not finite. It names the first op or the parameter with such a number.
#include <filesystem>

#include "autograd/observe/finite.hpp"
#include "autograd/op_form.hpp"
#include "autograd/restored.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tools/train/trainer.hpp"

namespace glim {
namespace {

// NonFiniteError at the first output or gradient that is not finite.
class FiniteChecks final : public TrainObserver {
 public:
  void tape_begins(Tape& tape) override { check_.emplace(tape); }
  void tape_ends(Tape&) override { check_.reset(); }

 private:
  std::optional<FiniteCheck> check_;
};

}  // namespace

void Trainer::end_not_finite(Index first, Index end, const std::string& what) {
  shards_.processes.together([&] {
    if (shards_.processes.first()) throw NonFiniteError("train", diagnosis(first, end, what));
  });
  throw NonFiniteError("train", what);  // not reached: all processes have thrown
}

std::string Trainer::diagnosis(Index first, Index end, const std::string& what) {
  std::string found = not_finite_parameter();
  if (found.empty()) {
    found = "no op gave such a number when the step was run again";
    const Index targets = joined_size(first, end).targets;
    FiniteChecks checks;
    const Restored others(observers_, TrainObservers{&checks});  // Ctrl-C may end this block
    try {
      UseForm use(OpForm::Explicit);
      for (Index slot = 0; slot < options_.shards; ++slot)
        forward_and_backward(slot, first, end, targets);
    } catch (const NonFiniteError& e) {
      found = "first in " + e.one_line();
    }
  }
  notify(&TrainObserver::failed, state_.step + 1, what + "; " + found);
  return "step " + std::to_string(state_.step + 1) + ": " + what + "; " + found + kept_checkpoint();
}

std::string Trainer::not_finite_parameter() const {
  for (const auto& [name, p] : learner_.model().named_parameters())
    if (!all_finite(p.value())) return "the parameter " + name + " is not finite";
  return "";
}

std::string Trainer::kept_checkpoint() const {
  std::string last = in_folder(options_.out, kLastFile);
  std::error_code error;  // it may be of a run that --overwrite is about to replace
  return (saved_last_ && std::filesystem::exists(last, error)
              ? "; the last good checkpoint is " + last
              : "; there was no checkpoint yet") +
         " (a lower --rate, a longer --warmup or --clip may help)";
}

}  // namespace glim

#include "tools/inspect/example.hpp"

#include <fmt/format.h>
#include <optional>

#include "autograd/magnification.hpp"
#include "tensor/random.hpp"

namespace glim {

Example::Example(const ExampleOptions& o) : reading_(make_reading(o)), changes_(o.changes) {
  title_ = reading_->kind + (o.init ? fmt::format(", fresh (seed {})", o.fresh.seed)
                                    : fmt::format(", trained ({})", o.model));
  model().eval();
}

std::string Example::heading() const {
  const double smoothing = reading_->label_smoothing;
  return smoothing > 0 ? title_ + fmt::format(", label smoothing ε = {}", smoothing) : title_;
}

Var Example::loss() {
  Magnify magnify(Magnification::Explicit);
  std::optional<Tape> own;  // values get their names on a tape
  if (!Tape::current()) own.emplace();
  ChangedForward changed(changes_);
  if (changes_.dropout) {
    model().train();
    seed(0);
  }
  Var total = reading_->loss();
  model().eval();
  changed.require_used();
  return total / static_cast<double>(target_out().size());
}

}  // namespace glim

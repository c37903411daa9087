// A pass in which every extent has a size of its own, so that its shapes can be written in letters.
#pragma once

#include <memory>

#include "tools/derive/letters.hpp"
#include "tools/derive/trace.hpp"
#include "tools/kinds/example.hpp"

namespace glim {

struct LetteredPass {
  std::unique_ptr<Example> example;  // null: the pass is of the example that was given
  derive::ConstantNames names;
  Pass pass;
  derive::Letters letters;
};

using RecordedLoss = std::function<Var(Example&, derive::ConstantNames&)>;
// Records the loss of an example on the current tape, and the names of constants.
Var recorded_loss(Example& example, derive::ConstantNames& names);

// Records the ops and names of `pass`, which is of the example that `options` made, with other widths, heads and text. The
// letters' extents are those of the example. If no such pass can be recorded, the example's own pass is used, and a size
// that two extents share has no letter.
std::unique_ptr<LetteredPass> lettered_pass(const ExampleOptions& options, Example& example,
                                            const Pass& pass,
                                            const RecordedLoss& record = recorded_loss);

}  // namespace glim

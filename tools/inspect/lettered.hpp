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

// The same ops and names as in `pass`, of the example that `options` made. Widths, heads and text are others; the
// letters' extents are those of the example. Where no such pass can be recorded it is the example's own, and sizes of
// two extents have no letter.
std::unique_ptr<LetteredPass> lettered_pass(const ExampleOptions& options, Example& example,
                                            const Pass& pass);

}  // namespace glim

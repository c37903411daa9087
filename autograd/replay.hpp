// An op of the tape can be computed again, on the same operands or on others.
#pragma once

#include <functional>
#include <vector>

#include "autograd/op_type.hpp"

namespace glim {

// Applies an op again to other operands.
using RunAgain = std::function<Var(const std::vector<Var>&)>;

// How to compute an op again. `run` applies it to other operands, of any dtype that the op takes, with the
// masks, random keys and indices of the first call. The same operands give the same bits. Constant operands
// record nothing. `run` is empty for a checkpointed region.
struct Replay {
  std::vector<Var> operands;  // a leaf is the leaf itself, not a copy of its value
  Tensor value;
  RunAgain run;
};

// A call that has not begun, whose op is copied.
RunAgain run_again(const Call& call);

}  // namespace glim

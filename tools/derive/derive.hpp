// Writes out the backward pass of any model, as a recorded tape has it.
//
//   Tape tape({.replay = true});
//   Var loss = ...;
//   print_backward(tape, std::cout);
//
// The last value on the tape is the loss. Each line of forward is beside the lines of backward that it gives rise to.
// `glim derive` does the same for Glim's models, with letters for their sizes, in other formats and as programs.
#pragma once

#include <ostream>

#include "autograd/tape.hpp"

namespace glim {

struct BackwardLines {
  std::string module;  // a part of the model, "decoder.layers.0"; without: all
  // rules: each op's equation. primitives: lines as backward records them; recording adds to the tape. paper: the parts of
  // a Transformer, head by head (paper.hpp).
  std::string level = "rules";
  std::string format = "text";  // or markdown, latex, align (the equations alone), html
};

// A note says whose gradient a hook or an observer changes. StateError for a tape without replay, or after a backward
// that did not retain; ValueError for a module that is not on the tape, and for an unknown format or level.
void print_backward(Tape& tape, std::ostream& out, const BackwardLines& lines = {});

}  // namespace glim

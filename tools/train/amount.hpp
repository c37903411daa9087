// How long a run is and how large its batches are, by the amount of data.
//
//   batch     the power of two nearest to √n / 2, from 16 to 128 examples
//   epochs    1000 / √n, from 5 to 100
//
// n counts the training examples: pairs, sentences or images; of a text, blocks. From 1,000 to 40,000 examples that is
// about 2,000 updates, with fewer than 1,000 of a few hundred and 8,000 of 200,000. own_data.md has what models learn
// so, of 200 to 29,000 pairs.
#pragma once

#include <string>

#include "tools/train/options.hpp"

namespace glim {

// Sets --epochs where it is 0, and --batch-sentences where both limits of a batch are. A line that says so; empty if
// nothing was set.
std::string choose_by_amount(TrainOptions& options, Index examples);

}  // namespace glim

// Values with which a kind and a task train well on two cores, for every option that was not given, and of options that
// are 0 by the amount of data:
//
//   batch     the power of two nearest to √n / 2, from 16 to 128 examples
//   epochs    1000 / √n, from 5 to 100
//
// n counts the training examples: pairs, sentences or images; of a text, blocks. From 1,000 to 40,000 examples that is
// about 2,000 updates, with fewer than 1,000 of a few hundred and 8,000 of 200,000. own_data.md has what models learn
// so, of 200 to 29,000 pairs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/kinds/options.hpp"

namespace glim {

// True if the user has set the option of this name ("d-model"); what to do with one set instead.
using OptionGiven = std::function<bool(const std::string& name)>;
using OptionTook = std::function<void(const std::string& name, const std::string& origin)>;

// Sets what is not given as the kind's settings have it. `took` learns why: "default of --kind gpt", "recipe of --task
// names". A default that contradicts a given option yields to it; the lines returned say so where it may surprise.
std::vector<std::string> apply_preset(TrainOptions& options, const OptionGiven& is_set,
                                      const OptionTook& took = {});

// Sets --epochs where it is 0, and --batch-sentences where both limits of a batch are. A line that says so; empty if
// nothing was set.
std::string choose_by_amount(TrainOptions& options, Index examples);

}  // namespace glim

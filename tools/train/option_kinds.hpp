// Which kinds of model have which options.
#pragma once

#include <string>
#include <vector>

#include "tools/train/options.hpp"

namespace glim {

// The kinds that have this option; empty where all of them do.
std::vector<std::string> kinds_with(const std::string& option);
bool takes(const std::string& kind, const std::string& option);

// "is no option of --kind gpt; it belongs to --kind rnn".
std::string no_option_of(const std::string& kind, const std::vector<std::string>& owners);

// ValueError for an option that is not at its default and that options.kind does not have: it would be
// silently ignored.
void refuse_strangers(const TrainOptions& options);

}  // namespace glim

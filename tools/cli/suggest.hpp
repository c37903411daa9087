// Guesses at the meaning of a name that a command does not have. Other programs' words are known: PyTorch's,
// nanoGPT's, Hugging Face's, fairseq's.
#pragma once

#include <string>
#include <vector>

#include "tools/cli/command.hpp"

namespace glim {

// Advice on `--name`, which the command does not have: ": did you mean --rate (peak learning rate)?",
// "; it is an option of glim train", or where the options are listed. In a configuration file without dashes.
std::string about_option(const Command& command, const std::vector<Command>& all,
                         const std::string& name, bool in_config = false);

// Advice on an unknown verb.
std::string about_verb(const std::vector<Command>& all, const std::string& name);

// For a word in the place of an option.
std::string about_word(const Command& command, const std::vector<Command>& all,
                       const std::string& word);

}  // namespace glim

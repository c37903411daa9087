// glim: train, use, measure and check Transformers. One file a verb in tools/cli/verbs/.
#pragma once

namespace glim {

// The whole program. Exit status: 0 done, 1 an error (one line on standard error), 2 wrong usage, 130 interrupted.
int run_program(int argc, char** argv);

}  // namespace glim

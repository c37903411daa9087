// Instruction sets: one binary for every CPU. Kernel files are compiled once for each, and the best
// that this CPU runs is taken by the first call.
//
// GLIM_ISA in the environment ("baseline", "avx2", "avx512", "amx") lowers the choice, for comparisons;
// best_isa() throws ValueError for what this CPU does not run. A build without tensor/fast does not read it.
#pragma once

#include <string_view>
#include <vector>

namespace glim {

enum class Isa { Baseline, Avx2, Avx512 };

Isa best_isa();                     // the one in use
std::vector<Isa> supported_isas();  // the sets that this CPU runs, from the lowest
std::string_view name_of(Isa isa);

// How products of operands rounded to bfloat16 are computed, beside the kernels of Avx512 for all else.
enum class Amx { None, Refused, Used };  // Refused by the system, which is asked by the first call
Amx amx();

}  // namespace glim

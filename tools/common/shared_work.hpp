// Work that the processes of one mpirun divide among themselves, item by item (processes.md): batches to translate,
// kinds of model to train, seeds of a study.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "tensor/function_ref.hpp"
#include "tools/common/processes.hpp"

namespace glim {

// The results of item(i) for each i < count: process r of P does r, r + P, …, and all get the results of all, numbers bit
// for bit. An item exchanges nothing with other processes; its error ends them all (Processes::together).
std::vector<nlohmann::json> shared_work(const Processes& processes, Index count,
                                        FunctionRef<nlohmann::json(Index)> item);

}  // namespace glim

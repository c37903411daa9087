// Training in a page: the program's Trainer, some updates at a time, into the folder "run" of the page's file system.
//
//   {"train": {"task": "copy", "layers": 1, ...}, "updates": 20}   begins a run with these options of `glim train`
//   {"train": null, "updates": 20}                                 goes on with it
//
// Answer: {"steps": [[step, loss per target, gradient norm, rate]...], "tried": [[step, share of exact outputs]...],
// "over": whether the run has ended}. The weights equal those of `glim train` after as many updates; they are in
// run/last.safetensors. ValueError naming an option, and when no run has begun.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace glim {

nlohmann::json train_in_page(const nlohmann::json& request);

}  // namespace glim

// Measurements as the JSON lines of OUT/metrics.jsonl.
//
//   {"type":"train","step":100,"epoch":1,"kl":…,"smoothed_ce":…,"nll":…,"perplexity":…,"lr":…, "seconds":…, …}
//   {"type":"valid","step":250,"epoch":1, …}
//
// kl, smoothed_ce and nll are nats per target token: KL(q ‖ p) to the smoothed target q, the
// cross-entropy -Σ q ln p (larger by the entropy of q), and -ln p of the true token; perplexity is
// e^nll. The first two cannot be compared across smoothings, the last two can.
#pragma once

#include <string>

#include "tools/train/trainer.hpp"

namespace glim {

// `seconds`: of updates since this process began.
std::string metrics_line(const StepReport& report, const Measures& loss, double tokens_per_second,
                         double seconds);
std::string metrics_line(const ValidationReport& report);

}  // namespace glim

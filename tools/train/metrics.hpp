// Measurements as JSON lines (tools/train/json_lines.hpp).
//
//   {"type":"train","step":100,"epoch":1,"kl":…,"smoothed_ce":…,"nll":…,"perplexity":…,"lr":…, …}
//   {"type":"valid","step":250,"epoch":1, …}
//
// kl, smoothed_ce and nll are nats per target token: KL(q ‖ p) to the smoothed target q, the
// cross-entropy -Σ q ln p (larger by the entropy of q), and -ln p of the true token; perplexity is
// e^nll. The first two cannot be compared across smoothings, the last two can.
#pragma once

#include <string>

#include "tools/train/json_lines.hpp"
#include "tools/train/trainer.hpp"

namespace glim {

class Metrics {
 public:
  // Keeps lines up to `from_step`; 0 starts a new file. FileError.
  Metrics(std::string path, Index from_step) : lines_(std::move(path), from_step) {}

  void train(const StepReport& report, const Measures& loss, double tokens_per_second);
  void valid(const ValidationReport& report);

 private:
  JsonLines lines_;
};

}  // namespace glim

// Measurements as JSON lines: one object a line, each line whole in the file as soon as it is
// written.
//
//   {"type":"train","step":100,"epoch":1,"kl":…,"smoothed_ce":…,"nll":…,"perplexity":…,"lr":…, …}
//   {"type":"valid","step":250,"epoch":1, …}
//
// kl, smoothed_ce and nll are nats per target token: KL(q ‖ p) to the smoothed target q, the
// cross-entropy -Σ q ln p (larger by the entropy of q), and -ln p of the true token; perplexity is
// e^nll. The first two cannot be compared across smoothings, the last two can.
//
// A run that goes on from step n drops the lines beyond n, which it will write again.
#pragma once

#include <string>

#include "tools/train/trainer.hpp"

namespace glim {

class Metrics {
 public:
  // Keeps lines up to `from_step`; 0 starts a new file. FileError.
  Metrics(std::string path, Index from_step);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  void train(const StepReport& report, const Measures& loss, double tokens_per_second);
  void valid(const ValidationReport& report);

 private:
  void write(const std::string& line);
  std::string path_;
  int fd_ = -1;
};

}  // namespace glim

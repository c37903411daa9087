// Prints the progress of a run to standard error, and writes metrics.jsonl into the model's folder.
#pragma once

#include <fmt/format.h>

#include "tools/cli/progress.hpp"
#include "tools/common/escape.hpp"
#include "tools/common/folder.hpp"
#include "tools/train/json_lines.hpp"
#include "tools/train/metrics.hpp"
#include "tools/train/profile.hpp"
#include "tools/train/trainer.hpp"

namespace glim {

class ProgressPrinter final : public TrainObserver {
 public:
  ProgressPrinter(Trainer& trainer, ProgressMode mode)
      : trainer_(trainer),
        o_(trainer.options()),
        metrics_(in_folder(o_.out, "metrics.jsonl"), trainer.state().step),
        progress_(quiet() ? ProgressMode::None : mode) {}

  void stepped(const StepReport& r) override {
    window_ += r.sums;
    seconds_ += r.seconds;
    all_seconds_ += r.seconds;
    ++steps_;
    const Index total = trainer_.total_steps();
    auto n = static_cast<double>(std::max<Index>(window_.tokens, 1));
    Measures mean = window_.per_target();
    double speed = n / std::max(seconds_, 1e-9);
    const ProgressState p{.step = r.step,
                          .steps = total,
                          .epoch = r.epoch,
                          .epochs = o_.epochs,
                          .nll = mean.nll,
                          .perplexity = mean.perplexity(),
                          .tokens_per_second = speed,
                          .rate = r.rate,
                          .seconds_left = static_cast<double>(total - r.step) * seconds_ / steps_};
    progress_.show(p);
    bool due = r.step % log_interval(o_.log_every, total) == 0;
    bool last = o_.log_every == 0 && (r.batch == r.batches || r.step == total);
    if (!due && !last) return;
    metrics_.write(metrics_line(r, mean, speed, all_seconds_));
    if (due) progress_.log(p);  // the end of an epoch has a line of its own
    window_ = {};
    seconds_ = steps_ = 0;
  }
  void validated(const ValidationReport& r) override {
    if (r.valid.tokens > 0) metrics_.write(metrics_line(r));
    std::string valid = r.valid.tokens ? "  valid: " + trainer_.learner().describe(r.valid) +
                                             (r.improved ? "  best" : "")
                                       : "";
    progress_.say(fmt::format("epoch {:3d}  step {:6d}  {:.1f} s  train: KL {:.4f}  NLL {:.4f}{}",
                              r.epoch, r.step, r.seconds, r.train.kl, r.train.nll, valid));
    if (r.trial) progress_.say(r.trial->text);
  }
  void end() { progress_.end(); }
  void show(const Profile& profile) {
    end();
    const std::string trace = in_folder(o_.out, "trace.json");
    profile.write_trace(trace);
    print_line(profile.table() + "the last of these steps as a timeline: " + visible(trace) +
               " (for ui.perfetto.dev or chrome://tracing)");
  }

 private:
  Trainer& trainer_;
  const TrainOptions& o_;
  JsonLines metrics_;
  Progress progress_;
  Measures window_;  // sums since the last line
  double seconds_ = 0, steps_ = 0, all_seconds_ = 0;
};

}  // namespace glim

#include "tools/train/profile.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tensor/clock.hpp"
#include "tensor/io/atomic_file.hpp"

namespace glim {

void Profile::tape_begins(Tape& tape) {
  if (!measures()) return;
  start_ = seconds_now();
  times_.emplace(tape);
}

void Profile::tape_ends(Tape& tape) {
  if (!times_) return;
  batches_ += seconds_now() - start_;
  int number = 0;
  for (const Node& n : tape.nodes()) {
    int i = number++;
    if (n.leaf) continue;
    const Timing time = times_->of(i);
    std::string module = tape.path(i);  // "decoder.layers.1.self_attn.linear"
    auto dot = module.rfind('.');
    module = dot == std::string::npos ? "(none)" : module.substr(0, dot);
    for (Times* t : {&ops_[std::string(n.name())], &modules_[module]}) {
      ++t->count;
      t->forward += time.forward_seconds;
      t->backward += time.backward_seconds;
    }
    taped_ += time.forward_seconds + time.backward_seconds;
    trace_.push_back(
        {std::string(n.name()), module, "forward", time.forward_start, time.forward_seconds});
    if (time.backward_seconds > 0)
      trace_.push_back(
          {std::string(n.name()), module, "backward", time.backward_start, time.backward_seconds});
  }
  times_.reset();
}

void Profile::gradients_ready(Index) { start_ = seconds_now(); }

void Profile::stepped(const StepReport&) {
  const bool measured = measures();
  ++steps_;
  if (!measured) return;
  const double seconds = seconds_now() - start_;
  optimizer_ += seconds;
  trace_.push_back({"optimizer", "", "optimizer", start_, seconds});
  last_ = std::exchange(trace_, {});
  if (++updates_ == target_) done_(*this);
}

std::string Profile::rows(const char* title, const std::map<std::string, Times>& times,
                          double steps, double total) {
  std::vector<std::pair<std::string, Times>> sorted(times.begin(), times.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second.forward + a.second.backward > b.second.forward + b.second.backward;
  });
  std::size_t width = 30;
  for (const auto& [name, t] : sorted) width = std::max(width, name.size());
  std::string text = fmt::format("{:<{}} {:>6} {:>11} {:>11} {:>7}\n", title, width, "count",
                                 "forward ms", "backward ms", "share");
  for (const auto& [name, t] : sorted)
    text += fmt::format("{:<{}} {:>6.0f} {:>11.3f} {:>11.3f} {:>5.1f} %\n", name, width,
                        static_cast<double>(t.count) / steps, t.forward / steps * 1e3,
                        t.backward / steps * 1e3, 100 * (t.forward + t.backward) / total);
  return text;
}

std::string Profile::table() const {
  double steps = static_cast<double>(std::max<Index>(updates_, 1)), total = batches_ + optimizer_;
  auto rest = [&](const char* name, double seconds) {
    return fmt::format("  {:<40} {:>9.3f} ms {:>5.1f} %\n", name, seconds / steps * 1e3,
                       100 * seconds / total);
  };
  return fmt::format("profile of {} steps, {:.3f} ms each:\n", updates_, total / steps * 1e3) +
         rest("ops", taped_) + rest("adding gradients up, freeing, batches", batches_ - taped_) +
         rest("clipping and optimizer", optimizer_) + "\n" + rows("op", ops_, steps, total) + "\n" +
         rows("module", modules_, steps, total);
}

void Profile::write_trace(const std::string& path) const {
  auto events = nlohmann::ordered_json::array();
  double zero = last_.empty() ? 0 : last_.front().start;
  for (const Event& e : last_) zero = std::min(zero, e.start);
  for (const Event& e : last_)
    events.push_back({{"name", e.name},
                      {"cat", e.phase},
                      {"ph", "X"},
                      {"ts", (e.start - zero) * 1e6},  // microseconds
                      {"dur", e.seconds * 1e6},
                      {"pid", 1},
                      {"tid", 1},
                      {"args", {{"module", e.module}, {"phase", e.phase}}}});
  write_file_atomically(path, nlohmann::ordered_json({{"traceEvents", events}}).dump() + "\n");
}

}  // namespace glim

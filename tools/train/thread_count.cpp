#include "tools/train/thread_count.hpp"

#include <algorithm>
#include <ctime>

#include "tensor/parallel.hpp"

namespace glim {
namespace {

constexpr double kWindow = 0.2;                 // seconds
constexpr Index kUpdates = 3;                   // of a window, at least
constexpr double kShortest = 1, kLongest = 16;  // seconds between trials
constexpr double kFaster = 1.05;
constexpr double kAll = 0.875;  // share of the time in which threads that compute have processors

double processor_seconds() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

}  // namespace

int ThreadCount::after(double seconds, double tokens, double processor) {
  window_.seconds += seconds;
  window_.tokens += tokens;
  window_.processor += processor;
  ++window_.updates;
  if (window_.seconds < kWindow || window_.updates < kUpdates) return tried_ ? tried_ : now_;
  const Window window = std::exchange(window_, {});
  const double speed = window.tokens / window.seconds;
  since_ += window.seconds;
  if (tried_) {
    const bool faster = speed > kFaster * speed_;
    patience_ = faster ? kShortest : std::clamp(2 * patience_, kShortest, kLongest);
    if (faster) now_ = tried_;
    tried_ = 0;
    since_ = 0;
  } else if (since_ >= patience_) {
    speed_ = speed;
    tried_ = candidate(window);
  }
  return tried_ ? tried_ : now_;
}

int ThreadCount::candidate(const Window& window) {
  const bool fewer = now_ > 1 && window.processor < kAll * now_ * window.seconds;
  const bool more = now_ < most_ && (!fewer || !last_was_more_);
  if (!fewer && !more) return 0;
  last_was_more_ = more;
  return more ? std::min(2 * now_, most_) : now_ / 2;
}

ThreadChooser::ThreadChooser()
    : before_(num_threads()), count_(before_), processor_(processor_seconds()) {}

ThreadChooser::~ThreadChooser() { set_num_threads(before_); }

void ThreadChooser::stepped(const StepReport& report) {
  const double now = processor_seconds();
  const auto tokens = static_cast<double>(report.sums.tokens);
  set_num_threads(count_.after(report.seconds, tokens, now - std::exchange(processor_, now)));
}

}  // namespace glim

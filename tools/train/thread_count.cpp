#include "tools/train/thread_count.hpp"

#include <algorithm>
#include <sys/resource.h>

#include "tensor/parallel.hpp"

namespace glim {
namespace {

constexpr double kWindow = 0.2;                 // seconds
constexpr Index kUpdates = 3;                   // of a window, at least
constexpr double kShortest = 1, kLongest = 16;  // seconds between trials
constexpr double kFaster = 1.05;
constexpr double kOften = 25;  // lost processors a second

Index preemptions() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

}  // namespace

int ThreadCount::after(double seconds, double tokens, Index preempted) {
  window_.seconds += seconds;
  window_.tokens += tokens;
  window_.preempted += preempted;
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
  const bool fewer = now_ > 1 && window.preempted > kOften * window.seconds;
  const bool more = now_ < most_ && (!fewer || !last_was_more_);
  if (!fewer && !more) return 0;
  last_was_more_ = more;
  return more ? std::min(2 * now_, most_) : now_ / 2;
}

ChooseThreads::ChooseThreads()
    : before_(num_threads()), count_(before_), preempted_(preemptions()) {}

ChooseThreads::~ChooseThreads() { set_num_threads(before_); }

void ChooseThreads::stepped(const StepReport& report) {
  const Index now = preemptions();
  const auto tokens = static_cast<double>(report.sums.tokens);
  set_num_threads(count_.after(report.seconds, tokens, now - std::exchange(preempted_, now)));
}

}  // namespace glim

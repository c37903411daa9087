// How many threads a training run uses while other programs need processors too.
//
// A loop ends when its last thread does. On a busy machine some thread has lost its processor, and two threads can take
// two to three times as long as one. A run has the same bits with any number of threads, so the number may change between
// updates:
//
//   fewer   half as many are tried when threads were without a processor for an eighth of the time
//   more    twice as many are tried from time to time, up to the number that the run began with
//
// The faster number stays. Speed is target tokens a second. A number that was slower is tried again after twice the time.
// On a machine with processors to spare nothing is tried: threads that wait for each other spin there.
#pragma once

#include "tools/train/observer.hpp"

namespace glim {

class ThreadCount {
 public:
  explicit ThreadCount(int most) : most_(most), now_(most) {}
  // Takes the seconds and tokens of an update, and the processor time of all threads in it. Returns the number of threads
  // for the next update.
  int after(double seconds, double tokens, double processor);

 private:
  struct Window {
    double seconds = 0, tokens = 0, processor = 0;
    Index updates = 0;
  };
  int candidate(const Window& window);  // 0: none

  int most_, now_, tried_ = 0;
  bool last_was_more_ = true;
  Window window_;
  double speed_ = 0;                 // of the window before a trial
  double since_ = 0, patience_ = 0;  // seconds since the last trial, and until the next
};

// Sets num_threads() by a ThreadCount after each update, and back at its end.
class ThreadChooser final : public TrainObserver {
 public:
  ThreadChooser();
  ~ThreadChooser();
  void stepped(const StepReport& report) override;

 private:
  int before_;
  ThreadCount count_;
  double processor_;
};

}  // namespace glim

// How far a training run is: one moving line on a terminal, plain lines elsewhere.
//
//   epoch 3/30 ██████████▌            38%  NLL 1.234  ppl 3.42  12.3k tok/s  lr 8.3e-04  0:42 left
//
// The line is redrawn by a single write, at most ten times a second. It is never wider than the terminal:
// parts that do not fit are left out, from the right. Other lines (say()) are printed above it.
#pragma once

#include <string>
#include <string_view>

#include "tensor/shape.hpp"

namespace glim {

struct ProgressState {
  Index step = 0, steps = 0;    // updates done, of all
  Index epoch = 0, epochs = 0;  // the current one from 1; epochs 0: unknown
  double nll = 0;               // nats per token; negative: none yet
  double perplexity = 0;        // e^nll
  double tokens_per_second = 0;
  double rate = 0;          // learning rate
  double seconds_left = 0;  // negative: unknown
};

// The line for a terminal of so many columns.
std::string progress_bar(const ProgressState& state, int columns);
// The line for a file.
std::string progress_line(const ProgressState& state);

std::string short_duration(double seconds);  // 0:42, 12:05, 3:07:09
std::string short_number(double x);          // 812, 12.3k, 4.56M

enum class ProgressMode { Bar, Lines, None };

class Progress {
 public:
  Progress(ProgressMode mode, int fd = 2);
  ~Progress();  // leaves the line as it is and goes below it
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Redraws the bar when it is time to; draws nothing in the other modes.
  void show(const ProgressState& state);
  // Prints the state as a line, in Lines mode.
  void log(const ProgressState& state);
  // A line that stays; nothing in mode None.
  void say(std::string_view text);
  void end();  // erases the bar

 private:
  void write(std::string_view text) const;

  ProgressMode mode_;
  int fd_;
  std::string drawn_;
  double last_ = 0;  // when it was drawn
};

// "auto" (a bar on a terminal, else lines), "bar", "lines" or "none".
ProgressMode progress_mode(const std::string& name, int fd);

}  // namespace glim

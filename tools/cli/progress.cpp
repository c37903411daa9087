#include "tools/cli/progress.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <vector>

#include "tensor/clock.hpp"
#include "tensor/system/files.hpp"
#include "tensor/system/process.hpp"
#include "tools/common/output.hpp"

namespace glim {
namespace {

constexpr double kRedraw = 0.1;  // seconds
constexpr int kShortestBar = 10;
constexpr int kLongestBar = 40;

// `share` of `width` columns filled, to an eighth of a column.
std::string bar(double share, int width) {
  static constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  share = std::clamp(share, 0.0, 1.0);
  int eighths = static_cast<int>(share * width * 8);
  std::string text;
  int columns = eighths / 8;
  for (int i = 0; i < columns; ++i) text += "█";
  if (eighths % 8 > 0) {
    text += kEighths[eighths % 8];
    ++columns;
  }
  return text + std::string(static_cast<std::size_t>(width - columns), ' ');
}

std::string head(const ProgressState& s) {
  if (s.epochs > 0) return fmt::format("epoch {}/{}", s.epoch, s.epochs);
  return fmt::format("step {}", s.step);
}

// The measurements, most wanted first.
std::vector<std::string> parts(const ProgressState& s) {
  std::vector<std::string> list;
  if (s.nll >= 0) {
    list.push_back(fmt::format("NLL {:.3f}", s.nll));
    list.push_back(s.perplexity < 1e5 ? fmt::format("ppl {:.2f}", s.perplexity)
                                      : fmt::format("ppl {:.2g}", s.perplexity));
  }
  if (s.tokens_per_second > 0) list.push_back(short_number(s.tokens_per_second) + " tok/s");
  list.push_back(fmt::format("lr {:.1e}", s.rate));
  if (s.seconds_left >= 0) list.push_back(short_duration(s.seconds_left) + " left");
  return list;
}

double share_of(const ProgressState& s) {
  return s.steps > 0 ? static_cast<double>(s.step) / static_cast<double>(s.steps) : 0;
}

}  // namespace

std::string short_duration(double seconds) {
  auto s = static_cast<long long>(std::llround(std::clamp(seconds, 0.0, 3.6e8)));
  if (s < 3600) return fmt::format("{}:{:02}", s / 60, s % 60);
  return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

std::string short_number(double x) {
  if (x < 999.5) return fmt::format("{:.0f}", x);
  if (x < 999'500) return fmt::format("{:.3g}k", x / 1e3);
  return fmt::format("{:.3g}M", x / 1e6);
}

std::string progress_bar(const ProgressState& s, int columns) {
  std::string left = head(s) + " ";
  std::string right = fmt::format(" {:3.0f}%", 100 * share_of(s));
  // One column stays free: a cursor in the last one makes some terminals wrap.
  int room = columns - 1 - static_cast<int>(left.size() + right.size());
  int width = std::min(kShortestBar, room);
  if (width < 1) return left.substr(0, static_cast<std::size_t>(std::max(columns - 1, 0)));
  int free = room - width;
  for (const std::string& part : parts(s)) {
    int cost = static_cast<int>(part.size()) + 2;
    if (cost > free) break;
    right += "  " + part;
    free -= cost;
  }
  return left + bar(share_of(s), std::min(width + free, kLongestBar)) + right;
}

std::string progress_line(const ProgressState& s) {
  std::string text = fmt::format("step {}", s.step);
  if (s.epochs > 0) text += fmt::format("  epoch {}/{}", s.epoch, s.epochs);
  for (const std::string& part : parts(s)) text += "  " + part;
  return text;
}

Progress::Progress(ProgressMode mode, int fd) : mode_(mode), fd_(fd) {}

Progress::~Progress() {
  if (!drawn_.empty()) write("\n");
}

// Progress is for whoever looks: where it cannot be written, training goes on.
void Progress::write(std::string_view text) const { write_all(fd_, text); }

void Progress::show(const ProgressState& state) {
  if (mode_ != ProgressMode::Bar) return;
  double now = seconds_now();
  if (!drawn_.empty() && now - last_ < kRedraw) return;
  last_ = now;
  drawn_ = progress_bar(state, terminal_columns(fd_));
  write("\r" + drawn_ + "\x1b[K");
}

void Progress::log(const ProgressState& state) {
  if (mode_ == ProgressMode::Lines) say(progress_line(state));
}

void Progress::say(std::string_view text) {
  if (mode_ == ProgressMode::None) return;
  const std::string line = is_terminal(fd_) ? for_terminal(text) : std::string(text);
  if (drawn_.empty()) return write(line + "\n");
  write("\r" + line + "\x1b[K\n" + drawn_ + "\x1b[K");
}

void Progress::end() {
  if (drawn_.empty()) return;
  drawn_.clear();
  write("\r\x1b[K");
}

ProgressMode progress_mode(const std::string& name, int fd) {
  if (name == "bar") return ProgressMode::Bar;
  if (name == "lines") return ProgressMode::Lines;
  if (name == "none") return ProgressMode::None;
  return is_terminal(fd) ? ProgressMode::Bar : ProgressMode::Lines;
}

}  // namespace glim

#include "optim/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tensor/error.hpp"
#include "tensor/portable.hpp"
#include "tensor/print.hpp"

namespace glim {
namespace {

std::string text(double value) { return number_text(value, 4); }

double require_rate(double value, const char* what) {
  if (!(std::isfinite(value) && value >= 0))
    throw ValueError("schedule", std::string(what) + " must be finite and not negative");
  return value;
}
Index require_steps(Index value, const char* what) {
  if (value < 0) throw ValueError("schedule", std::string(what) + " must not be negative");
  return value;
}

}  // namespace

double Schedule::rate(Index step) const {
  return at(std::max<Index>(require_steps(step, "a step"), 1));
}
std::string Schedule::describe() const {
  return options() + "; peak rate " + text(peak()) + " at step " + std::to_string(peak_step());
}

NoamSchedule::NoamSchedule(Index d_model, Index warmup, double factor)
    : d_model_(d_model),
      warmup_(std::max<Index>(require_steps(warmup, "warmup"), 1)),
      factor_(require_rate(factor, "factor")) {
  if (d_model < 1) throw ValueError("schedule", "d_model must be positive");
}
double NoamSchedule::at(Index step) const {
  auto s = static_cast<double>(step), w = static_cast<double>(warmup_);
  return factor_ / std::sqrt(static_cast<double>(d_model_)) *
         std::min(1 / std::sqrt(s), s * portable::pow(w, -1.5));
}
std::string NoamSchedule::options() const {
  return "noam: factor " + text(factor_) + ", d_model " + std::to_string(d_model_) + ", warmup " +
         std::to_string(warmup_);
}

InverseSqrtSchedule::InverseSqrtSchedule(double peak, Index warmup, double start)
    : peak_(require_rate(peak, "the peak rate")),
      warmup_(std::max<Index>(require_steps(warmup, "warmup"), 1)),
      start_(require_rate(start, "the start rate")) {
  if (start > peak) throw ValueError("schedule", "the start rate lies above the peak");
}
double InverseSqrtSchedule::at(Index step) const {
  auto s = static_cast<double>(step), w = static_cast<double>(warmup_);
  return step < warmup_ ? start_ + s * (peak_ - start_) / w : peak_ * std::sqrt(w / s);
}
std::string InverseSqrtSchedule::options() const {
  return "inverse_sqrt: warmup " + std::to_string(warmup_) + ", start " + text(start_);
}

CosineSchedule::CosineSchedule(double peak, Index warmup, Index total, double floor)
    : peak_(require_rate(peak, "the peak rate")),
      warmup_(require_steps(warmup, "warmup")),
      total_(total),
      floor_(require_rate(floor, "the floor")) {
  if (total <= warmup) throw ValueError("schedule", "cosine needs more steps than its warm-up");
  if (floor > peak) throw ValueError("schedule", "the floor lies above the peak rate");
}
double CosineSchedule::at(Index step) const {
  auto s = static_cast<double>(step), w = static_cast<double>(warmup_);
  if (step <= warmup_) return peak_ * s / w;
  if (step > total_) return floor_;
  double part = (s - w) / (static_cast<double>(total_) - w);
  return floor_ + 0.5 * (peak_ - floor_) * (1 + portable::cos(std::numbers::pi * part));
}
std::string CosineSchedule::options() const {
  return "cosine: warmup " + std::to_string(warmup_) + ", total " + std::to_string(total_) +
         ", floor " + text(floor_);
}

ConstantSchedule::ConstantSchedule(double rate) : rate_(require_rate(rate, "the rate")) {}

}  // namespace glim

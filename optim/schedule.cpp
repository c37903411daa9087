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

void require_rate(double value, const char* what) {
  if (!(std::isfinite(value) && value >= 0))
    throw ValueError("schedule", std::string(what) + " must be finite and not negative");
}
void require_steps(Index value, const char* what) {
  if (value < 0) throw ValueError("schedule", std::string(what) + " must not be negative");
}

}  // namespace

double Schedule::rate(Index step) const {
  require_steps(step, "a step");
  return curve(static_cast<double>(std::max<Index>(step, 1)));
}
std::string Schedule::describe() const {
  return options + "; peak rate " + text(peak()) + " at step " + std::to_string(peak_step);
}

Schedule noam_schedule(Index d_model, Index warmup, double factor) {
  require_steps(warmup, "warmup");
  require_rate(factor, "factor");
  if (d_model < 1) throw ValueError("schedule", "d_model must be positive");
  warmup = std::max<Index>(warmup, 1);
  return {"noam: factor " + text(factor) + ", d_model " + std::to_string(d_model) + ", warmup " +
              std::to_string(warmup),
          warmup, [=, d = static_cast<double>(d_model), w = static_cast<double>(warmup)](double s) {
            return factor / std::sqrt(d) * std::min(1 / std::sqrt(s), s * portable::pow(w, -1.5));
          }};
}

Schedule inverse_sqrt_schedule(double peak, Index warmup, double start) {
  require_rate(peak, "the peak rate");
  require_steps(warmup, "warmup");
  require_rate(start, "the start rate");
  if (start > peak) throw ValueError("schedule", "the start rate is above the peak");
  warmup = std::max<Index>(warmup, 1);
  return {"inverse_sqrt: warmup " + std::to_string(warmup) + ", start " + text(start), warmup,
          [=, w = static_cast<double>(warmup)](double s) {
            return s < w ? start + s * (peak - start) / w : peak * std::sqrt(w / s);
          }};
}

Schedule cosine_schedule(double peak, Index warmup, Index total, double floor) {
  require_rate(peak, "the peak rate");
  require_steps(warmup, "warmup");
  require_rate(floor, "the floor");
  if (total <= warmup) throw ValueError("schedule", "cosine needs more steps than its warm-up");
  if (floor > peak) throw ValueError("schedule", "the floor is above the peak rate");
  return {"cosine: warmup " + std::to_string(warmup) + ", total " + std::to_string(total) +
              ", floor " + text(floor),
          std::max<Index>(warmup, 1),
          [=, w = static_cast<double>(warmup), n = static_cast<double>(total)](double s) {
            if (s <= w) return peak * s / w;
            if (s > n) return floor;
            double part = (s - w) / (n - w);
            return floor + 0.5 * (peak - floor) * (1 + portable::cos(std::numbers::pi * part));
          }};
}

Schedule constant_schedule(double rate) {
  require_rate(rate, "the rate");
  return {"constant", 1, [rate](double) { return rate; }};
}

}  // namespace glim

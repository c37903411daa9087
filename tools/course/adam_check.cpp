#include "tools/course/adam_check.hpp"

#include <cmath>
#include <fmt/format.h>
#include <limits>

#include "tensor/print.hpp"
#include "tensor/random.hpp"

namespace glim::course {
namespace {

constexpr double kBeta1 = 0.9, kBeta2 = 0.98, kEps = 1e-9;

double average(double beta, double old, double x) { return beta * old + (1 - beta) * x; }

struct At {
  double p, g, m, v, t, rate;  // m and v are those of the step before
  double new_m = average(kBeta1, m, g), new_v = average(kBeta2, v, g*g);
  double c1 = 1 - std::pow(kBeta1, t), c2 = 1 - std::pow(kBeta2, t);  // of the bias
  double mean = new_m / c1, square = new_v / c2;
  double moved(double with_mean, double with_square, double eps = kEps) const {
    return p - rate * with_mean / (std::sqrt(with_square) + eps);
  }
  double moved_at(double step) const {
    return moved(new_m / (1 - std::pow(kBeta1, step)), new_v / (1 - std::pow(kBeta2, step)));
  }
};
struct Rate {
  double t, d, steps;  // of warm_up
  double root = 1 / std::sqrt(d), late = 1 / std::sqrt(t), early = t * std::pow(steps, -1.5);
};

template <class Values>
struct Slip {
  const char* name;
  double (*value)(const Values&);
};

// The first of each list is right.
// clang-format off
const std::vector<Slip<At>> kM = {
  {"", [](const At& a) { return a.new_m; }},
  {"m is not updated", [](const At& a) { return a.m; }},
  {"m is the gradient alone", [](const At& a) { return a.g; }},
  {"m has β₂ in place of β₁", [](const At& a) { return average(kBeta2, a.m, a.g); }},
  {"m has β₁ and 1 - β₁ exchanged", [](const At& a) { return average(1 - kBeta1, a.m, a.g); }},
  {"m has the gradient without 1 - β₁", [](const At& a) { return kBeta1 * a.m + a.g; }},
  {"m has the old m without β₁", [](const At& a) { return a.m + (1 - kBeta1) * a.g; }},
  {"m has the square of the gradient", [](const At& a) { return average(kBeta1, a.m, a.g * a.g); }},
  {"m is averaged with v", [](const At& a) { return average(kBeta1, a.v, a.g); }},
  {"m has the wrong sign", [](const At& a) { return kBeta1 * a.m - (1 - kBeta1) * a.g; }},
  {"m is returned with its bias corrected", [](const At& a) { return a.mean; }},
  {"v is returned in place of m", [](const At& a) { return a.new_v; }},
};
const std::vector<Slip<At>> kV = {
  {"", [](const At& a) { return a.new_v; }},
  {"v is not updated", [](const At& a) { return a.v; }},
  {"v has β₁ in place of β₂", [](const At& a) { return average(kBeta1, a.v, a.g * a.g); }},
  {"v has β₂ = 0.999, expected 0.98", [](const At& a) { return average(0.999, a.v, a.g * a.g); }},
  {"v has β₂ and 1 - β₂ exchanged", [](const At& a) { return average(1 - kBeta2, a.v, a.g * a.g); }},
  {"v has the gradient without its square", [](const At& a) { return average(kBeta2, a.v, a.g); }},
  {"v has |gradient| in place of its square", [](const At& a) { return average(kBeta2, a.v, std::abs(a.g)); }},
  {"v has the gradient without 1 - β₂", [](const At& a) { return kBeta2 * a.v + a.g * a.g; }},
  {"v has the old v without β₂", [](const At& a) { return a.v + (1 - kBeta2) * a.g * a.g; }},
  {"v has the square of 1 - β₂ too", [](const At& a) { return kBeta2 * a.v + std::pow((1 - kBeta2) * a.g, 2); }},
  {"v has the square of m", [](const At& a) { return average(kBeta2, a.v, a.new_m * a.new_m); }},
  {"v is averaged with m", [](const At& a) { return average(kBeta2, a.m, a.g * a.g); }},
  {"v is returned with its bias corrected", [](const At& a) { return a.square; }},
  {"v is returned as its root", [](const At& a) { return std::sqrt(a.new_v); }},
  {"m is returned in place of v", [](const At& a) { return a.new_m; }},
};
const std::vector<Slip<At>> kParameter = {
  {"", [](const At& a) { return a.moved(a.mean, a.square); }},
  {"the parameter is not updated", [](const At& a) { return a.p; }},
  {"m and v are not divided by 1 - βᵗ (no bias correction)", [](const At& a) { return a.moved(a.new_m, a.new_v); }},
  {"v is not divided by 1 - β₂ᵗ", [](const At& a) { return a.moved(a.mean, a.new_v); }},
  {"m is not divided by 1 - β₁ᵗ", [](const At& a) { return a.moved(a.new_m, a.square); }},
  {"m and v are multiplied by 1 - βᵗ, expected divided", [](const At& a) { return a.moved(a.new_m * a.c1, a.new_v * a.c2); }},
  {"the bias correction is 1 - β, without the power of step", [](const At& a) { return a.moved_at(1); }},
  {"the bias correction is 1 - β step, expected 1 - β to the power of step", [](const At& a) { return a.moved(a.new_m / (1 - kBeta1 * a.t), a.new_v / (1 - kBeta2 * a.t)); }},
  {"the bias correction is βᵗ, expected 1 - βᵗ", [](const At& a) { return a.moved(a.new_m / (1 - a.c1), a.new_v / (1 - a.c2)); }},
  {"step is counted from 0 (step - 1)", [](const At& a) { return a.moved_at(a.t - 1); }},
  {"step is counted from 2 (step + 1)", [](const At& a) { return a.moved_at(a.t + 1); }},
  {"the betas of the bias correction are exchanged", [](const At& a) { return a.moved(a.new_m / a.c2, a.new_v / a.c1); }},
  {"the bias correction of v has β₁ᵗ", [](const At& a) { return a.moved(a.mean, a.new_v / a.c1); }},
  {"the bias correction of m has β₂ᵗ", [](const At& a) { return a.moved(a.new_m / a.c2, a.square); }},
  {"the bias correction of v is outside the root", [](const At& a) { return a.p - a.rate * a.mean / (std::sqrt(a.new_v) / a.c2 + kEps); }},
  {"ε is inside the root", [](const At& a) { return a.moved(a.mean, a.square + kEps, 0); }},
  {"ε is missing", [](const At& a) { return a.moved(a.mean, a.square, 0); }},
  {"ε is 1e-8, expected 1e-9", [](const At& a) { return a.moved(a.mean, a.square, 1e-8); }},
  {"ε is added to √v before its bias is corrected", [](const At& a) { return a.moved(a.mean, a.square, kEps / std::sqrt(a.c2)); }},
  {"the root of v is missing", [](const At& a) { return a.p - a.rate * a.mean / (a.square + kEps); }},
  {"v is missing", [](const At& a) { return a.p - a.rate * a.mean; }},
  {"the gradient is in the place of m", [](const At& a) { return a.moved(a.g, a.square); }},
  {"the rate is missing", [](const At& a) { return a.p - a.mean / (std::sqrt(a.square) + kEps); }},
  {"the wrong sign: the step goes up the gradient", [](const At& a) { return a.moved(-a.mean, a.square); }},
  {"the step is returned without the parameter", [](const At& a) { return a.moved(a.mean, a.square) - a.p; }},
  {"the step reads m and v before their update", [](const At& a) { return a.moved(a.m / a.c1, a.v / a.c2); }},
  {"m is returned in place of the parameter", [](const At& a) { return a.new_m; }},
};
const std::vector<Slip<Rate>> kRate = {
  {"", [](const Rate& r) { return r.root * std::min(r.late, r.early); }},
  {"max in place of min", [](const Rate& r) { return r.root * std::max(r.late, r.early); }},
  {"the exponents -½ and -3/2 are exchanged", [](const Rate& r) { return r.root * std::min(std::pow(r.t, -1.5), r.t / std::sqrt(r.steps)); }},
  {"steps has the exponent -½, expected -3/2", [](const Rate& r) { return r.root * std::min(r.late, r.t / std::sqrt(r.steps)); }},
  {"steps has the exponent -1, expected -3/2", [](const Rate& r) { return r.root * std::min(r.late, r.t / r.steps); }},
  {"steps has the exponent 3/2, expected -3/2", [](const Rate& r) { return r.root * std::min(r.late, r.t * std::pow(r.steps, 1.5)); }},
  {"step has the exponent -3/2, expected -½", [](const Rate& r) { return r.root * std::min(std::pow(r.t, -1.5), r.early); }},
  {"step has the exponent ½, expected -½", [](const Rate& r) { return r.root * std::min(std::sqrt(r.t), r.early); }},
  {"d_model^-½ is missing", [](const Rate& r) { return std::min(r.late, r.early); }},
  {"d_model has the exponent ½, expected -½", [](const Rate& r) { return std::min(r.late, r.early) / r.root; }},
  {"d_model has the exponent -1, expected -½", [](const Rate& r) { return std::min(r.late, r.early) / r.d; }},
  {"d_model^-½ is a factor of the first term alone", [](const Rate& r) { return std::min(r.root * r.late, r.early); }},
  {"the factor step of the second term is missing", [](const Rate& r) { return r.root * std::min(r.late, std::pow(r.steps, -1.5)); }},
  {"the warm-up is missing", [](const Rate& r) { return r.root * r.late; }},
  {"the rate grows for ever: step^-½ is missing", [](const Rate& r) { return r.root * r.early; }},
  {"the sum in place of min", [](const Rate& r) { return r.root * (r.late + r.early); }},
  {"step is counted from 0 (step - 1)", [](const Rate& r) { return r.root * std::min(1 / std::sqrt(r.t - 1), (r.t - 1) * std::pow(r.steps, -1.5)); }},
  {"step is counted from 2 (step + 1)", [](const Rate& r) { return r.root * std::min(1 / std::sqrt(r.t + 1), (r.t + 1) * std::pow(r.steps, -1.5)); }},
};
// clang-format on

// How far a value is from another, relative to what it may be. Values that are both not finite agree.
double off(double is, double expected) {
  if (!std::isfinite(is) && !std::isfinite(expected)) return 0;
  const double d = std::abs(is - expected) / (1e-15 + 1e-9 * std::abs(expected));
  return std::isnan(d) ? std::numeric_limits<double>::infinity() : d;
}

// One output of the student, beside the values that it was computed from.
template <class Values>
class Output {
 public:
  Output(std::string name, const std::vector<Slip<Values>>& slips)
      : name_(std::move(name)), slips_(slips), fits_(slips.size(), true) {}

  void add(const Values& a, double is, const std::string& place) {
    for (std::size_t k = 0; k < slips_.size(); ++k)
      if (fits_[k] && !(off(is, slips_[k].value(a)) <= 1)) fits_[k] = false;
    const double expected = slips_[0].value(a), distance = off(is, expected);
    if (distance <= most_) return;
    most_ = distance;
    worst_ = fmt::format("{}{} is {}, expected {}", name_, place, number_text(is, 8),
                         number_text(expected, 8));
  }
  Found found() const {
    if (most_ <= 1) return {};
    for (std::size_t k = 1; k < slips_.size(); ++k)
      if (fits_[k]) return {slips_[k].name, worst_};
    return {name_ + " is wrong", worst_};
  }

 private:
  std::string name_, worst_;
  const std::vector<Slip<Values>>& slips_;
  std::vector<bool> fits_;
  double most_ = 1;
};

Tensor of(const std::vector<double>& x) { return from_vector(x, {static_cast<Index>(x.size())}); }

}  // namespace

Found check_adam(const Called& adam_step, std::uint64_t seed) {
  const char* const names[] = {"parameter", "m", "v"};
  Output<At> parameter("parameter", kParameter), m("m", kM), v("v", kV);
  for (const double t : {1., 2., 3., 10., 1000.}) {
    const std::uint64_t step = static_cast<std::uint64_t>(t);
    auto drawn = [&](std::uint64_t stream) {
      return normal({6}, 0, 1, {seed, 4 * step + stream}, DType::Float64).to_vector<double>();
    };
    std::vector<double> p = drawn(0), g = drawn(1), old_m = drawn(2), old_v = drawn(3);
    for (double& x : old_v) x *= x;
    g[4] *= 1e-7, old_m[4] *= 1e-7, old_v[4] *= 1e-14;  // ε counts here
    g[5] = old_m[5] = old_v[5] = 0;                     // 0 / ε
    if (t == 1) old_m.assign(6, 0), old_v.assign(6, 0);
    const double rate = 0.1 * (1 + 1 / t);
    const auto y = adam_step({of(p), of(g), of(old_m), of(old_v), scalar(t, DType::Int64),
                              scalar(rate, DType::Float64)});
    if (y.size() != 3)
      return {fmt::format("adam_step returns {} arrays, expected parameter, m, v", y.size()), ""};
    for (std::size_t k = 0; k < 3; ++k)
      if (y[k].shape() != Shape{6})
        return {fmt::format("{} has shape {}, expected (6,)", names[k], to_string(y[k].shape())),
                ""};
    for (Index i = 0; i < 6; ++i) {
      const std::size_t n = static_cast<std::size_t>(i);
      const At a{p[n], g[n], old_m[n], old_v[n], t, rate};
      auto add = [&](Output<At>& output, const Tensor& x) {
        output.add(a, x.to(DType::Float64).to_vector<double>()[n],
                   fmt::format("[{}] at step {}", i, t));
      };
      add(parameter, y[0]), add(m, y[1]), add(v, y[2]);
    }
  }
  // Where m or v is wrong, so is the parameter that is computed from it.
  Found found = m.found();
  if (const Found of_v = v.found(); found.mistake.empty())
    found = of_v;
  else if (!of_v.mistake.empty())
    found.mistake += "; " + of_v.mistake;
  return found.mistake.empty() ? parameter.found() : found;
}

Found check_warm_up(const Called& warm_up) {
  Output<Rate> rate("rate", kRate);
  for (const double d : {32., 512.})
    for (const double t : {2., 50., 99., 100., 101., 400., 1., 10000.}) {
      const auto y =
          warm_up({scalar(t, DType::Int64), scalar(d, DType::Int64), scalar(100, DType::Int64)});
      if (y.size() != 1 || y[0].numel() != 1) return {"warm_up returns no number", ""};
      rate.add({t, d, 100}, y[0].to(DType::Float64).item(),
               fmt::format(" at step {}, d_model {}", t, d));
    }
  return rate.found();
}

}  // namespace glim::course

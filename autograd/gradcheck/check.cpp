// Check::run
//   find_problem                 two runs differ, f writes to its input ...
//   for each input               Full: check_column for each element x_j, which is J_ij of each output i, then (Jᵀu)_j
//                                Projection: check_direction, vᵀJᵀu; if wrong, `along` halves v, down to one element
//   for each of these numbers
//     verdict                    compare with differences; then judge_by_size what atol alone may make right
//     jumps, excuse_by_kink      if wrong: does a kink of several elements explain it?
//     count                      into the input's entry of the report
#include "autograd/gradcheck/check.hpp"

#include <algorithm>
#include <numeric>

#include "autograd/gradcheck/compare.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"

namespace glim::detail {
namespace {

constexpr double kUnlike = 1e3;  // jumps of several elements, or outputs, differ

class Check {
 public:
  Check(const Subject& subject, const GradcheckOptions& options) : subject_(subject) {
    found_.report.function = options.name;
    GradcheckOptions& o = options_ = options;
    bool float32 = false;
    for (std::size_t k = 0; k < subject.values.size(); ++k)
      float32 |= subject.checked(k) && subject.values[k].dtype() == DType::Float32;
    if (!(o.atol >= 0 && o.rtol >= 0) || o.directions < 1)
      throw ValueError("gradcheck", "tolerances may not be negative, directions not below 1");
    if (o.precise && float32)
      throw ValueError("gradcheck", "precise needs float64: float32 has 7 digits");
    evaluate_origin(float32);
    const bool same_dtype = !found_.report.in_float64;
    atol_is_set_ = o.atol > 0;
    if (o.atol == 0) o.atol = o.precise ? 1e-11 : !float32 ? 1e-7 : same_dtype ? 2e-3 : 1e-5;
    if (o.rtol == 0) o.rtol = o.precise ? 1e-10 : !float32 ? 1e-5 : same_dtype ? 1e-2 : 1e-3;
    tolerance_ = {o.atol, o.rtol};
    backward_noise_ = float32 ? 1e-3 : 1e-10;
  }

  Checked run() {
    const Index outputs = std::ssize(origin_.y);
    for (std::size_t k = 0; k < subject_.values.size(); ++k)
      if (full() && subject_.checked(k) && subject_.values[k].numel() * outputs > Index{1} << 24)
        throw ValueError("gradcheck",
                         "the Jacobian of " + options_.name + " by " + subject_.names[k] +
                             " is too large: check random projections of it, mode=\"projected\"");
    found_.report.problem = find_problem();
    if (!found_.report.problem.empty()) return std::move(found_);
    origin_.u = analytic_.u;
    origin_.may_round = options_.may_round;
    for (const std::vector<double>& along_u : analytic_.along_u)
      for (double d : along_u) origin_.noise = std::max(origin_.noise, std::abs(d));
    origin_.noise *= backward_noise_;
    found_.numeric = analytic_.rows;
    for (std::size_t k = 0; k < subject_.values.size(); ++k) {
      if (!subject_.checked(k)) continue;
      const Tensor& x = subject_.values[k];
      found_.report.inputs.push_back({{}, k, subject_.names[k], x.shape(), x.dtype()});
      GradcheckEntry& e = found_.report.inputs.back();
      const Index elements = numel_of(e.shape);
      if (options_.may_round && elements * outputs > 0) find_grainy(k);
      for (Index j = 0; full() && j < elements; ++j) check_column(e, j);
      for (int d = 0; !full() && elements * outputs > 0 && d < options_.directions; ++d)
        check_direction(e, d);
    }
    return std::move(found_);
  }

 private:
  bool full() const { return options_.mode == GradcheckOptions::Mode::Full; }
  Verdict verdict(GradcheckEntry& e, double analytic, Line& line, Index row) const {
    e.rounds = e.rounds || line.grain(row) > 0;
    Verdict v = compare(analytic, line, row, tolerance_, options_.precise);
    if (options_.may_round || !options_.second_order)
      judge_by_size(analytic, line, row, tolerance_.rtol, atol_is_set_, v);
    return v;
  }

  // In float64, if the function takes that.
  void evaluate_origin(bool float32) {
    for (const bool in_float64 : {true, false}) try {
        xs_.clear();
        for (const Tensor& x : subject_.values)
          xs_.push_back((in_float64 && is_floating(x.dtype()) ? x.to(DType::Float64) : x).clone());
        found_.report.in_float64 = in_float64;
        origin_.epsilon = in_float64 ? 0x1p-52 : 0x1p-23;
        Inside inside;
        origin_.y = evaluate(subject_, xs_, &inside);
        origin_.largest_inside = inside.largest;
        recorded_ = inside.differentiates;
        return;
      } catch (const DTypeError&) {
        if (!float32 || !in_float64) throw;
      }
  }

  // Two forwards and two backwards give the same bits, also with another forward between them. Copies of the inputs give
  // the same value as the views, and nobody writes to an input.
  std::string find_problem() {
    const auto runs_alike = [&](bool forward_elsewhere) {
      const Analytic a = analytic(subject_, options_.seed, false, forward_elsewhere);
      return same_doubles(a.y, analytic_.y) && std::equal(a.along_u.begin(), a.along_u.end(),
                                                          analytic_.along_u.begin(), same_doubles);
    };
    std::vector<Tensor> before;
    for (const Tensor& x : subject_.values) before.push_back(x.clone());
    found_.analytic = analytic(subject_, options_.seed, full());
    if (!runs_alike(false) || !same_doubles(origin_.y, evaluate(subject_, xs_)))
      return "is not deterministic: two runs on the same inputs differ";
    if (!runs_alike(true))
      return "reads in its backward what a later forward has changed: a saved value gone stale";
    for (std::size_t k = 0; k < before.size(); ++k)
      if (!same_bits(before[k], subject_.values[k].contiguous()))
        return "writes to its input " + subject_.names[k];
    if (origin_.y.size() != analytic_.y.size())
      return "has another shape on a view than on its copy";
    // In the dtype of the inputs: where they are float32, values in float64 differ by rounding.
    const std::vector<double> on_copies = evaluate(subject_, before);
    for (std::size_t i = 0; i < on_copies.size(); ++i) {
      const double y = analytic_.y[i];
      if (!std::isnan(y) && y != on_copies[i] && !tolerance_.within(y, on_copies[i]))
        return "has another value on the inputs as given than on copies of them";
    }
    return "";
  }

  // f at from + t v, where v is 0 but for elements of one input, from `begin` on.
  Line line(std::size_t input, Index begin, std::vector<double> v, const Tensor& base) const {
    const Shape length{std::ssize(v)};
    auto moving = [&](const Tensor& x) { return narrow(reshape(x, {-1}), 0, begin, length[0]); };
    const Tensor direction = zeros(base.shape(), base.dtype());
    moving(direction).copy_(from_vector(v, length).to(base.dtype()));
    double size = 0;
    for (double x : flatten({moving(base)})) size = std::max(size, std::abs(x));
    return {origin_,
            [this, input, base, direction](double t) {
              std::vector<Tensor> moved = xs_;
              moved[input] = base + t * direction;
              return recorded_ ? evaluate(subject_, moved) : evaluate_unrecorded(subject_, moved);
            },
            size, v.size() > 1};
  }

  // ---- every element of the Jacobian, and Jᵀu ----

  // Which outputs may have a grain? All elements move at once, each by steps of its own size.
  void find_grainy(std::size_t input) {
    const Tensor& x = xs_[input];
    std::vector<double> v =
        flatten({random_like(x.to(DType::Float64), {options_.seed, 5ull << 32 | input})});
    const std::vector<double> size = flatten({x});
    const double largest = std::abs(*std::max_element(
        size.begin(), size.end(), [](double a, double b) { return std::abs(a) < std::abs(b); }));
    for (std::size_t j = 0; j < v.size(); ++j)
      v[j] = std::ldexp(std::nearbyint(std::ldexp(
                            v[j] * std::max(1.0, std::abs(size[j])) / std::max(1.0, largest), 20)),
                        -20);
    origin_.grainy.clear();
    Line all = line(input, 0, v, x);
    if (!full()) {
      origin_.rounds = origin_.rounds || all.grain(Line::kProjected, kUnlike) > 0;
      return;
    }
    std::vector<bool> grainy;
    for (Index row = 0; row < std::ssize(origin_.y); ++row) {
      grainy.push_back(all.grain(row, kUnlike) > 0);
      origin_.rounds = origin_.rounds || grainy.back();
    }
    origin_.grainy = std::move(grainy);
  }

  void check_column(GradcheckEntry& e, Index j) {
    Line center = line(e.input, j, {1}, xs_[e.input]);
    double& error = e.errors.emplace_back(std::nan(""));
    ComparedDerivative found;
    found.index = unravel(e.shape, j);
    double along_u = 0, allowed = 0;
    std::vector<double> jump;  // by output, once one differs
    bool decided = true;
    Index row = 0;
    bool within_atol = false, rounds = false, decisive = false;
    for (const Shape& output : analytic_.output_shapes) {
      for (Index p = 0; p < numel_of(output); ++p, ++row) {
        const auto index = static_cast<std::size_t>(row * numel_of(e.shape) + j);
        found.output_index = unravel(output, p);
        found.analytic = analytic_.rows[e.input][index];
        Verdict v = verdict(e, found.analytic, center, row);
        if (v.kind == Verdict::Wrong && !center.rounds(row)) {
          if (jump.empty()) jump = jumps(e.input, j, center, v.level);
          v.excuse_by_kink(jump[row], found.analytic);
        }
        count(e, found, v);
        within_atol = within_atol || v.within_atol;
        rounds = rounds || v.rounds;
        decisive = decisive || v.decisive;
        if (v.kind != Verdict::Undecidable)
          error = std::fmax(error, v.tolerance.excess(found.analytic, v.numeric));
        found_.numeric[e.input][index] = v.numeric;
        decided = decided && v.kind != Verdict::Undecidable;
        along_u += origin_.u[row] * v.numeric;
        allowed += std::abs(origin_.u[row]) * v.tolerance.allowed(v.numeric);
      }
      ++found.output;
    }
    e.left_open += rounds && !decisive;
    if (!decided || row == 0) return;
    // The numeric side adds up the errors of its terms, and is allowed what they are.
    found.projected = true;
    found.analytic = analytic_.along_u[e.input][j];
    Verdict v = decided_by(found.analytic, along_u, {allowed, 0});
    v.within_atol = within_atol && v.kind == Verdict::Right && !v.decisive;
    count(e, found, v);
  }

  // ---- vᵀJᵀu for random u and v ----

  void check_direction(GradcheckEntry& e, int direction) {
    // Moving every element by h moves x by √n h: the length of v is held at 4, so that the error of cutting off stays
    // that of a single element. It has 20 bits, so that no point is rounded.
    const RandomKey key{options_.seed, static_cast<std::uint64_t>(2 + direction) << 32 | e.input};
    const Tensor random = random_like(xs_[e.input].to(DType::Float64), key);
    std::vector<double> v = flatten({std::min(1.0, 4 / norm(random)) * random});
    for (double& x : v) x = std::ldexp(std::nearbyint(std::ldexp(x, 20)), -20);
    ComparedDerivative found;
    found.projected = true;
    const Verdict whole = along(e, v, 0, std::ssize(v), found);
    count(e, found, whole);
  }

  // Along the elements [begin, end) of v. A wrong range is halved until one element is left: it is wrong, or at a
  // kink, and the others have to be right without it. Kinks of several elements may cancel along a direction, and hide
  // what is wrong elsewhere.
  Verdict along(GradcheckEntry& e, const std::vector<double>& v, Index begin, Index end,
                ComparedDerivative& found) {
    const bool alone = end - begin == 1;
    const std::vector<double> weights =
        alone ? std::vector<double>{1} : std::vector<double>(v.begin() + begin, v.begin() + end);
    Line center = line(e.input, begin, weights, xs_[e.input]);
    ComparedDerivative whole = found;
    whole.index = unravel(e.shape, begin);
    whole.analytic = std::inner_product(weights.begin(), weights.end(),
                                        analytic_.along_u[e.input].begin() + begin, 0.0);
    Verdict result = verdict(e, whole.analytic, center, Line::kProjected);
    if (alone && result.kind == Verdict::Wrong && !center.rounds(Line::kProjected)) {
      double jump = 0;
      const std::vector<double> by_output = jumps(e.input, begin, center, result.level);
      for (std::size_t row = 0; row < by_output.size(); ++row)
        jump += std::abs(origin_.u[row]) * by_output[row];
      result.excuse_by_kink(jump, whole.analytic);
    }
    found = whole;
    if (alone || result.kind == Verdict::Right) return result;
    const Index middle = begin + (end - begin) / 2;
    Verdict half;
    bool kink = false, decisive = false;
    for (const auto& [first, last] : {std::pair(begin, middle), std::pair(middle, end)}) {
      half = along(e, v, first, last, found);
      if (half.kind == Verdict::Wrong) return half;
      if (half.kind == result.kind && !half.kink) return half;  // undecidable
      kink = kink || half.kink;
      decisive = decisive || half.decisive;
    }
    half.decisive = result.decisive = decisive;
    if (!kink && result.kind == Verdict::Undecidable) return half;
    found = whole;
    if (kink) result.at_kink();
    return result;
  }

  // ---- kinks that several elements make; where f rounds, every step would look like one ----

  // By output, how much the derivative by element j changes at once because the point is a kink. The element's own
  // differences show that, or points beside it: where several elements meet at a kink, as three that are equal do in
  // sort, none of them crosses it alone. A change that is as large at a 64th of the distance is no curvature. After eight
  // wrong elements without one, f is smooth here.
  std::vector<double> jumps(std::size_t input, Index j, Line& center, int level) {
    constexpr std::uint64_t kFirst = 6;  // these show whether there is one at all
    constexpr std::uint64_t kAll = 64;
    const double beyond_rounding = found_.report.in_float64 ? 1e-3 : 0.1;
    const int far = std::max(level, center.ordinary()), near = far + 3;
    const Tensor& x = xs_[input];
    std::vector<double> most(origin_.y.size());
    if (smooth_ == 8) return most;
    for (std::size_t row = 0; row < most.size(); ++row)
      most[row] = center.kink(static_cast<Index>(row));
    for (std::uint64_t sample = 0; sample < kAll; ++sample) {
      if (sample == kFirst && *std::max_element(most.begin(), most.end()) == 0) break;
      const Tensor r = random_like(x, {options_.seed, (100 + sample) << 32 | input});
      Line from_far = line(input, j, {1}, x + 16 * center.h(far) * r);
      Line from_near = line(input, j, {1}, x + 16 * center.h(near) * r);
      for (Index row = 0; row < std::ssize(most); ++row) {
        auto change = [&](Line& path, int l) {
          return std::abs(path.central(l, row) - center.central(l, row));
        };
        const double jump = change(from_near, near);
        if (jump > beyond_rounding * (1 + std::abs(center.central(far, row))) &&
            jump > 0.25 * change(from_far, far))
          most[row] = std::max(most[row], jump);
      }
    }
    if (smooth_ >= 0) smooth_ = *std::max_element(most.begin(), most.end()) == 0 ? smooth_ + 1 : -1;
    return most;
  }

  // ---- counts ----

  void count(GradcheckEntry& e, const ComparedDerivative& found, const Verdict& v) const {
    ++e.checked;
    e.decisive += v.decisive;
    if (v.kind == Verdict::Undecidable) {
      ++e.undecidable;
      e.kinks += v.kink;
      e.why_undecidable = v.because;
      return;
    }
    if (v.kind == Verdict::Wrong) {
      ++e.failed;
    } else if (v.within_atol) {
      ++e.within_atol;
    } else {
      e.low_precision += v.low_precision;
      if (v.low_precision) e.why_low_precision = v.because;
      const double error = std::abs(found.analytic - v.numeric) /
                           (tolerance_.atol / tolerance_.rtol + std::abs(v.numeric));
      const double digits = error > 0 ? std::floor(-std::log10(error)) : 17;
      ++e.by_decade[static_cast<std::size_t>(std::clamp(digits, 0.0, 17.0))];
    }
    const double excess = v.tolerance.excess(found.analytic, v.numeric);
    // A single element says more than a combination that it spoils.
    const bool says_less = found.projected && !e.projected && e.excess > 1;
    if (!(excess > e.excess) || says_less) return;
    static_cast<ComparedDerivative&>(e) = found;
    e.numeric = v.numeric;
    e.excess = excess;
  }

  const Subject& subject_;
  Checked found_;
  GradcheckOptions& options_ = found_.report.options;
  const Analytic& analytic_ = found_.analytic;
  Tolerance tolerance_{};
  bool atol_is_set_ = false;  // by the caller
  double backward_noise_;     // relative to the largest derivative
  std::vector<Tensor> xs_;    // copies of the inputs, in the dtype of the numeric side
  Origin origin_;
  int smooth_ = 0;        // wrong elements without a kink; -1 once there was one
  bool recorded_ = true;  // each evaluation is on a tape
};

}  // namespace

Checked check(const Subject& subject, const GradcheckOptions& options) {
  return Check(subject, options).run();
}

}  // namespace glim::detail

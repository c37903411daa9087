// gradcheck: derivatives by backward against derivatives by differences, one by one or along random directions.
#include <algorithm>

#include "autograd/gradcheck/analytic.hpp"
#include "autograd/gradcheck/mistakes/mistakes.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"

namespace glim::detail {
namespace {

constexpr Index kLargestJacobian = Index{1} << 24;

class Check {
 public:
  Check(const Subject& subject, GradcheckOptions options);
  GradcheckReport run();

 private:
  GradcheckOptions& options() { return report_.options; }
  const GradcheckOptions& options() const { return report_.options; }
  bool full() const { return report_.options.mode == GradcheckOptions::Mode::Full; }
  bool float32() const {  // is anything on the analytic side?
    return std::any_of(wanted_.begin(), wanted_.end(),
                       [&](std::size_t k) { return subject_.values[k].dtype() == DType::Float32; });
  }
  void choose_side();
  void choose_tolerance();
  std::string problem();
  double epsilon() const { return report_.in_float64 ? 0x1p-52 : 0x1p-23; }
  Line line(std::size_t i, Index j) const;
  Line line(std::size_t i, const std::vector<double>& v, Index begin, Index end) const;
  double largest();
  Judgement judged(ComparedDerivative& found, Line& line, Index row, Tolerance& held);
  void count(GradcheckEntry& e, const Judgement& judgement, ComparedDerivative found,
             const Tolerance& held);
  std::vector<double> kinks(std::size_t i, Index j, Line& here, int level) const;
  void compare_all();
  void compare_column(std::size_t i, Index j);
  void compare_along(std::size_t i, int direction);
  Index worst_element(std::size_t i, const std::vector<double>& v, int level) const;

  const Subject& subject_;
  GradcheckReport report_;
  Tolerance tolerance_{};
  std::vector<std::size_t> wanted_;  // inputs that are checked
  std::optional<Point> point_;
  std::vector<double> origin_;  // outputs at the point
  Analytic analytic_;
  JacobianPairs jacobians_;        // Full mode
  std::vector<double> u_;          // of all outputs, one after the other
  std::optional<double> largest_;  // Point::largest_inside
};

// The k of 10^-(k+1) < error/of <= 10^-k, as an index of by_decade.
std::size_t decade(double error, double of) {
  const double k = error > 0 ? std::floor(-std::log10(error / of)) : 17;
  return static_cast<std::size_t>(std::clamp(k, 0.0, 17.0));
}

Check::Check(const Subject& subject, GradcheckOptions options) : subject_(subject) {
  report_.function = options.name;
  report_.options = std::move(options);
  for (std::size_t k = 0; k < subject.values.size(); ++k)
    if (subject.checked[k]) wanted_.push_back(k);
  if (wanted_.empty())
    throw ValueError("gradcheck", report_.function + " has no input of a floating dtype to check");
  choose_side();
  choose_tolerance();
}

// float32 is compared with float64 if the function takes that.
void Check::choose_side() {
  report_.in_float64 =
      !float32() || options().differences == GradcheckOptions::Differences::Float64;
  point_.emplace(subject_, report_.in_float64);
  try {
    origin_ = point_->evaluate();
  } catch (const DTypeError&) {
    if (!float32() || !report_.in_float64) throw;
    report_.in_float64 = false;
    point_.emplace(subject_, false);
    origin_ = point_->evaluate();
  }
}

void Check::choose_tolerance() {
  GradcheckOptions& o = options();
  if (!(o.atol >= 0 && o.rtol >= 0) || o.directions < 1)
    throw ValueError("gradcheck", "tolerances may not be negative, directions not below 1");
  if (o.precise && float32())
    throw ValueError("gradcheck", "precise needs float64: float32 has 7 digits");
  const bool own = float32() && !report_.in_float64;
  if (o.atol == 0) o.atol = o.precise ? 1e-11 : !float32() ? 1e-7 : own ? 2e-3 : 1e-5;
  if (o.rtol == 0) o.rtol = o.precise ? 1e-10 : !float32() ? 1e-5 : own ? 1e-2 : 1e-3;
  tolerance_ = {o.atol, o.rtol};
}

// Two forwards and two backwards give the same bits, also with another forward between them; the copies
// give the same value as the views, and nobody writes to an input.
std::string Check::problem() {
  std::vector<Tensor> before;
  for (const Tensor& x : subject_.values) before.push_back(x.clone());
  const std::uint64_t seed = options().seed;
  analytic_ = analytic(subject_, seed, full());
  report_.deterministic =
      analytic_ == analytic(subject_, seed) && same_doubles(origin_, point_->evaluate());
  if (!report_.deterministic) return "is not deterministic: two runs on the same inputs differ";
  if (!(analytic_ == analytic(subject_, seed, false, true)))
    return "reads in its backward what a later forward has changed: a saved value gone stale";
  for (std::size_t k = 0; k < before.size(); ++k)
    if (!same_bits(before[k], subject_.values[k].contiguous()))
      return "writes to its input " + subject_.names[k];
  if (origin_.size() != analytic_.values.size())
    return "has another shape on a view than on its copy";
  for (std::size_t i = 0; i < origin_.size(); ++i) {
    const double here = analytic_.values[i];
    if (!std::isnan(here) && here != origin_[i] && !tolerance_.within(here, origin_[i]))
      return "has another value on the inputs as given than on copies of them";
  }
  return "";
}

GradcheckReport Check::run() {
  const auto outputs = static_cast<Index>(origin_.size());
  for (std::size_t k : wanted_)
    if (full() && outputs > 0 && subject_.values[k].numel() > kLargestJacobian / outputs)
      throw ValueError("gradcheck", "the Jacobian of " + report_.function + " by " +
                                        subject_.names[k] +
                                        " is too large for the full mode: use Projection");
  report_.problem = problem();
  if (!report_.problem.empty()) return std::move(report_);
  for (std::size_t k : wanted_) {
    GradcheckEntry& e = report_.inputs.emplace_back();
    e.input = k;
    e.name = subject_.names[k];
    e.shape = subject_.values[k].shape();
    e.dtype = subject_.values[k].dtype();
  }
  for (std::size_t o = 0; o < analytic_.output_shapes.size(); ++o)
    for (Index i = 0; i < numel_of(analytic_.output_shapes[o]); ++i)
      u_.push_back(signed_random(upstream_key(options().seed, o), i));
  if (full()) {
    compare_all();
    return std::move(report_);
  }
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    const Index n = point_->numel(wanted_[i]);
    for (int d = 0; d < options().directions && n > 0 && outputs > 0; ++d) compare_along(i, d);
  }
  return std::move(report_);
}

// ---- one derivative ----

// Along element j of input i.
Line Check::line(std::size_t i, Index j) const {
  const std::size_t input = wanted_[i];
  const double x = point_->element(input, j);
  return {[this, input, j, x](double t) {
            point_->set(input, j, x + t);
            std::vector<double> y = point_->evaluate();
            point_->set(input, j, x);
            return y;
          },
          origin_, std::abs(x), epsilon(), u_};
}

// Along v, restricted to elements [begin, end) of input i.
Line Check::line(std::size_t i, const std::vector<double>& v, Index begin, Index end) const {
  const std::size_t input = wanted_[i];
  std::vector<double> x;
  double size = 0;
  for (Index j = begin; j < end; ++j) {
    x.push_back(point_->element(input, j));
    size = std::max(size, std::abs(x.back()));
  }
  return {[this, input, &v, begin, x = std::move(x)](double t) {
            for (std::size_t j = 0; j < x.size(); ++j)
              point_->set(input, begin + static_cast<Index>(j), x[j] + t * v[begin + j]);
            std::vector<double> y = point_->evaluate();
            for (std::size_t j = 0; j < x.size(); ++j)
              point_->set(input, begin + static_cast<Index>(j), x[j]);
            return y;
          },
          origin_,
          size,
          epsilon(),
          u_,
          true};
}

double Check::largest() {
  if (!largest_) largest_ = point_->largest_inside();
  return *largest_;
}

// `held` becomes the tolerance that was held: what no step makes precise is compared in the ordinary way.
Judgement Check::judged(ComparedDerivative& found, Line& line, Index row, Tolerance& held) {
  held = tolerance_;
  const auto inside = [this] { return largest(); };
  Judgement j = judge(found.analytic, line, row, held, options().precise, inside);
  found.coarse_because.clear();
  if (options().precise && j.verdict == Verdict::Undecidable && !j.kink) {
    held = kOrdinary;
    found.coarse_because = j.because;
    j = judge(found.analytic, line, row, held, false, inside);
  }
  found.numeric = j.numeric;
  return j;
}

void Check::count(GradcheckEntry& e, const Judgement& judgement, ComparedDerivative found,
                  const Tolerance& held) {
  ++e.checked;
  if (judgement.verdict == Verdict::Undecidable) {
    ++e.undecidable;
    e.kinks += judgement.kink;
    e.why_undecidable = judgement.because;
    return;
  }
  const double allowed = held.allowed(found.numeric);
  if (judgement.verdict == Verdict::Differs) {
    ++e.failed;
  } else {
    // One that is missing or of the other sign would have differed.
    if (std::abs(found.numeric) > 4 * allowed) ++e.telling;
    if (!found.coarse_because.empty()) {
      ++e.coarse;
      e.why_coarse = found.coarse_because;
    }
    ++e.by_decade[decade(std::abs(found.analytic - found.numeric),
                         tolerance_.atol / tolerance_.rtol + std::abs(found.numeric))];
  }
  found.excess = held.excess(found.analytic, found.numeric);
  // A single element says more than a combination that it spoils.
  const bool says_less = found.projected && !e.projected && e.excess > 1;
  if (!(found.excess > e.excess) || says_less) return;
  found.absolute = std::abs(found.analytic - found.numeric);
  const double larger = std::max(std::abs(found.analytic), std::abs(found.numeric));
  found.relative = larger > 0 ? found.absolute / larger : found.absolute;
  static_cast<ComparedDerivative&>(e) = found;
}

// By output, how far a derivative by element j may be from the central difference because the point is a kink. The
// element's own differences show that, or points beside it: where several elements meet at a kink, as three that are
// equal do in sort, none of them crosses it alone. A change that is as large at a 64th of the distance is no curvature.
std::vector<double> Check::kinks(std::size_t i, Index j, Line& here, int level) const {
  constexpr std::uint64_t kBeside = 64,
                          kFirst = 6;  // the first few show whether there is one at all
  const std::size_t input = wanted_[i];
  const double jump = report_.in_float64 ? 1e-3 : 0.1;  // beyond rounding
  std::vector<double> x, excused;
  for (Index k = 0; k < point_->numel(input); ++k) x.push_back(point_->element(input, k));
  for (Index row = 0; row < std::ssize(origin_); ++row) excused.push_back(here.kink(row));
  for (std::uint64_t beside = 0; beside < kBeside; ++beside) {
    if (beside == kFirst && *std::max_element(excused.begin(), excused.end()) == 0) break;
    std::optional<Line> there[2];
    for (int nearer : {0, 1}) {
      const double distance = 16 * here.h(level + 3 * nearer);
      point_->move_all(input, [&](Index k) {
        return distance * signed_random({options().seed, (100 + beside) << 32 | i}, k);
      });
      there[nearer].emplace(line(i, j)).at(level + 3 * nearer, 1, 0);
      there[nearer]->at(level + 3 * nearer, -1, 0);
      for (Index k = 0; k < point_->numel(input); ++k) point_->set(input, k, x[k]);
    }
    for (Index row = 0; row < std::ssize(origin_); ++row) {
      auto change = [&](int nearer) {
        const int at = level + 3 * nearer;
        return std::abs(there[nearer]->central(at, row) - here.central(at, row));
      };
      if (change(1) > jump * (1 + std::abs(here.central(level, row))) &&
          change(1) > 0.25 * change(0))
        excused[row] = std::max(excused[row], change(1));
    }
  }
  return excused;
}

// ---- every element of the Jacobian, and Jᵀu ----

void Check::compare_all() {
  jacobians_.y = analytic_.values;
  jacobians_.output =
      analytic_.output_shapes.size() == 1 ? analytic_.output_shapes[0] : Shape{std::ssize(origin_)};
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    const GradcheckEntry& e = report_.inputs[i];
    const std::vector<double>& rows = analytic_.rows[i];
    jacobians_.inputs.push_back({e.name, e.shape, {}, rows, std::vector<double>(rows.size())});
    for (Index j = 0; j < numel_of(e.shape); ++j)
      jacobians_.inputs[i].x.push_back(point_->element(wanted_[i], j));
    for (Index j = 0; j < numel_of(e.shape); ++j) compare_column(i, j);
  }
  // A derivative that no difference decides fits no name.
  for (std::size_t i = 0; i < wanted_.size(); ++i)
    if (GradcheckEntry& e = report_.inputs[i]; e.failed && !e.undecidable)
      e.mistake = likely_mistake(jacobians_, i, float32() ? 1e-2 : 1e-5);
}

void Check::compare_column(std::size_t i, Index j) {
  GradcheckEntry& entry = report_.inputs[i];
  JacobianPair& pair = jacobians_.inputs[i];
  const Index n = numel_of(entry.shape);
  Line along = line(i, j);
  ComparedDerivative found;
  found.index = unravel(entry.shape, j);
  double numeric_along_u = 0, analytic_along_u = 0, allowed = 0;
  std::vector<double> excused;  // by output, once one differs
  bool decided = true;
  Index row = 0;
  for (std::size_t o = 0; o < analytic_.output_shapes.size(); ++o) {
    found.output = o;
    for (Index p = 0; p < numel_of(analytic_.output_shapes[o]); ++p, ++row) {
      found.output_index = unravel(analytic_.output_shapes[o], p);
      found.analytic = pair.analytic[static_cast<std::size_t>(row * n + j)];
      Tolerance held;
      Judgement judgement = judged(found, along, row, held);
      if (judgement.verdict == Verdict::Differs) {
        if (excused.empty())
          excused = kinks(i, j, along, std::max(judgement.level, along.ordinary()));
        if (excused[row] > 0 &&
            std::abs(found.analytic - found.numeric) <= excused[row] + held.atol)
          judgement = {Verdict::Undecidable, found.numeric, judgement.level, "a kink", true};
      }
      count(entry, judgement, found, held);
      pair.numeric[static_cast<std::size_t>(row * n + j)] = found.numeric;
      decided = decided && judgement.verdict != Verdict::Undecidable;
      numeric_along_u += u_[row] * found.numeric;
      analytic_along_u += u_[row] * found.analytic;
      allowed += std::abs(u_[row]) * held.allowed(found.numeric);
    }
  }
  const double backward = analytic_.along_u[i][j];
  pair.linear = pair.linear && std::abs(backward - analytic_along_u) <=
                                   allowed + 1e-5 * std::abs(analytic_along_u);
  if (!decided || origin_.empty()) return;
  // The numeric side adds up the errors of its parts, and is allowed what they are.
  found.projected = true;
  found.coarse_because.clear();
  found.analytic = backward;
  found.numeric = numeric_along_u;
  const Tolerance together{allowed, 0};
  Judgement judgement;
  judgement.verdict =
      together.within(backward, numeric_along_u) ? Verdict::Agrees : Verdict::Differs;
  count(entry, judgement, found, together);
}

// ---- vᵀJᵀu for random u and v ----

// The half of the direction that disagrees more, or has the larger kink, until one element is left.
Index Check::worst_element(std::size_t i, const std::vector<double>& v, int level) const {
  Index begin = 0, end = std::ssize(v);
  auto error = [&](Index from, Index to) {
    double sent = 0;
    for (Index j = from; j < to; ++j) sent += v[j] * analytic_.along_u[i][j];
    Line part = line(i, v, from, to);
    const double e =
        std::abs(sent - part.central(level, Line::kAlong)) + part.gap(level, Line::kAlong);
    return std::isfinite(e) ? e : std::numeric_limits<double>::infinity();
  };
  while (end - begin > 1) {
    const Index middle = begin + (end - begin) / 2;
    (error(begin, middle) >= error(middle, end) ? end : begin) = middle;
  }
  return begin;
}

void Check::compare_along(std::size_t i, int direction) {
  GradcheckEntry& entry = report_.inputs[i];
  // Moving every element by h moves x by √n h: the length of v is held at 4, so that the error of cutting off
  // stays that of a single element. It has 20 bits, so that no point is rounded.
  std::vector<double> v;
  double squares = 0;
  for (Index j = 0; j < numel_of(entry.shape); ++j) {
    v.push_back(
        signed_random({options().seed, static_cast<std::uint64_t>(2 + direction) << 32 | i}, j));
    squares += v.back() * v.back();
  }
  for (double& e : v)
    e = std::ldexp(std::nearbyint(std::ldexp(e * std::min(1.0, 4 / std::sqrt(squares)), 20)), -20);
  ComparedDerivative found;
  found.projected = true;
  Tolerance held;
  Judgement judgement;
  bool left_out = false;
  // An element at a kink that excuses its own part of the difference is left out: along a direction
  // the kinks of several may cancel, and hide what shows them; and one excuses what is wrong elsewhere.
  while (true) {
    found.analytic = 0;
    for (std::size_t j = 0; j < v.size(); ++j) found.analytic += v[j] * analytic_.along_u[i][j];
    Line whole = line(i, v, 0, std::ssize(v));
    judgement = judged(found, whole, Line::kAlong, held);
    if (judgement.verdict == Verdict::Agrees) break;
    const Index j = worst_element(i, v, std::max(judgement.level, whole.ordinary()));
    found.index = unravel(entry.shape, j);
    if (v[j] == 0) break;
    ComparedDerivative alone = found;
    alone.analytic = analytic_.along_u[i][j];
    Line element = line(i, j);
    Tolerance held_alone;
    Judgement one = judged(alone, element, Line::kAlong, held_alone);
    double kink = one.kink ? std::numeric_limits<double>::infinity() : 0;
    if (one.verdict == Verdict::Differs) {
      const std::vector<double> excused =
          kinks(i, j, element, std::max(one.level, element.ordinary()));
      for (std::size_t row = 0; row < u_.size(); ++row) kink += std::abs(u_[row]) * excused[row];
    }
    if (!(kink > 0 && std::abs(alone.analytic - alone.numeric) <= kink + held_alone.atol)) {
      if (one.verdict == Verdict::Differs) {
        judgement = one;
        found = alone;
        held = held_alone;
      }
      break;
    }
    v[j] = 0;
    left_out = true;
  }
  if (left_out && judgement.verdict == Verdict::Agrees) {
    entry.telling += std::abs(found.numeric) > 4 * held.allowed(found.numeric);
    judgement = {Verdict::Undecidable, found.numeric, judgement.level, "a kink", true};
  }
  count(entry, judgement, found, held);
}

}  // namespace

GradcheckReport compare(const Subject& subject, const GradcheckOptions& options) {
  return Check(subject, options).run();
}

}  // namespace glim::detail

// The check of one subject, from its values to the report.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>

#include "autograd/gradcheck/mistakes.hpp"
#include "autograd/gradcheck/numeric.hpp"
#include "autograd/tape.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"

namespace glim::detail {
namespace {

constexpr Index kLargestJacobian = Index{1} << 24;
constexpr Index kSmallJacobian = Index{1} << 14;
// Points beside another at which a kink is looked for; the first few show whether there is one at all.
constexpr std::uint64_t kBeside = 64, kFirstBeside = 6;

double epsilon_of(bool in_float64) { return in_float64 ? 0x1p-52 : 0x1p-23; }

bool same_doubles(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

// 1 at element i, zeros elsewhere.
Tensor unit(const Var& y, Index i) {
  Tensor e = zeros(y.shape(), y.dtype());
  narrow(reshape(e, {-1}), 0, i, 1).fill_(1);
  return e;
}

// The k of 10^-(k+1) < error/of <= 10^-k, as an index of by_decade.
std::size_t decade(double error, double of) {
  const double k = error > 0 ? std::floor(-std::log10(error / of)) : 17;
  return static_cast<std::size_t>(std::clamp(k, 0.0, 17.0));
}

struct Recording {
  bool rows = false;
  bool forward_elsewhere = false;  // of other values, before backward
};

class Check {
 public:
  Check(const Subject& subject, GradcheckOptions options) : subject_(subject) {
    report_.function = options.name;
    report_.options = std::move(options);
    for (std::size_t k = 0; k < subject.values.size(); ++k)
      if (subject.checked[k]) wanted_.push_back(k);
    if (wanted_.empty())
      throw ValueError("gradcheck",
                       report_.function + " has no input of a floating dtype to check");
    choose_side();
    choose_tolerance();
  }

  GradcheckReport run() {
    if (!same_twice()) return std::move(report_);
    for (std::size_t k : wanted_) {
      GradcheckEntry e;
      e.input = k;
      e.name = subject_.names[k];
      e.shape = subject_.values[k].shape();
      e.dtype = subject_.values[k].dtype();
      report_.inputs.push_back(std::move(e));
    }
    for (std::size_t o = 0; o < recorded_.output_shapes.size(); ++o)
      for (Index i = 0; i < numel_of(recorded_.output_shapes[o]); ++i)
        u_.push_back(signed_random(key(1, o), i));
    if (report_.options.mode == GradcheckOptions::Mode::Full)
      full();
    else
      projections();
    return std::move(report_);
  }

 private:
  struct Recorded {  // of one run on a tape
    std::vector<double> values;
    std::vector<std::vector<double>> along_u;  // Jᵀu by input
    std::vector<std::vector<double>> rows;     // J by input, row-major; Full mode
    std::vector<Shape> output_shapes;
    bool operator!=(const Recorded& o) const {
      bool same = same_doubles(values, o.values);
      for (std::size_t i = 0; i < along_u.size(); ++i)
        same = same && same_doubles(along_u[i], o.along_u[i]);
      return !same;
    }
  };

  GradcheckOptions& options() { return report_.options; }
  const GradcheckOptions& options() const { return report_.options; }
  RandomKey key(std::uint64_t purpose, std::size_t which) const {
    return {report_.options.seed, purpose << 32 | which};
  }
  bool coarse() const {  // is anything float32 on the analytic side?
    return std::any_of(wanted_.begin(), wanted_.end(),
                       [&](std::size_t k) { return subject_.values[k].dtype() == DType::Float32; });
  }

  // float32 is compared with float64 if the function takes that.
  void choose_side() {
    report_.in_float64 =
        !coarse() || options().differences == GradcheckOptions::Differences::Float64;
    near_.emplace(subject_, report_.in_float64);
    try {
      origin_ = near_->evaluate();
    } catch (const DTypeError&) {
      if (!coarse() || !report_.in_float64) throw;
      report_.in_float64 = false;
      near_.emplace(subject_, false);
      origin_ = near_->evaluate();
    }
  }

  void choose_tolerance() {
    GradcheckOptions& o = options();
    if (!(o.atol >= 0 && o.rtol >= 0 && o.step >= 0) || o.directions < 1)
      throw ValueError("gradcheck",
                       "tolerances and step may not be negative, directions not below 1");
    if (o.precise && coarse())
      throw ValueError("gradcheck", "precise needs float64: float32 has 7 digits");
    bool own = coarse() && !report_.in_float64;
    ordinary_ = {1e-7, 1e-5};
    if (o.precise) {
      if (o.atol == 0) o.atol = 1e-11;
      if (o.rtol == 0) o.rtol = 1e-10;
      if (o.step == 0) o.step = 0x1p-6;
    }
    if (o.atol == 0) o.atol = !coarse() ? 1e-7 : own ? 2e-3 : 1e-5;
    if (o.rtol == 0) o.rtol = !coarse() ? 1e-5 : own ? 1e-2 : 1e-3;
    if (o.step == 0) o.step = std::cbrt(epsilon_of(report_.in_float64));
    tolerance_ = {o.atol, o.rtol};
  }

  // Two forwards and two backwards give the same bits, also with another forward between them; the copies
  // give the same value as the views, and nobody writes to an input.
  bool same_twice() {
    std::vector<Tensor> before;
    for (const Tensor& x : subject_.values) before.push_back(x.clone());
    recorded_ = record();
    const Recorded again = record();
    if (recorded_ != again || !same_doubles(origin_, near_->evaluate())) {
      report_.deterministic = false;
      report_.problem = "is not deterministic: two runs on the same inputs differ";
      return false;
    }
    if (recorded_ != record({.forward_elsewhere = true})) {
      report_.problem =
          "reads in its backward what a later forward has changed: a saved value gone stale";
      return false;
    }
    for (std::size_t k = 0; k < before.size(); ++k)
      if (!same_bits(before[k], subject_.values[k].contiguous())) {
        report_.problem = "writes to its input " + subject_.names[k];
        return false;
      }
    if (origin_.size() != recorded_.values.size()) {
      report_.problem = "has another shape on a view than on its copy";
      return false;
    }
    for (std::size_t i = 0; i < origin_.size(); ++i) {
      if (tolerance_.within(recorded_.values[i], origin_[i])) continue;
      if (std::isnan(recorded_.values[i]) || recorded_.values[i] == origin_[i]) continue;
      report_.problem = "has another value on the inputs as given than on copies of them";
      return false;
    }
    return true;
  }

  // u for output o: the same whatever runs.
  Tensor upstream(const Var& y, std::size_t o) const { return random_like(y.value(), key(1, o)); }

  Recorded record(Recording how = {}) const {
    SameRandom same;
    Tape tape;
    std::vector<Var> xs;
    std::vector<Var> ys = subject_.run(subject_.values, xs, true);
    std::vector<Var> leaves;
    for (std::size_t k : wanted_) leaves.push_back(xs[k]);
    Recorded r;
    r.values = flatten(ys);
    std::optional<Neighbourhood> elsewhere;
    if (how.forward_elsewhere) {
      elsewhere.emplace(forward_elsewhere());
      // A closure's leaves hold what it ran with last.
      for (std::size_t i = 0; i < wanted_.size(); ++i)
        leaves[i].leaf().value = subject_.values[wanted_[i]];
    }
    r.along_u.resize(wanted_.size());
    for (std::size_t i = 0; i < wanted_.size(); ++i)
      r.along_u[i].assign(static_cast<std::size_t>(leaves[i].numel()), 0.0);
    for (std::size_t o = 0; o < ys.size(); ++o) {
      r.output_shapes.push_back(ys[o].shape());
      std::vector<Var> d = tape.grad(ys[o], leaves, upstream(ys[o], o), {.retain = true});
      for (std::size_t i = 0; i < d.size(); ++i) {
        std::vector<double> part = flatten({d[i]});
        for (std::size_t j = 0; j < part.size(); ++j) r.along_u[i][j] += part[j];
      }
    }
    if (!how.rows) return r;
    r.rows.resize(wanted_.size());
    for (const Var& y : ys)
      for (Index row = 0; row < y.numel(); ++row) {
        std::vector<Var> d = tape.grad(y, leaves, unit(y, row), {.retain = true});
        for (std::size_t i = 0; i < d.size(); ++i) {
          std::vector<double> part = flatten({d[i]});
          r.rows[i].insert(r.rows[i].end(), part.begin(), part.end());
        }
      }
    return r;
  }

  // A forward with every element moved. Its copies live on: what it left behind may be views of them.
  Neighbourhood forward_elsewhere() const {
    Neighbourhood there(subject_, !coarse());
    for (std::size_t k : wanted_)
      for (Index j = 0; j < there.numel(k); ++j) {
        const double x = there.element(k, j);
        there.set(k, j, x + 0x1p-6 * std::max(1.0, std::abs(x)));
      }
    there.evaluate();
    return there;
  }

  double step_at(double x, int level) const {
    return report_.options.step * std::max(1.0, std::abs(x)) /
           std::pow(refinement(report_.in_float64), level);
  }

  int pairs() const { return report_.options.precise ? 4 : 1; }

  // All outputs on both sides of one element.
  struct Column {
    double h;
    std::vector<std::vector<double>> minus, plus;
  };
  Column column(std::size_t input, Index j, int level) const {
    double x = near_->element(input, j), h = step_at(x, level);
    near_->set(input, j, x + h);
    h = near_->element(input, j) - x;  // as it was rounded
    Column c{h, {}, {}};
    for (int k = 1; k <= pairs(); ++k) {
      near_->set(input, j, x + k * h);
      c.plus.push_back(near_->evaluate());
      near_->set(input, j, x - k * h);
      c.minus.push_back(near_->evaluate());
    }
    near_->set(input, j, x);
    return c;
  }
  Probe probe_of(const Column& c, std::size_t row) const {
    Probe p{c.h, origin_[row], {}, {}, std::abs(origin_[row])};
    for (int k = 0; k < pairs(); ++k) {
      p.minus.push_back(c.minus[k][row]);
      p.plus.push_back(c.plus[k][row]);
      p.scale = std::max({p.scale, std::abs(p.minus[k]), std::abs(p.plus[k])});
    }
    return p;
  }

  void note(GradcheckEntry& e, Verdict verdict, ComparedDerivative found,
            const Tolerance& tolerance) const {
    ++e.checked;
    if (options().precise && tolerance.rtol == ordinary_.rtol && verdict == Verdict::Agrees)
      ++e.coarse;
    if (verdict == Verdict::Undecidable) {
      ++e.undecidable;
      return;
    }
    if (verdict == Verdict::Differs) ++e.failed;
    found.excess = tolerance.excess(found.analytic, found.numeric);
    if (verdict == Verdict::Agrees)
      ++e.by_decade[decade(std::abs(found.analytic - found.numeric),
                           tolerance_.atol / tolerance_.rtol + std::abs(found.numeric))];
    // A single element says more than a combination that it spoils.
    bool says_less = found.projected && !e.projected && e.excess > 1;
    if (!(found.excess > e.excess) || says_less) return;
    found.absolute = std::abs(found.analytic - found.numeric);
    double larger = std::max(std::abs(found.analytic), std::abs(found.numeric));
    found.relative = larger > 0 ? found.absolute / larger : found.absolute;
    static_cast<ComparedDerivative&>(e) = found;
  }

  // `tolerance` becomes the one that was held.
  Verdict judged(ComparedDerivative& found, const std::function<Probe(int level)>& probe,
                 Tolerance& tolerance) const {
    double epsilon = epsilon_of(report_.in_float64);
    tolerance = tolerance_;
    if (!options().precise) return judge(found.analytic, probe, tolerance, epsilon, found.numeric);
    if (auto numeric = precise_derivative(probe, tolerance, epsilon)) {
      found.numeric = *numeric;
      return tolerance.within(found.analytic, *numeric) ? Verdict::Agrees : Verdict::Differs;
    }
    tolerance = ordinary_;
    return judge(
        found.analytic, [&](int level) { return probe(kPreciseLevels + level); }, tolerance,
        epsilon, found.numeric);
  }

  void full() {
    auto outputs = static_cast<Index>(origin_.size());
    for (std::size_t k : wanted_)
      if (outputs > 0 && subject_.values[k].numel() > kLargestJacobian / outputs)
        throw ValueError("gradcheck", "the Jacobian of " + report_.function + " by " +
                                          subject_.names[k] +
                                          " is too large for the full mode: use Projection");
    recorded_ = record({.rows = true});
    jacobians_.y = recorded_.values;
    jacobians_.output =
        recorded_.output_shapes.size() == 1 ? recorded_.output_shapes[0] : Shape{outputs};
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      const GradcheckEntry& e = report_.inputs[i];
      jacobians_.inputs.push_back(
          {e.name, e.shape, {}, recorded_.rows[i], std::vector<double>(recorded_.rows[i].size())});
      for (Index j = 0; j < near_->numel(wanted_[i]); ++j)
        jacobians_.inputs[i].x.push_back(near_->element(wanted_[i], j));
    }
    for (std::size_t i = 0; i < wanted_.size(); ++i)
      for (Index j = 0; j < near_->numel(wanted_[i]); ++j) full_column(i, j);
    name_mistakes();
  }

  void full_column(std::size_t i, Index j) {
    GradcheckEntry& entry = report_.inputs[i];
    auto n = static_cast<std::size_t>(near_->numel(wanted_[i]));
    std::array<std::optional<Column>, kPreciseLevels + kLevels> columns;
    std::vector<double> excused;  // by output, once one differs
    ComparedDerivative found;
    found.index = unravel(entry.shape, j);
    double along_u = 0, allowed = 0, linear = 0;
    bool decidable = true;
    std::size_t row = 0;
    for (std::size_t o = 0; o < recorded_.output_shapes.size(); ++o) {
      found.output = o;
      for (Index p = 0; p < numel_of(recorded_.output_shapes[o]); ++p, ++row) {
        found.output_index = unravel(recorded_.output_shapes[o], p);
        found.analytic = recorded_.rows[i][row * n + static_cast<std::size_t>(j)];
        auto probe = [&](int level) {
          auto& c = columns[level];
          if (!c) c = column(wanted_[i], j, level);
          return probe_of(*c, row);
        };
        Tolerance held;
        Verdict verdict = judged(found, probe, held);
        if (verdict == Verdict::Differs) {
          if (excused.empty()) excused = excuses(i, j);
          const double error = std::abs(found.analytic - found.numeric);
          if (excused[row] > 0 && error <= excused[row] + held.atol) verdict = Verdict::Undecidable;
        }
        note(entry, verdict, found, held);
        jacobians_.inputs[i].numeric[row * n + static_cast<std::size_t>(j)] = found.numeric;
        decidable = decidable && verdict != Verdict::Undecidable;
        along_u += u_[row] * found.numeric;
        linear += u_[row] * found.analytic;
        allowed += std::abs(u_[row]) * held.allowed(found.numeric);
      }
    }
    jacobians_.inputs[i].linear =
        jacobians_.inputs[i].linear &&
        std::abs(recorded_.along_u[i][j] - linear) <= allowed + 1e-5 * std::abs(linear);
    if (!decidable || origin_.empty()) return;
    // The numeric side adds up the errors of its parts, and is allowed what they are.
    found.projected = true;
    found.analytic = recorded_.along_u[i][j];
    found.numeric = along_u;
    Tolerance together{allowed, 0};
    bool agrees = together.within(found.analytic, found.numeric);
    note(entry, agrees ? Verdict::Agrees : Verdict::Differs, found, together);
  }

  // A derivative that no difference decides fits no name.
  void name_mistakes() {
    const double relative = coarse() ? 1e-2 : 1e-5;
    for (std::size_t i = 0; i < wanted_.size(); ++i)
      if (GradcheckEntry& e = report_.inputs[i]; e.failed && !e.undecidable)
        e.mistake = likely_mistake(jacobians_, i, relative);
  }

  // Σ over the outputs of u f, at the copies as they stand.
  double along_u_now(const std::vector<double>& values) const {
    double total = 0;
    for (std::size_t i = 0; i < values.size(); ++i) total += u_[i] * values[i];
    return total;
  }

  // <u, f> on both sides along v, restricted to elements [begin, end) of the input.
  Probe probe_along(std::size_t input, const std::vector<double>& v, Index begin, Index end,
                    int level) const {
    double scale = 0;
    std::vector<double> x;
    for (Index j = begin; j < end; ++j) {
      x.push_back(near_->element(input, j));
      scale = std::max(scale, std::abs(x.back()));
    }
    double h = step_at(scale, level);
    auto move = [&](double t) {
      for (Index j = begin; j < end; ++j) near_->set(input, j, x[j - begin] + t * v[j]);
    };
    Probe p{h, along_u_now(origin_), {}, {}, 0};
    for (std::size_t o = 0; o < origin_.size(); ++o) p.scale += std::abs(u_[o] * origin_[o]);
    for (int k = 1; k <= pairs(); ++k) {
      move(k * h);
      p.plus.push_back(along_u_now(near_->evaluate()));
      move(-k * h);
      p.minus.push_back(along_u_now(near_->evaluate()));
    }
    move(0);
    return p;
  }

  // Names need the whole Jacobian: where it is small, a failure is worth computing it.
  void projections() {
    for (int d = 0; d < options().directions; ++d) project(d);
    Index columns = 0;
    for (std::size_t k : wanted_) columns += near_->numel(k);
    if (report_.failed() == 0 || columns * std::ssize(origin_) > kSmallJacobian) return;
    GradcheckOptions whole = options();
    whole.mode = GradcheckOptions::Mode::Full;
    const GradcheckReport named = Check(subject_, whole).run();
    for (std::size_t i = 0; i < report_.inputs.size(); ++i)
      if (report_.inputs[i].failed) report_.inputs[i].mistake = named.inputs[i].mistake;
  }

  // The half of the direction that disagrees more, until one element is left.
  Index largest_difference(std::size_t i, const std::vector<double>& v,
                           const std::function<double(Index, Index)>& analytic) const {
    Index begin = 0, end = std::ssize(v);
    while (end - begin > 1) {
      Index middle = begin + (end - begin) / 2;
      auto error = [&](Index from, Index to) {
        double e = std::abs(analytic(from, to) - probe_along(wanted_[i], v, from, to, 0).central());
        return std::isfinite(e) ? e : std::numeric_limits<double>::infinity();
      };
      if (error(begin, middle) >= error(middle, end))
        end = middle;
      else
        begin = middle;
    }
    return begin;
  }

  // By output, how far the derivative by this element may lie from the central difference because the point
  // is a kink. Its one-sided differences show that, or points beside it: where several elements meet at the
  // kink, as three that are equal do in sort, each of them alone may pass without one.
  std::vector<double> excuses(std::size_t i, Index element) const {
    const std::size_t input = wanted_[i];
    const int level = options().precise ? kPreciseLevels : 0;
    const Column first = column(input, element, level);
    const Column last = column(input, element, level + kLevels - 1);
    std::vector<double> excused;
    for (std::size_t row = 0; row < origin_.size(); ++row)
      excused.push_back(excused_by_kink(probe_of(first, row), probe_of(last, row),
                                        epsilon_of(report_.in_float64)));
    std::vector<double> x;
    for (Index j = 0; j < near_->numel(input); ++j) x.push_back(near_->element(input, j));
    const double jump = report_.in_float64 ? 1e-3 : 0.1;  // beyond curvature and rounding
    for (std::uint64_t beside = 0; beside < kBeside; ++beside) {
      if (beside == kFirstBeside && *std::max_element(excused.begin(), excused.end()) == 0) break;
      for (Index j = 0; j < near_->numel(input); ++j)
        near_->set(input, j, x[j] + 16 * last.h * signed_random(key(100 + beside, i), j));
      const Column there = column(input, element, level + kLevels - 1);
      for (std::size_t row = 0; row < origin_.size(); ++row) {
        const double here = probe_of(last, row).central();
        const double change = std::abs(probe_of(there, row).central() - here);
        if (change > jump * (1 + std::abs(here))) excused[row] = std::max(excused[row], change);
      }
    }
    for (Index j = 0; j < near_->numel(input); ++j) near_->set(input, j, x[j]);
    return excused;
  }

  // Whether the kinks at this element are as large as the difference of its derivative along u.
  bool excused_by_kinks(std::size_t i, Index element) const {
    const std::vector<double> by_output = excuses(i, element);
    const Column last =
        column(wanted_[i], element, (options().precise ? kPreciseLevels : 0) + kLevels - 1);
    double numeric = 0, excused = 0;
    for (std::size_t row = 0; row < origin_.size(); ++row) {
      numeric += u_[row] * probe_of(last, row).central();
      excused += std::abs(u_[row]) * by_output[row];
    }
    const double error = std::abs(recorded_.along_u[i][element] - numeric);
    return excused > 0 && error <= excused + tolerance_.allowed(numeric);
  }

  void project(int direction) {
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      Index n = near_->numel(wanted_[i]);
      if (n == 0 || origin_.empty()) continue;
      // Moving every element by h moves x by √n h: the length of v is held at 4, so that the
      // error of cutting off stays that of a single element.
      std::vector<double> v(static_cast<std::size_t>(n));
      double squares = 0;
      for (Index j = 0; j < n; ++j) {
        double& e = v[j];
        e = signed_random(key(2 + static_cast<std::uint64_t>(direction), i), j);
        squares += e * e;
      }
      double length = std::sqrt(squares);
      if (length > 4)
        for (double& e : v) e *= 4 / length;
      auto analytic = [&](Index begin, Index end) {
        double total = 0;
        for (Index j = begin; j < end; ++j) total += v[j] * recorded_.along_u[i][j];
        return total;
      };
      ComparedDerivative found;
      found.projected = true;
      found.analytic = analytic(0, n);
      auto probe = [&](int level) { return probe_along(wanted_[i], v, 0, n, level); };
      Tolerance held;
      Verdict verdict = judged(found, probe, held);
      Index element = 0;
      bool left_out = false;
      // An element at a kink that excuses its own part of the difference is left out: along a direction
      // the kinks of several may cancel, and hide what shows them; and one excuses what is wrong elsewhere.
      while (verdict != Verdict::Agrees) {
        element = largest_difference(i, v, analytic);
        if (!excused_by_kinks(i, element)) break;
        v[element] = 0;
        left_out = true;
        found.analytic = analytic(0, n);
        verdict = judged(found, probe, held);
      }
      if (verdict == Verdict::Undecidable) {
        ComparedDerivative alone;
        alone.projected = true;
        alone.analytic = analytic(element, element + 1);
        Tolerance unused;
        verdict = judged(
            alone,
            [&](int level) { return probe_along(wanted_[i], v, element, element + 1, level); },
            unused);
        if (verdict == Verdict::Differs)
          found = alone;
        else
          verdict = Verdict::Undecidable;
      }
      if (left_out && verdict == Verdict::Agrees) verdict = Verdict::Undecidable;
      found.index = unravel(report_.inputs[i].shape, element);
      note(report_.inputs[i], verdict, found, held);
    }
  }

  const Subject& subject_;
  GradcheckReport report_;
  Tolerance tolerance_{}, ordinary_{};  // ordinary_: of what no step makes precise
  std::vector<std::size_t> wanted_;     // inputs that are checked
  std::optional<Neighbourhood> near_;
  std::vector<double> origin_;  // outputs at the copies
  JacobianPairs jacobians_;     // Full mode
  Recorded recorded_;
  std::vector<double> u_;  // of all outputs, one after the other
};

}  // namespace

GradcheckReport compare(const Subject& subject, const GradcheckOptions& options) {
  return Check(subject, options).run();
}

}  // namespace glim::detail

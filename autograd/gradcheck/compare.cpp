// What a check does in both modes: it chooses sides and tolerances, runs the function, and judges a derivative.
#include "autograd/gradcheck/check.hpp"
#include "autograd/tape.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"

namespace glim::detail {
namespace {

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

}  // namespace

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

GradcheckReport Check::run() {
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

// float32 is compared with float64 if the function takes that.
void Check::choose_side() {
  report_.in_float64 = !coarse() || options().differences == GradcheckOptions::Differences::Float64;
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

void Check::choose_tolerance() {
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
  if (o.step == 0) o.step = std::cbrt(epsilon());
  tolerance_ = {o.atol, o.rtol};
}

// Two forwards and two backwards give the same bits, also with another forward between them; the copies
// give the same value as the views, and nobody writes to an input.
bool Check::same_twice() {
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

Check::Recorded Check::record(Recording how) const {
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
Neighbourhood Check::forward_elsewhere() const {
  Neighbourhood there(subject_, !coarse());
  for (std::size_t k : wanted_)
    for (Index j = 0; j < there.numel(k); ++j) {
      const double x = there.element(k, j);
      there.set(k, j, x + 0x1p-6 * std::max(1.0, std::abs(x)));
    }
  there.evaluate();
  return there;
}

void Check::note(GradcheckEntry& e, Verdict verdict, ComparedDerivative found,
                 const Tolerance& tolerance) const {
  ++e.checked;
  if (!found.coarse_because.empty() && verdict == Verdict::Agrees) {
    ++e.coarse;
    e.why_coarse = found.coarse_because;
  }
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
Verdict Check::judged(ComparedDerivative& found, const std::function<Probe(int level)>& probe,
                      Tolerance& tolerance) const {
  tolerance = tolerance_;
  if (!options().precise) return judge(found.analytic, probe, tolerance, epsilon(), found.numeric);
  const PreciseDerivative precise = precise_derivative(probe, tolerance, epsilon());
  found.coarse_because = precise.uncertain;
  if (precise.uncertain.empty()) {
    found.numeric = precise.value;
    return tolerance.within(found.analytic, precise.value) ? Verdict::Agrees : Verdict::Differs;
  }
  tolerance = ordinary_;
  return judge(
      found.analytic, [&](int level) { return probe(ordinary_level() + level); }, tolerance,
      epsilon(), found.numeric);
}

GradcheckReport compare(const Subject& subject, const GradcheckOptions& options) {
  return Check(subject, options).run();
}

}  // namespace glim::detail

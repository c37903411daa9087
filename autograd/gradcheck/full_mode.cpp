// Full mode: every element of the Jacobian, and then Jᵀu.
#include <array>

#include "autograd/gradcheck/check.hpp"
#include "tensor/error.hpp"

namespace glim::detail {
namespace {

constexpr Index kLargestJacobian = Index{1} << 24;
// Points beside another at which a kink is looked for; the first few show whether there is one at all.
constexpr std::uint64_t kBeside = 64, kFirstBeside = 6;

}  // namespace

Check::Column Check::column(std::size_t input, Index j, int level) const {
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

Probe Check::probe_of(const Column& c, std::size_t row) const {
  Probe p{c.h, origin_[row], {}, {}, std::abs(origin_[row])};
  for (int k = 0; k < pairs(); ++k) {
    p.minus.push_back(c.minus[k][row]);
    p.plus.push_back(c.plus[k][row]);
    p.scale = std::max({p.scale, std::abs(p.minus[k]), std::abs(p.plus[k])});
  }
  return p;
}

void Check::full() {
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

void Check::full_column(std::size_t i, Index j) {
  GradcheckEntry& entry = report_.inputs[i];
  auto n = static_cast<std::size_t>(near_->numel(wanted_[i]));
  std::array<std::optional<Column>, kPreciseLevels + kAllLevels> columns;
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
  found.coarse_because.clear();
  found.analytic = recorded_.along_u[i][j];
  found.numeric = along_u;
  Tolerance together{allowed, 0};
  bool agrees = together.within(found.analytic, found.numeric);
  note(entry, agrees ? Verdict::Agrees : Verdict::Differs, found, together);
}

// A derivative that no difference decides fits no name.
void Check::name_mistakes() {
  const double relative = coarse() ? 1e-2 : 1e-5;
  for (std::size_t i = 0; i < wanted_.size(); ++i)
    if (GradcheckEntry& e = report_.inputs[i]; e.failed && !e.undecidable)
      e.mistake = likely_mistake(jacobians_, i, relative);
}

// By output, how far the derivative by this element may lie from the central difference because the point
// is a kink. Its one-sided differences show that, or points beside it: where several elements meet at the
// kink, as three that are equal do in sort, each of them alone may pass without one.
std::vector<double> Check::excuses(std::size_t i, Index element) const {
  const std::size_t input = wanted_[i];
  const int level = ordinary_level();
  const Column first = column(input, element, level);
  const Column last = column(input, element, level + kLevels - 1);
  std::vector<double> excused;
  for (std::size_t row = 0; row < origin_.size(); ++row)
    excused.push_back(excused_by_kink(probe_of(first, row), probe_of(last, row), epsilon()));
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

}  // namespace glim::detail

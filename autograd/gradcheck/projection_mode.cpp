// Projection mode: vᵀJᵀu for random u and v, and the element that makes it differ.
#include "autograd/gradcheck/check.hpp"

namespace glim::detail {
namespace {

constexpr Index kSmallJacobian = Index{1} << 14;

}  // namespace

// Σ over the outputs of u f, at the copies as they stand.
double Check::along_u_now(const std::vector<double>& values) const {
  double total = 0;
  for (std::size_t i = 0; i < values.size(); ++i) total += u_[i] * values[i];
  return total;
}

// <u, f> on both sides along v, restricted to elements [begin, end) of the input.
Probe Check::probe_along(std::size_t input, const std::vector<double>& v, Index begin, Index end,
                         int level) const {
  double scale = 0;
  std::vector<double> x;
  for (Index j = begin; j < end; ++j) {
    x.push_back(near_->element(input, j));
    scale = std::max(scale, std::abs(x.back()));
  }
  // A power of two times a v of 20 bits: no point is rounded, as it would be by ε x, which is f' ε x / h of f.
  const double h = std::exp2(std::round(std::log2(step_at(scale, level))));
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
void Check::projections() {
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
Index Check::largest_difference(std::size_t i, const std::vector<double>& v,
                                const std::function<double(Index, Index)>& analytic) const {
  Index begin = 0, end = std::ssize(v);
  while (end - begin > 1) {
    Index middle = begin + (end - begin) / 2;
    auto error = [&](Index from, Index to) {
      double e = std::abs(analytic(from, to) -
                          probe_along(wanted_[i], v, from, to, first_level()).central());
      return std::isfinite(e) ? e : std::numeric_limits<double>::infinity();
    };
    if (error(begin, middle) >= error(middle, end))
      end = middle;
    else
      begin = middle;
  }
  return begin;
}

// Whether the kinks at this element are as large as the difference of its derivative along u.
bool Check::excused_by_kinks(std::size_t i, Index element) const {
  const std::vector<double> by_output = excuses(i, element);
  const Column last = column(wanted_[i], element, ordinary_level() + kLevels - 1);
  double numeric = 0, excused = 0;
  for (std::size_t row = 0; row < origin_.size(); ++row) {
    numeric += u_[row] * probe_of(last, row).central();
    excused += std::abs(u_[row]) * by_output[row];
  }
  const double error = std::abs(recorded_.along_u[i][element] - numeric);
  return excused > 0 && error <= excused + tolerance_.allowed(numeric);
}

void Check::project(int direction) {
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
    for (double& e : v) e = std::ldexp(std::nearbyint(std::ldexp(e, 20)), -20);
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
      if (v[element] == 0 || !excused_by_kinks(i, element)) break;
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
          alone, [&](int level) { return probe_along(wanted_[i], v, element, element + 1, level); },
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

}  // namespace glim::detail

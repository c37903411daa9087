// Is backward right for other values and other sizes too, in the process in which it was checked? One that keeps what
// its first call gave, or has a size written as a number, is right for the given inputs alone.
//
// A place is compared along one random direction. Where that does not agree, the checker decides, input by input. A
// function need not be defined at the places tried here: those that it refuses are skipped, and a wrong gradient fails
// the check only if what is special about the place does not explain it.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "autograd/gradcheck/analytic.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/foreign/checks.hpp"
#include "tools/foreign/differences.hpp"

namespace glim::foreign {
namespace {

constexpr Index kMostDoubled = 4096;  // of inputs that are doubled
constexpr std::size_t kMostExtents = 4;
constexpr int kMostApart = 60;  // places where equal extents differ
constexpr const char* kRaises = "backward raises an exception";
constexpr const char* kState =
    "backward keeps state: its last gradient is not its first, at the same inputs";

struct Found {
  // Doubtful: wrong at another size, or where an integer comes twice, in every process. Backward may be for the given ones
  // alone.
  enum { Right, Wrong, Doubtful, Unknown, Refused } kind = Unknown;
  std::string why{};       // one line: "the gradient of x is wrong"
  bool of_values = false;  // wrong numbers, in a gradient of the right shape
};

// Σ dy f along v, by differences.
double slope(Calls& c, const Tensors& x, const Tensors& dy, const Tensors& v, double h) {
  double change = 0;
  for (const double step : {h, -h}) {
    Tensors moved;
    for (std::size_t k = 0; k < x.size(); ++k)
      moved.push_back(v[k].defined() ? x[k] + step * v[k] : x[k]);
    const Tensors y = c.value(moved);
    for (std::size_t o = 0; o < y.size(); ++o)
      if (dy[o].defined()) change += dot(dy[o].to(y[o].dtype()), y[o]) / (2 * step);
  }
  return change;
}

Found compare_at(const Probe& p, Calls& c, const Tensors& x, const Tensors& dy,
                 Tensors* given = nullptr) {
  Tensors v;
  double length = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    v.push_back(c.wanted[k] ? detail::random_like(x[k], {p.options.seed, (7ull << 32) + k})
                            : Tensor());
    if (c.wanted[k]) length = std::hypot(length, norm(v[k]));
  }
  for (Tensor& one : v)
    if (one.defined()) one = std::min(1.0, 4 / length) * one;
  double numeric = 0;
  try {
    numeric = slope(c, x, dy, v, p.step);
  } catch (const std::exception&) {
    return {Found::Refused};
  }
  if (!std::isfinite(numeric)) return {Found::Refused, "f is not a number at other values"};
  double analytic = 0;
  try {
    const Tensors dx = c.gradient(x, dy);
    if (given) *given = dx;
    for (std::size_t k = 0; k < x.size(); ++k)
      if (v[k].defined()) analytic += dot(dx[k], v[k]);
  } catch (const FormError& e) {
    return {Found::Wrong, e.text};
  } catch (const std::exception&) {
    return {Found::Unknown, kRaises};
  }
  const double most = std::max(std::abs(analytic), std::abs(numeric));
  const double enough = p.options.rtol > 0  ? p.options.rtol
                        : p.options.precise ? 1e-10
                        : p.step > 0x1p-17  ? 1e-2
                                            : 1e-6;
  if (std::abs(analytic - numeric) <= enough * most) return {Found::Right};
  std::vector<GradcheckInput> inputs = c.wanted_inputs();
  for (std::size_t k = 0; k < x.size(); ++k) inputs[k].value = x[k];
  try {
    const GradcheckReport report = differences(c.as_function(), inputs, p.along_one());
    // Where f rounds, another place may hide a change of f, and a stale gradient is far off.
    for (const GradcheckEntry& e : report.inputs)
      if (e.failed > 0 &&
          (!(p.rounds || e.rounds) ||
           (e.numeric != 0 && std::abs(e.analytic - e.numeric) > 0.5 * std::abs(e.numeric))))
        return {Found::Wrong, "the gradient of " + e.name + " is wrong", true};
    return {report.passed() ? Found::Right : Found::Unknown, "no difference decides"};
  } catch (const std::exception&) {
    return {Found::Refused};
  }
}

// ---- other values ----

// The elements from `begin` on in the opposite order.
Tensor reversed(const Tensor& x, Index begin) {
  const Tensor y = x.clone();
  visit_dtype(x.dtype(),
              [&]<class T>() { std::reverse(y.data<T>() + begin, y.data<T>() + y.numel()); });
  return y;
}

// A share of each element, between 0.6 and 1: what is positive, or below 1, stays so. It has few bits, so that sums do not
// depend on the order of the elements.
Tensor shrunk(const Tensor& x) {
  const Tensor r = detail::random_like(x, {8, 0});
  const double most = x.numel() > 0 ? largest(x) : 0;
  const Tensor y = most == 0 ? 0.1 * r : x * (0.13 * r + 0.8);
  if (!(most > 0 && std::isfinite(most))) return y;
  const double beyond = most * (x.dtype() == DType::Float32 ? 0x1p8 : 0x1p36);
  const Tensor few = (y + beyond) + -beyond;
  return where(equal(few, 0), y, few);
}

using Change = std::function<Tensor(const Tensor& x, std::size_t k)>;

Tensors changed(const Probe& p, const Change& change) {
  Tensors all;
  for (std::size_t k = 0; k < p.x.size(); ++k)
    all.push_back(is_floating(p.x[k].dtype()) ? change(p.x[k], k) : p.x[k]);
  return all;
}

// x with slices that differ, where all slices along an axis are equal; undefined if there is no such axis.
Tensor with_slices_apart(const Tensor& x) {
  Tensor apart;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const Index n = x.size(axis);
    const Tensor first = narrow(x, axis, 0, 1);
    if (n < 2 || !same_bits(broadcast_to(first, x.shape()).contiguous(), x)) continue;
    Shape along = first.shape();
    for (int a = 0; a < along.rank(); ++a) along[a] = a == axis ? n : 1;
    const Tensor ramp = reshape(arange(1, static_cast<double>(n) + 1), along).to(x.dtype());
    apart =
        (apart.defined() ? apart : x) + (0.1 * (largest(x) + 0.1) / static_cast<double>(n)) * ramp;
  }
  return apart;
}

// f may take sorted inputs alone, say. A gradient that is wrong where the elements have another order fails the check if
// it is the one that backward gives for the given inputs or for `earlier` ones, or if it is wrong in the given order too,
// or with slices apart that are equal in the given inputs.
bool stays_wrong(Probe& p, const Tensors& x, const Tensors& dy, const Tensors& earlier) {
  for (const Tensors* kept : {&std::as_const(p.x), &earlier})
    if (!same(x, *kept) && same(p.calls.gradient(x, dy), p.calls.gradient(*kept, dy))) return true;
  for (const double shift : {0.0, 0.3}) {
    const Tensors in_order = changed(p, [&](const Tensor& one, std::size_t k) {
      return same_bits(one, x[k]) ? one : 0.7 * one + -shift * largest(one);
    });
    if (compare_at(p, p.calls, in_order, dy).kind == Found::Wrong) return true;
  }
  const Tensors apart = changed(p, [&](const Tensor& one, std::size_t k) {
    const Tensor slices = same_bits(one, x[k]) ? Tensor() : with_slices_apart(one);
    return slices.defined() ? slices : one;
  });
  if (!same(apart, p.x) && compare_at(p, p.calls, apart, dy).kind == Found::Wrong) return true;
  return false;
}

Found values_at(Probe& p, const Tensors& x, const Tensors& dy, const Tensors& earlier,
                Tensors& dx) {
  Found found = compare_at(p, p.calls, x, dy, &dx);
  if (found.kind == Found::Wrong && !stays_wrong(p, x, dy, earlier)) found.kind = Found::Unknown;
  return found;
}

// The integers of the inputs in another order. They may not mean anything in it, so a wrong gradient fails the check only
// if it is the one that belongs to the given integers.
Found other_integers(Probe& p, const Tensors& x) {
  Tensors there = x;
  bool any = false;
  for (Tensor& one : there)
    if (!is_floating(one.dtype()) && one.numel() > 1) {
      one = reversed(one, 0);
      any = true;
    }
  if (!any) return {Found::Refused};
  const Tensors dy = p.random_dy(4);
  const Found found = compare_at(p, p.calls, there, dy);
  if (found.kind != Found::Wrong) return {Found::Refused};
  if (!same(p.calls.gradient(there, dy), p.calls.gradient(x, dy))) return {Found::Refused};
  return {Found::Wrong,
          "backward keeps the integers of an earlier call: the gradient does not change with them"};
}

// A number that comes twice: what is sent to one place adds up.
Found integers_twice(Probe& p, const Tensors& x) {
  Tensors twice = x;
  std::string name;
  for (std::size_t k = 0; k < x.size(); ++k)
    if (x[k].dtype() == DType::Int64 && x[k].numel() > 1) {
      twice[k] = x[k].clone();
      Index* ids = twice[k].data<Index>();
      ids[x[k].numel() - 1] = ids[0];
      if (name.empty() && !same_bits(twice[k], x[k])) name = p.calls.inputs[k].name;
    }
  if (name.empty()) return {Found::Refused};
  const Found found = compare_at(p, p.calls, twice, p.random_dy(9));
  if (found.kind != Found::Wrong) return {Found::Refused};
  return {Found::Doubtful, found.why + " where a number of " + name +
                               " comes twice: what is sent to one place is not added up"};
}

// All inputs change, then their second halves alone, which keeps sums, and then a little. Then some of the inputs do:
// every two differ in a bit of their numbers.
Found other_values(Probe& p) {
  const Change all = [](const Tensor& x, std::size_t) { return shrunk(reversed(x, 0)); };
  const Tensors elsewhere = changed(p, all);
  std::vector<Tensors> places{
      elsewhere,
      changed(p, [&](const Tensor&,
                     std::size_t k) { return reversed(elsewhere[k], elsewhere[k].numel() / 2); }),
      changed(p, [](const Tensor& x, std::size_t) { return beside(x); })};
  for (std::size_t bit = 0; std::size_t{1} << bit < p.x.size(); ++bit)
    for (const std::size_t has : {0u, 1u})
      places.push_back(changed(p, [&](const Tensor& x, std::size_t k) {
        return (k >> bit & 1) == has ? all(x, k) : x;
      }));
  Found found{Found::Refused, "f takes no other values"};
  Tensors last, last_dy, last_dx;  // where it is right
  std::uint64_t stream = 10;
  for (const Tensors& x : places) {
    if (same(x, p.x)) continue;
    const Tensors dy = p.random_dy(stream++);
    Tensors dx;
    const Found here = values_at(p, x, dy, elsewhere, dx);
    if (here.kind == Found::Wrong)
      return {Found::Wrong, here.why +
                                " for other values: backward keeps what an earlier call gave, has "
                                "values written as numbers, or is right for equal elements alone"};
    if (here.kind == Found::Right) found = here, last = x, last_dy = dy, last_dx = dx;
    if (found.kind == Found::Refused && !here.why.empty()) found.why = here.why;
  }
  for (auto integers : {other_integers, integers_twice})
    if (const Found of = integers(p, elsewhere); of.kind != Found::Refused) return of;
  if (found.kind != Found::Right) return found;
  if (!same(p.gradient(p.dy), p.dx)) return {Found::Wrong, kState};
  const Tensors rewritten = p.calls.rewritten(last, last_dy);
  if (!same(rewritten, last_dx) && !close(rewritten, last_dx, p.near))
    return {
        Found::Wrong,
        "backward keeps what it computed by the identity of its arrays: with other values in the "
        "same arrays it gives the old gradient"};
  return found;
}

// ---- other sizes ----

struct Axis {
  std::size_t input;
  int axis;
  auto operator<=>(const Axis&) const = default;
};
using Growth = std::map<Axis, Index>;  // to an extent

Tensor grown(const Tensor& x, std::size_t k, const Growth& to) {
  Tensor y = x;
  for (const auto& [at, extent] : to)
    if (at.input == k)
      while (y.size(at.axis) < extent)
        y = concatenate(
            std::vector<Tensor>{
                y, narrow(y, at.axis, 0, std::min(y.size(at.axis), extent - y.size(at.axis)))},
            at.axis);
  return is_floating(x.dtype()) && !same_bits(x, y) ? shrunk(y) : y;
}

// True if f depends on the added elements of each input. Otherwise f is defined only for the given sizes.
bool reads_all(const Probe& p, Calls& there, const Tensors& x) {
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (!there.wanted[k] || x[k].shape() == p.x[k].shape()) continue;
    Tensors moved = x;
    moved[k] = beside(x[k]);
    Tensor old = moved[k], was = x[k];
    for (int axis = 0; axis < old.rank(); ++axis) {
      old = narrow(old, axis, 0, p.x[k].size(axis));
      was = narrow(was, axis, 0, p.x[k].size(axis));
    }
    old.copy_(was);
    if (same(there.value(moved), there.value(x))) return false;
  }
  return true;
}

Found at_size(Probe& p, const Growth& growth, Tensors& x) {
  x.clear();
  for (std::size_t k = 0; k < p.x.size(); ++k) x.push_back(grown(p.x[k], k, growth));
  Calls there = p.calls.with_inputs(x);
  Tensors y;
  try {
    y = there.value(x);
  } catch (const std::exception&) {  // f takes no such size
    return {Found::Refused};
  }
  p.gradient(p.dy);  // a program that could not take the last size has begun anew
  Found found = compare_at(p, there, x, random_dy(y, p.options.seed, 5));
  if (found.kind == Found::Unknown && found.why == kRaises) found.kind = Found::Doubtful;
  const bool is_wrong = found.kind == Found::Wrong || found.kind == Found::Doubtful;
  return is_wrong && !reads_all(p, there, x) ? Found{Found::Refused} : found;
}

// Such a gradient is wrong for what an earlier call left. Without a process of its own that is not known: a backward of
// the given sizes alone may be meant to be one.
bool right_in_another_process(Probe& p, const Tensors& x) {
  if (!p.calls.function().restart) return false;
  try {
    p.calls.function().restart();
    Calls there = p.calls.with_inputs(x);
    return compare_at(p, there, x, random_dy(there.value(x), p.options.seed, 5)).kind ==
           Found::Right;
  } catch (const std::exception&) {
    return false;
  }
}

std::string listed_sizes(const Probe& p, const Tensors& x) {
  std::string text;
  for (std::size_t k = 0; k < x.size(); ++k)
    if (x[k].shape() != p.x[k].shape())
      text += (text.empty() ? "" : ", ") + p.calls.inputs[k].name + " " + to_string(x[k].shape());
  return text;
}

// The axes whose extents may grow, by extent. An extent of 1 may if there is no other, or if one axis alone has it:
// others are those that broadcast.
using Extents = std::map<Index, std::vector<Axis>>;
Extents extents_of(const Probe& p) {
  Extents of;
  for (std::size_t k = 0; k < p.x.size(); ++k)
    for (int axis = 0; axis < p.x[k].rank(); ++axis) of[p.x[k].size(axis)].push_back({k, axis});
  for (std::size_t k = p.calls.function().fixed_shapes; k < p.x.size(); ++k)
    for (const Index n : p.x[k].shape()) of.erase(n);
  of.erase(0);
  return of;
}

Growth growth_of(const std::vector<Axis>& axes, Index extent) {
  Growth growth;
  for (const Axis& axis : axes) growth[axis] = extent;
  return growth;
}

Found doubtful(Probe& p, const Tensors& x, const std::string& sizes, const std::string& why) {
  return {right_in_another_process(p, x) ? Found::Wrong : Found::Doubtful,
          sizes + " (" + listed_sizes(p, x) + ": " + why +
              "): a size is kept from an earlier call, written as a number, or another axis's"};
}

// An extent that several axes have is that of each: a divisor that is taken from the wrong axis is right where both are
// equal. So the fewest axes grow that f takes, each axis with some. Such a place says nothing where f refuses it, or
// backward does: f may take what it is not meant for, as a square matrix of weights that is not square.
Found apart(Probe& p, const Extents& extents, std::string& listed) {
  Index unused = 2;
  while (extents.contains(unused)) ++unused;
  int tries = 0;
  for (const auto& [extent, axes] : extents) {
    if (axes.size() < 2 && extent != 1) continue;
    const Index to = extent == 1 ? unused : extent + (extents.contains(extent + 1) ? 2 : 1);
    std::vector<Axis> left = axes;
    for (std::size_t size = 1; size <= std::min(left.size(), axes.size() - (extent != 1)); ++size) {
      std::vector<bool> chosen(left.size());
      std::fill(chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(size), true);
      std::set<Axis> covered;
      do {
        std::vector<Axis> some;
        for (std::size_t i = 0; i < left.size(); ++i)
          if (chosen[i]) some.push_back(left[i]);
        if (std::ranges::any_of(some, [&](const Axis& a) { return covered.contains(a); })) continue;
        if (++tries > kMostApart) return {Found::Refused};
        Tensors x;
        const Found found = at_size(p, growth_of(some, to), x);
        if (found.kind == Found::Wrong && found.of_values)
          return doubtful(p, x, "right for the given sizes, wrong for other ones", found.why);
        if (found.kind != Found::Right) continue;
        covered.insert(some.begin(), some.end());
        listed += (listed.empty() ? "" : ", ") + listed_sizes(p, x);
      } while (std::prev_permutation(chosen.begin(), chosen.end()));
      std::erase_if(left, [&](const Axis& a) { return covered.contains(a); });
    }
  }
  return {listed.empty() ? Found::Refused : Found::Right};
}

// All extents grow by one, or to the double if f takes no such sizes. Else one after the other grows. Equal extents
// grow together, and then apart.
Found other_sizes(Probe& p) {
  const Extents every = extents_of(p);
  Extents extents = every;
  if (extents.size() > 1) extents.erase(1);
  if (extents.empty()) return {Found::Refused, "no other size was tried"};
  Index elements = 0;
  for (const Tensor& x : p.x) elements += x.numel();
  std::vector<Growth> growths(2), alone;
  std::vector<Index> extent_alone;
  for (const auto& [n, axes] : extents) {
    growths[0].merge(growth_of(axes, n + 1));
    growths[1].merge(growth_of(axes, 2 * n));
    if (alone.size() >= kMostExtents) continue;
    alone.push_back(growth_of(axes, n + 1));
    extent_alone.push_back(n);
  }
  if (elements > kMostDoubled) growths.pop_back();
  const std::size_t together = growths.size();
  growths.insert(growths.end(), alone.begin(), alone.end());
  Found all{Found::Refused, "f takes no other size"};
  for (std::size_t g = 0; g < growths.size(); ++g) {
    Tensors x;
    Found found = at_size(p, growths[g], x);
    if (found.kind == Found::Refused) continue;
    if (found.kind == Found::Unknown) found.why = "for " + listed_sizes(p, x) + " " + found.why;
    if (found.kind == Found::Right) found.why = listed_sizes(p, x);
    if (found.kind == Found::Wrong || found.kind == Found::Doubtful) {
      for (std::size_t i = 0; i < alone.size(); ++i) {
        const bool is_one = g >= together || extents.size() == 1;
        Tensors of_one;
        if (const Found one = is_one ? found : at_size(p, alone[i], of_one); one.kind == found.kind)
          found.why = one.why;
        else
          continue;
        if (!is_one) x = of_one;
        const Index from = extent_alone[g >= together ? g - together : i];
        return doubtful(p, x,
                        "right for " + std::to_string(from) + ", wrong for " +
                            std::to_string(is_one && g == 1 && together == 2 ? 2 * from : from + 1),
                        found.why);
      }
      return doubtful(p, x, "right for the given sizes, wrong for other ones", found.why);
    }
    all = found;
    if (g < together) break;
  }
  if (!p.calls.function().refuses_misfits) return all;
  std::string listed;
  const Found each = apart(p, every, listed);
  if (each.kind == Found::Wrong || each.kind == Found::Doubtful) return each;
  if (each.kind == Found::Right && all.kind != Found::Unknown)
    return {Found::Right, (all.kind == Found::Right ? all.why + ", " : "") + listed};
  return all;
}

}  // namespace

FunctionCheck check_elsewhere(Probe& p) {
  FunctionCheck check{"elsewhere", CheckVerdict::Failed, ""};
  const Found values = other_values(p);
  if (values.kind == Found::Wrong) {
    check.detail = values.why;
    return check;
  }
  const Found sizes = other_sizes(p);
  if (sizes.kind == Found::Wrong) {
    check.detail = sizes.why;
    return check;
  }
  if (!same(p.gradient(p.dy), p.dx)) {
    check.detail = kState;
    return check;
  }
  check.verdict = CheckVerdict::Undecided;
  for (const Found* doubt : {&values, &sizes})
    if (doubt->kind == Found::Doubtful) {
      check.doubt = true;
      check.detail = doubt->why;
      return check;
    }
  if ((values.kind == Found::Right || sizes.kind == Found::Right) && sizes.kind != Found::Unknown)
    check.verdict = CheckVerdict::Passed;
  check.detail = values.kind == Found::Right     ? "right for other values"
                 : values.kind == Found::Refused ? values.why
                                                 : "not decided for other values: " + values.why;
  check.detail += (sizes.kind == Found::Right ? ", and for " : "; ") + sizes.why;
  return check;
}

}  // namespace glim::foreign

// Is backward right for other sizes? One that has a size written as a number, or another axis's, is right for the given
// shapes alone.
#include <algorithm>
#include <map>
#include <set>

#include "tensor/function_ref.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tools/foreign/other_inputs.hpp"

namespace glim::foreign {
namespace {

constexpr Index kMostDoubled = 4096;  // of inputs that are doubled
constexpr std::size_t kMostExtents = 4;
constexpr int kMostApart = 60;  // places where equal extents differ

struct Axis {
  std::size_t input;
  int axis;
  auto operator<=>(const Axis&) const = default;
};
using Growth = std::map<Axis, Index>;  // to an extent, which may be smaller

Tensor grown(const Tensor& x, std::size_t k, const Growth& growth) {
  Tensor y = x;
  for (const auto& [key, extent] : growth)
    if (key.input == k) {
      y = narrow(y, key.axis, 0, std::min(y.size(key.axis), extent));
      while (y.size(key.axis) < extent)
        y = concatenate(
            std::vector<Tensor>{
                y, narrow(y, key.axis, 0, std::min(y.size(key.axis), extent - y.size(key.axis)))},
            key.axis);
    }
  return is_floating(x.dtype()) && !same_bits(x, y) ? shrunk(y) : y;
}

// True if f depends on the added elements of each input that has grown. Otherwise f is defined only for the given sizes.
bool reads_all(const Probe& p, Calls& calls, const Tensors& x) {
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (!calls.selection[k] || x[k].numel() <= p.x[k].numel()) continue;
    Tensors moved = x;
    moved[k] = beside(x[k]);
    Tensor old = moved[k], was = x[k];
    for (int axis = 0; axis < old.rank(); ++axis) {
      const Index n = std::min(old.size(axis), p.x[k].size(axis));
      old = narrow(old, axis, 0, n);
      was = narrow(was, axis, 0, n);
    }
    old.copy_(was);
    if (same(calls.value(moved), calls.value(x))) return false;
  }
  return true;
}

Found at_size(Probe& p, const Growth& growth, Tensors& x) {
  x.clear();
  for (std::size_t k = 0; k < p.x.size(); ++k) x.push_back(grown(p.x[k], k, growth));
  Calls calls = p.calls.with_inputs(x);
  Tensors y;
  try {
    y = calls.value(x);
  } catch (const std::exception&) {  // f takes no such size
    return {Found::Refused};
  }
  if (!p.repeats()) return {Found::Wrong, kState, true};
  Found found = compare_at(p, calls, x, random_dy(y, p.options.seed, 5));
  if (found.kind == Found::Unknown && found.why == kRaises) found.kind = Found::Doubtful;
  const bool is_wrong = found.kind == Found::Wrong || found.kind == Found::Doubtful;
  return is_wrong && !reads_all(p, calls, x) ? Found{Found::Refused} : found;
}

// Such a gradient is wrong for what an earlier call left. Without a process of its own that is not known: a backward of
// the given sizes alone may be meant to be one.
bool right_in_another_process(Probe& p, const Tensors& x) {
  if (!p.calls.function().restart) return false;
  try {
    p.calls.function().restart();
    Calls calls = p.calls.with_inputs(x);
    return compare_at(p, calls, x, random_dy(calls.value(x), p.options.seed, 5)).kind ==
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

// The axes by extent, and the extents that parameters have, whose axes keep theirs.
using Extents = std::map<Index, std::vector<Axis>>;
struct Axes {
  Extents every;
  std::set<Index> tied;

  bool used(Index extent) const { return every.contains(extent) || tied.contains(extent); }
  // The extents that all axes may change together. An extent of 1 may if there is no other: others are those that broadcast.
  Extents free() const {
    Extents some = every;
    for (const Index n : tied) some.erase(n);
    if (some.size() > 1) some.erase(1);
    return some;
  }
};

Axes axes_of(const Probe& p) {
  Axes axes;
  for (std::size_t k = 0; k < p.x.size(); ++k)
    for (int axis = 0; axis < p.x[k].rank(); ++axis)
      if (const Index n = p.x[k].size(axis); k >= p.calls.function().fixed_shapes)
        axes.tied.insert(n);
      else if (n > 0)
        axes.every[n].push_back({k, axis});
  return axes;
}

Growth growth_of(const std::vector<Axis>& axes, Index extent) {
  Growth growth;
  for (const Axis& axis : axes) growth[axis] = extent;
  return growth;
}

Found doubtful(Probe& p, const Tensors& x, const std::string& sizes, const std::string& why) {
  if (why == kState) return {Found::Wrong, why};
  return {right_in_another_process(p, x) ? Found::Wrong : Found::Doubtful,
          sizes + " (" + listed_sizes(p, x) + ": " + why +
              "): a size is kept from an earlier call, written as a number, or another axis's"};
}

// An extent that several axes have is that of each: a divisor that is taken from the wrong axis is right where both are
// equal. So the fewest axes grow that f takes, each axis with some; if no half of them may grow, no more may, since the
// others would be as few. Such a place says nothing where f refuses it, or backward does: f may take what it is not meant
// for, as a square matrix of weights that is not square.
Found apart(Probe& p, const Axes& all, std::string& listed) {
  Index unused = 2;
  while (all.used(unused)) ++unused;
  int tries = 0;
  for (const auto& [extent, axes] : all.every) {
    const bool alone = extent != 1 && !all.tied.contains(extent);
    if (axes.size() < 2 && alone) continue;
    const Index target = extent == 1 ? unused : extent + (all.used(extent + 1) ? 2 : 1);
    std::vector<Axis> left = axes;
    for (std::size_t size = 1; size <= (alone ? left.size() / 2 : left.size()); ++size) {
      std::vector<bool> chosen(left.size());
      std::fill(chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(size), true);
      std::set<Axis> covered;
      do {
        std::vector<Axis> some;
        for (std::size_t i = 0; i < left.size(); ++i)
          if (chosen[i]) some.push_back(left[i]);
        if (std::ranges::any_of(some, [&](const Axis& a) { return covered.contains(a); })) continue;
        if (++tries > kMostApart) {
          p.untried.push_back("some of the equal extents apart");
          return {listed.empty() ? Found::Refused : Found::Right};
        }
        Tensors x;
        const Found found = at_size(p, growth_of(some, target), x);
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

Index elements_of(const Probe& p, const Growth& growth) {
  Index all = 0;
  for (std::size_t k = 0; k < p.x.size(); ++k) {
    Shape shape = p.x[k].shape();
    for (const auto& [key, extent] : growth)
      if (key.input == k) shape[key.axis] = extent;
    all += numel_of(shape);
  }
  return all;
}

// Extents for which a function often has a case of its own: 1, equal ones, and those above 8, whose loops are unrolled.
// With an extent of 1 f may broadcast, or have no derivative: a gradient of another shape, or one that is not finite, tells
// nothing.
Found special_sizes(Probe& p, const Extents& extents) {
  const Index least = extents.begin()->first, most = extents.rbegin()->first;
  const auto each = [&](FunctionRef<Index(Index extent)> change) {
    std::vector<Growth> growths(1);
    for (const auto& [n, axes] : extents) {
      growths[0].merge(growth_of(axes, change(n)));
      if (extents.size() > 1 && growths.size() <= kMostExtents)
        growths.push_back(growth_of(axes, change(n)));
    }
    return growths;
  };
  struct Kind {
    const char* name;
    std::vector<Growth> growths, otherwise{};
  };
  const Kind kinds[]{{"extents of 1", each([](Index) { return 1; })},
                     {"equal extents", {each([&](Index) { return most; })[0]}},
                     {"extents above 8",
                      each([](Index n) { return n > 8 ? n : n + 8; }),
                      {each([&](Index n) { return n * (8 / least + 1); })[0]}}};
  for (const Kind& kind : kinds) {
    bool taken = false, changed = false;
    for (const auto* growths : {&kind.growths, &kind.otherwise})
      for (std::size_t g = 0; g < growths->size() && !(taken && growths == &kind.otherwise); ++g) {
        const Growth& growth = (*growths)[g];
        if (std::ranges::all_of(growth, [&](const auto& entry) {
              return p.x[entry.first.input].size(entry.first.axis) == entry.second;
            }))
          continue;
        changed = true;
        if (elements_of(p, growth) > 8 * kMostDoubled) continue;
        Tensors x;
        const Found found = at_size(p, growth, x);
        if (found.kind == Found::Wrong && found.of_values)
          return doubtful(p, x, "right for the given sizes, wrong for other ones", found.why);
        taken = taken || found.kind == Found::Right;
      }
    if (changed && !taken) p.untried.push_back(kind.name);
  }
  return {Found::Right};
}

// All extents grow by one, or to the double if f takes no such sizes. Else one after the other grows. Equal extents
// grow together. `taken` receives the extents that f takes another size for.
Found together(Probe& p, const Extents& extents, Extents& taken) {
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
  const std::size_t at_once = growths.size();
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
        const bool is_one = g >= at_once || extents.size() == 1;
        Tensors of_one;
        if (const Found one = is_one ? found : at_size(p, alone[i], of_one); one.kind == found.kind)
          found.why = one.why;
        else
          continue;
        if (!is_one) x = of_one;
        const Index n = extent_alone[g >= at_once ? g - at_once : i];
        return doubtful(p, x,
                        "right for " + std::to_string(n) + ", wrong for " +
                            std::to_string(is_one && g == 1 && at_once == 2 ? 2 * n : n + 1),
                        found.why);
      }
      return doubtful(p, x, "right for the given sizes, wrong for other ones", found.why);
    }
    all = found;
    if (g < at_once) {
      taken = extents;
      break;
    }
    taken.insert(*extents.find(extent_alone[g - at_once]));
  }
  return all;
}

}  // namespace

Found other_sizes(Probe& p) {
  const Axes axes = axes_of(p);
  const Extents extents = axes.free();
  Found all{Found::Refused, "no other size was tried"};
  if (!extents.empty()) {
    Extents taken;
    all = together(p, extents, taken);
    if (all.kind == Found::Wrong || all.kind == Found::Doubtful) return all;
    if (!taken.empty() && p.calls.function().refuses_misfits)
      if (const Found special = special_sizes(p, taken); special.kind != Found::Right)
        return special;
  }
  if (!p.calls.function().refuses_misfits) {
    if (std::ranges::any_of(axes.every, [](const auto& entry) { return entry.second.size() > 1; }))
      p.untried.push_back("equal extents apart");
    p.untried.push_back("extents of 1, equal ones and those above 8");
    return all;
  }
  std::string listed;
  const Found each = apart(p, axes, listed);
  if (each.kind == Found::Wrong || each.kind == Found::Doubtful) return each;
  if (each.kind == Found::Right && all.kind != Found::Unknown)
    return {Found::Right, (all.kind == Found::Right ? all.why + ", " : "") + listed};
  return all;
}

}  // namespace glim::foreign

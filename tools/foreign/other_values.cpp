// Is backward right for other values? One that keeps what its first call gave is right for the given inputs alone.
//
// A function need not be defined at the values tried here: those that it refuses are skipped, and a wrong gradient fails
// the check only if what is special about the values does not explain it.
#include <algorithm>
#include <cmath>

#include "autograd/gradcheck/analytic.hpp"
#include "tensor/function_ref.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/foreign/other_inputs.hpp"

namespace glim::foreign {
namespace {

// The elements from `begin` on in the opposite order.
Tensor reversed_from(const Tensor& x, Index begin) {
  const Tensor y = x.clone();
  visit_dtype(x.dtype(),
              [&]<class T>() { std::reverse(y.data<T>() + begin, y.data<T>() + y.numel()); });
  return y;
}

}  // namespace

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

namespace {

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
  Tensors inputs = x;
  bool any = false;
  for (Tensor& one : inputs)
    if (!is_floating(one.dtype()) && one.numel() > 1) {
      one = reversed_from(one, 0);
      any = true;
    }
  if (!any) return {Found::Refused};
  const Tensors dy = p.random_dy(4);
  const Found found = compare_at(p, p.calls, inputs, dy);
  if (found.kind != Found::Wrong) return {Found::Refused};
  if (!same(p.calls.gradient(inputs, dy), p.calls.gradient(x, dy))) return {Found::Refused};
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

// Masks with half of their elements turned, and one that is all true. A wrong gradient leaves a doubt, unless it is the one
// that belongs to the given mask.
Found other_masks(Probe& p, const Tensors& x) {
  std::string name;
  bool taken = false;
  for (const std::uint64_t draw : {0, 1, 2}) {
    Tensors inputs = x;
    for (std::size_t k = 0; k < x.size(); ++k) {
      if (x[k].dtype() != DType::Bool || x[k].numel() == 0) continue;
      if (name.empty()) name = p.calls.inputs[k].name;
      const Tensor random = detail::random_like(x[k].to(DType::Float64), {draw, k});
      inputs[k] = draw == 2 ? ones(x[k].shape(), DType::Bool) : not_equal(x[k], greater(random, 0));
    }
    if (name.empty()) return {Found::Refused};
    const Tensors dy = p.random_dy(20 + draw);
    const Found found = compare_at(p, p.calls, inputs, dy);
    taken = taken || found.kind != Found::Refused;
    if (found.kind != Found::Wrong) continue;
    if (same(p.calls.gradient(inputs, dy), p.calls.gradient(x, dy)))
      return {Found::Wrong, "backward keeps " + name +
                                " of an earlier call: the gradient does not change with it"};
    return {Found::Doubtful, found.why + " for other elements of " + name};
  }
  if (!taken) p.untried.push_back("other elements of " + name);
  return {Found::Refused};
}

// Each element with its number.
Tensor changed_elements(const Tensor& x, FunctionRef<double(double value, Index number)> change) {
  std::vector<double> values = x.to(DType::Float64).to_vector<double>();
  for (Index i = 0; i < std::ssize(values); ++i) values[i] = change(values[i], i);
  return from_vector(values, x.shape()).to(x.dtype());
}

Tensor up_to_8(const Tensor& x) {
  const double most = x.numel() > 0 ? largest(x) : 0;
  return most > 0 && most < 8 ? (8 / most) * x : x;
}

// Values for which a function often has a case of its own. It may be meant for none of them. Elements in order stay so.
struct Special {
  const char* name;
  Tensor (*change)(const Tensor& x);
};
constexpr Special kSpecial[] = {
    {"negative values", [](const Tensor& x) { return reversed_from(-1 * x, 0); }},
    {"values beyond 3", up_to_8},
    {"negated values beyond 3", [](const Tensor& x) { return reversed_from(-1 * up_to_8(x), 0); }},
    {"ties",
     [](const Tensor& x) {
       const double unit = x.numel() > 0 && largest(x) > 0 ? largest(x) / 4 : 1;
       return changed_elements(x, [&](double v, Index) {
         return std::copysign(unit * std::max(1.0, std::ceil(std::abs(v) / unit)), v);
       });
     }},
    {"zeros",
     [](const Tensor& x) {
       const double small = x.numel() > 0 ? largest(x) / 3 : 0;
       return changed_elements(x, [&](double v, Index) { return std::abs(v) < small ? 0 : v; });
     }},
    {"constant rows", [](const Tensor& x) {
       double first = 0;
       return changed_elements(x, [&, n = x.rank() == 0 ? 1 : x.size(-1)](double v, Index i) {
         if (i % n == 0) first = v;
         return i / n % 2 == 0 ? first : v;
       });
     }}};

bool finite(const Tensors& list) {
  return std::ranges::all_of(list, [](const Tensor& x) {
    return !x.defined() || !is_floating(x.dtype()) || all_finite(x);
  });
}

// Does f take x, to finite values?
bool is_number(Probe& p, const Tensors& x) {
  try {
    return finite(p.calls.value(x));
  } catch (const std::exception&) {
    return false;
  }
}

// All inputs have such values, or one after the other if f does not take them.
Found special_values(Probe& p) {
  for (const Special& special : kSpecial) {
    bool taken = false, not_finite = false;
    for (std::size_t only = p.x.size() + 1; only-- > 0 && !taken;) {
      const Tensors x = changed(p, [&](const Tensor& one, std::size_t k) {
        return only == p.x.size() || only == k ? special.change(one) : one;
      });
      if (same(x, p.x)) continue;
      const Tensors dy = p.random_dy(30);
      if (!is_number(p, x) || bends(p, p.calls, x, dy)) continue;
      Tensors dx;
      const Found found = compare_at(p, p.calls, x, dy, &dx);
      if (found.kind == Found::Wrong && !finite(dx)) {  // f may have no derivative there
        not_finite = true;
        break;
      }
      if (found.kind == Found::Wrong)
        return {Found::Doubtful, "right for the given values, wrong for " +
                                     std::string(special.name) + ": " + found.why};
      taken = found.kind == Found::Right;
    }
    if (!taken)
      p.untried.push_back(std::string(special.name) +
                          (not_finite ? " (the gradient is not finite)" : ""));
  }
  return {Found::Right};
}

}  // namespace

// All inputs change, then their second halves alone, which keeps sums, and then a little. Then some of the inputs do:
// every two differ in a bit of their numbers.
Found other_values(Probe& p) {
  const Change all = [](const Tensor& x, std::size_t) { return shrunk(reversed_from(x, 0)); };
  const Tensors elsewhere = changed(p, all);
  std::vector<Tensors> places{elsewhere,
                              changed(p,
                                      [&](const Tensor&, std::size_t k) {
                                        return reversed_from(elsewhere[k],
                                                             elsewhere[k].numel() / 2);
                                      }),
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
    const Found result = values_at(p, x, dy, elsewhere, dx);
    if (result.kind == Found::Wrong)
      return {Found::Wrong, result.why +
                                " for other values: backward keeps what an earlier call gave, has "
                                "values written as numbers, or is right for equal elements alone"};
    if (result.kind == Found::Right) found = result, last = x, last_dy = dy, last_dx = dx;
    if (found.kind == Found::Refused && !result.why.empty()) found.why = result.why;
  }
  for (auto integers : {other_integers, integers_twice, other_masks})
    if (const Found wrong = integers(p, elsewhere); wrong.kind != Found::Refused) return wrong;
  if (found.kind != Found::Right) return found;
  if (!p.repeats()) return {Found::Wrong, kState};
  const Tensors rewritten = p.calls.rewritten(last, last_dy);
  if (!same(rewritten, last_dx) && !close(rewritten, last_dx, p.near))
    return {
        Found::Wrong,
        "backward keeps what it computed by the identity of its arrays: with other values in the "
        "same arrays it gives the old gradient"};
  if (const Found special = special_values(p); special.kind != Found::Right) return special;
  return found;
}

}  // namespace glim::foreign

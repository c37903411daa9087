// Names of mistakes. The checker has those that the two Jacobians tell (autograd/gradcheck/mistakes).
// These guesses call f and backward again, at another point or with other arguments.
#include <algorithm>
#include <cmath>

#include "autograd/restored.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tensor/print.hpp"
#include "tools/foreign/checks.hpp"
#include "tools/foreign/differences.hpp"

namespace glim::foreign {
namespace {

constexpr Index kMostElements = 4096;

// The gradient of input `k` beside the true one, for one random dy.
struct Wrong {
  Probe& p;
  std::size_t k;
  Tensor truth;
  const ComparedDerivative& worst;

  const Tensor& x() const { return p.x[k]; }
  const Tensor& dx() const { return p.dx[k]; }
  const std::string& name() const { return p.calls.inputs[k].name; }
  double near() const { return std::max(p.near, 1e-6); }
  bool equal(const Tensor& a, const Tensor& b) const { return close({a}, {b}, near()); }
};

// Σ dy f by differences, for each element of input k.
Tensor true_gradient(Probe& p, std::size_t k) {
  const Tensor d = zeros(p.x[k].shape(), DType::Float64);
  const double h = p.x[k].dtype() == DType::Float32 ? 0x1p-7 : 0x1p-17;
  auto along = [&](Index i, double step) {
    Tensors x = p.x;
    x[k] = p.x[k].clone();
    const Tensor element = narrow(reshape(x[k], {-1}), 0, i, 1);
    element.copy_(element + step);
    const Tensors y = p.calls.value(x);
    double sum = 0;
    for (std::size_t o = 0; o < y.size(); ++o)
      if (p.dy[o].defined()) sum += dot(p.dy[o].to(y[o].dtype()), y[o]);
    return sum;
  };
  for (Index i = 0; i < d.numel(); ++i)
    d.data<double>()[i] = (along(i, h) - along(i, -h)) / (2 * h);
  return d.to(p.x[k].dtype());
}

// Would `gradient` be right at `point`?
bool right(const Wrong& w, const Tensors& point,
           std::function<Tensors(const Tensors& x, const Tensors& dy)> gradient) {
  std::vector<GradcheckInput> inputs = w.p.calls.inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].value = point[i];
    inputs[i].check = i == w.k;
  }
  std::vector<bool> only_k(inputs.size());
  only_k[w.k] = true;
  const Restored want(w.p.calls.selection, only_k);
  try {
    // One call tells most guesses apart, where differences take hundreds.
    if (&point == &w.p.x && !close({gradient(point, w.p.dy)[w.k]}, {w.truth}, 1e-3)) return false;
    return right_along_two({w.p.calls.as_function().value, std::move(gradient)}, inputs,
                           w.p.along_one());
  } catch (const std::exception&) {  // backward does not take it
    return false;
  }
}

bool like(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype();
}

Tensors with(Tensors x, std::size_t k, const Tensor& replaced) {
  x[k] = replaced;
  return x;
}

// Is backward right if x and y change places, or along the other axis?
std::string other_argument(const Wrong& w) {
  Probe& p = w.p;
  if (p.y.size() != 1 || !like(p.y[0], w.x())) return "";
  if (right(w, p.x, [&](const Tensors& x, const Tensors& dy) {
        return p.calls.gradient(with(x, w.k, p.calls.value(x)[0]), dy);
      }))
    return "the gradient is written for the output, and reads " + w.name() + " in its place";
  const Tensors at_y = with(p.x, w.k, p.y[0]);  // backward may be right there, as that of sort
  if (right(w, at_y,
            [&](const Tensors&, const Tensors& dy) { return p.calls.gradient(p.x, dy); }) &&
      !right(w, at_y, p.calls.as_function().gradient))
    return "the derivative is taken at the output instead of at " + w.name();
  if (w.x().rank() < 2) return "";
  if (right(w, p.x, [&](Tensors x, const Tensors& dy) {
        for (std::size_t i = 0; i < x.size(); ++i)
          if (like(x[i], p.x[w.k])) x[i] = transpose(x[i]).contiguous();
        Tensors dx = p.calls.gradient(x, {transpose(dy[0]).contiguous()});
        dx[w.k] = transpose(dx[w.k]).contiguous();
        return dx;
      }))
    return "the gradient is that along the other axis";
  return "";
}

// x from the far end along its last axis, or along the last two.
Tensor reversed(const Tensor& x, int axes) {
  if (axes == 0) return x;
  const Tensor flip = reversed(x, axes - 1), y = flip.clone();
  const Index length = x.size(-axes);
  for (Index i = 0; i < length; ++i) select(y, -axes, i).copy_(select(flip, -axes, length - 1 - i));
  return y;
}

// Is it right if an input is reversed, or dy and the gradient?
std::string turned_input(const Wrong& w) {
  auto right_with = [&](std::size_t j, const Tensor& turned) {
    return right(w, w.p.x, [&](const Tensors& x, const Tensors& dy) {
      return w.p.calls.gradient(with(x, j, turned), dy);
    });
  };
  for (std::size_t j = 0; j < w.p.x.size(); ++j) {
    const Tensor& x = w.p.x[j];
    const std::string& name = w.p.calls.inputs[j].name;
    if (!is_floating(x.dtype()) || x.rank() == 0) continue;
    for (int axes = 1; axes <= std::min(x.rank(), 2); ++axes)
      if (right_with(j, reversed(x, axes)))
        return name + " is taken from its other end (a flip missing, or one too many)";
  }
  for (int axes = 1; axes <= std::min(w.x().rank(), 2); ++axes)
    if (w.p.y.size() == 1 && w.p.y[0].rank() >= axes &&
        right(w, w.p.x, [&](const Tensors& x, const Tensors& dy) {
          const Tensors dx = w.p.calls.gradient(x, {reversed(dy[0], axes)});
          return with(dx, w.k, reversed(dx[w.k], axes));
        }))
      return "the weights are taken from their other end (a flip missing, or one too many)";
  return "";
}

// Is it right if dy first goes through the derivative of a function that f may end with?
std::string last_function(const Wrong& w) {
  const Probe& p = w.p;
  if (p.y.size() != 1 || p.y[0].rank() == 0) return "";
  using Back = Tensor (*)(const Tensor& dy, const Tensor& y);
  const std::pair<const char*, Back> known[]{
      {"tanh", [](const Tensor& dy, const Tensor& y) { return dy - dy * y * y; }},
      {"sigmoid", [](const Tensor& dy, const Tensor& y) { return dy * y - dy * y * y; }},
      {"relu", [](const Tensor& dy, const Tensor& y) { return where(greater(y, 0), dy, 0 * dy); }},
      {"exp", [](const Tensor& dy, const Tensor& y) { return dy * y; }},
      {"softmax",
       [](const Tensor& dy, const Tensor& y) { return y * (dy - sum(dy * y, {-1}, true)); }}};
  for (const auto& [name, back] : known)
    if (right(w, p.x, [&, back = back](const Tensors& x, const Tensors& dy) {
          return p.calls.gradient(x, {back(dy[0], p.y[0])});
        }))
      return std::string("the derivative of the last function is forgotten, ") + name;
  return "";
}

// f that is quadratic in x has dx·x = 2 f. A backward that takes x for a constant at one of two places has half of that.
std::string one_use_of_two(const Wrong& w) {
  const double whole = dot(w.truth, w.x()), part = dot(w.dx(), w.x());
  if (w.x().numel() < 3 || std::abs(whole) < 1e-3) return "";
  if (std::abs(part / whole - 0.5) < w.near())
    return w.name() + " is used twice, and the gradient is that of one use";
  if (std::abs(part / whole - 1) < w.near())
    return w.name() + " is used twice, and one use is counted twice (as if it were symmetric)";
  return "";
}

// Arrays of y's shape that derivatives are made of.
std::vector<std::pair<std::string, Tensor>> known_arrays(const Wrong& w, const Tensor& y) {
  std::vector<std::pair<std::string, Tensor>> ratios;
  const Tensor one = ones(y.shape(), y.dtype());
  std::vector<std::pair<std::string, Tensor>> all{{"", one},
                                                  {"the output", y},
                                                  {"the output²", y * y},
                                                  {"1/the output", one / y},
                                                  {"(1 - the output)", one - y},
                                                  {"the output (1 - the output)", y * (one - y)},
                                                  {"(1 - the output²)", one - y * y}};
  for (std::size_t i = 0; i < w.p.x.size(); ++i) {
    const Tensor& x = w.p.x[i];
    if (x.dtype() != y.dtype() || !broadcasts(x.shape(), y.shape())) continue;
    const std::string& name = w.p.calls.inputs[i].name;
    all.emplace_back(name, x);
    all.emplace_back(name + "²", x * x);
    all.emplace_back("1/" + name, div(ones(x.shape(), x.dtype()), x));
    ratios.emplace_back("the output/" + name, y / x);
    for (std::size_t k = i + 1; k < w.p.x.size(); ++k)
      if (like(x, w.p.x[k]))
        ratios.emplace_back("(" + name + " - " + w.p.calls.inputs[k].name + ")", x - w.p.x[k]);
  }
  all.insert(all.end(), ratios.begin(), ratios.end());
  return all;
}

// y, or dy, as an array that x broadcasts to: a sum or mean over one axis, or all, is spread over x.
Tensor spread(const Tensor& y, const Shape& x) {
  if (broadcasts(x, y.shape())) return y;
  for (int axis = 0; axis <= y.rank() && y.rank() < x.rank(); ++axis)
    if (const Tensor rows = unsqueeze(y, axis); broadcasts(rows.shape(), x))
      return broadcast_to(rows, x);
  return y.numel() == 1 ? broadcast_to(reshape(y, {}), x) : Tensor();
}

// The gradient, or its difference to the true one, is dy times a known array.
std::string known_term(const Wrong& w) {
  const Probe& p = w.p;
  if (p.y.size() != 1 || w.x().numel() < 3 || w.x().dtype() != p.y[0].dtype()) return "";
  const Tensor y = spread(p.y[0], w.x().shape());
  if (!y.defined()) return "";
  const Tensor apart = w.dx() - w.truth, dy = spread(p.dy[0], w.x().shape());
  const double mean = static_cast<double>(y.numel()) / static_cast<double>(p.y[0].numel());
  for (const bool whole : {true, false})
    for (const auto& [name, array] : known_arrays(w, y)) {
      const Tensor term = sum_to(dy * array, w.x().shape());
      if (!all_finite(term)) continue;
      const std::string text = "dy" + (name.empty() ? "" : " times " + name);
      const double share = dot(w.dx(), term) / dot(term, term);
      if (whole && w.equal(w.dx(), share * term))
        return "the gradient is " + text +
               (std::abs(share - 1) > w.near() ? " times " + number_text(share, 6) : "");
      if (whole && name.empty() && w.equal(w.dx() + w.truth, term))
        return "the gradient is dy times (1 - the derivative)";
      const double c = dot(apart, term) / dot(term, term), size = std::abs(c);
      if (whole || !w.equal(apart, c * term)) continue;
      for (const double factor : {1.0, 2.0})
        if (std::abs(size - factor) < 1e-4 || std::abs(size * mean - factor) < 1e-4)
          return "a term " + text +
                 (factor == 2 ? " has the wrong sign"
                  : c < 0     ? " is missing"
                              : " is too many, or its subtraction is missing");
      return "a term " + text + " has a wrong factor: it is " + number_text(c, 4) +
             " times too many";
    }
  return "";
}

std::string other_order(const Wrong& w) {
  if (w.x().numel() < 3) return "";
  Tensors sorted;
  for (const Tensor& g : {w.dx(), w.truth}) {
    std::vector<double> values = g.to(DType::Float64).to_vector<double>();
    std::sort(values.begin(), values.end());
    sorted.push_back(from_vector(values, {g.numel()}));
  }
  return w.equal(sorted[0], sorted[1])
             ? "the right numbers at the wrong elements (a reshape for a transpose, a wrong index)"
             : "";
}

std::string small_constant(const Wrong& w) {
  const double share = largest(w.dx() - w.truth) / largest(w.truth);
  return share > 0.01 || w.worst.absolute() > 0.01 * std::abs(w.worst.numeric)
             ? ""
             : "right to " + number_text(100 * share, 2) +
                   " % of the largest: an epsilon forgotten or misplaced, or a constant rounded";
}

// The mistake's name at the same point, where f has output `o` alone.
std::string name_of_output(Probe& p, std::size_t o, const GradcheckOptions& options) {
  const Callbacks f{[&p, o](const Tensors& x) { return Tensors{p.calls.value(x)[o]}; },
                    [&p, o](const Tensors& x, const Tensors& dy) {
                      Tensors all = combine(0, p.dy, 0, p.dy);
                      all[o] = dy[0];
                      return p.calls.gradient(x, all);
                    }};
  Calls calls(f, p.calls.selected_inputs());
  Probe alone{calls, p.x, p.options, p.near, p.step, p.rounded, {p.y[o]}, {p.dy[o]}};
  alone.dx = alone.gradient(alone.dy);
  GradcheckReport report = differences(f, calls.selected_inputs(), options);
  const std::string name = report.failed() ? name_mistake(alone, report) : "";
  return name.empty() ? "" : name + ", of output " + std::to_string(o);
}

// A backward that rounds is not linear in dy to the tolerance of the derivatives. If `linear` has found it linear but for
// rounding, that is no mistake in dy. Where the gradient is right to as many digits, rounding is the mistake.
void name_rounding(Probe& p, GradcheckReport& wrong) {
  for (GradcheckEntry& e : wrong.inputs) {
    if (e.failed == 0) continue;
    if (e.mistake.name.starts_with("dy ")) e.mistake = {};
    if (numel_of(e.shape) <= kMostElements &&
        alike(p.dx[e.input], true_gradient(p, e.input), 8 * p.rounded))
      e.mistake = {"rounding: " + digits_of(p.rounded) +
                       ", and is right to these (half precision?): a larger rtol allows them",
                   e.failed};
  }
}

}  // namespace

std::string name_mistake(Probe& p, GradcheckReport& wrong) {
  if (p.rounded > 0) name_rounding(p, wrong);
  for (std::size_t o = 0; p.y.size() > 1 && o < p.y.size(); ++o)
    if (p.dy[o].defined())
      if (const std::string name = name_of_output(p, o, wrong.options); !name.empty()) return name;
  for (const GradcheckEntry& e : wrong.inputs) {
    if (e.failed == 0 || e.mistake.name.empty()) continue;
    const bool vague = e.mistake.name.starts_with("a factor that belongs to the output's");
    const std::string name = vague ? last_function({p, e.input, true_gradient(p, e.input), e}) : "";
    return name.empty() ? e.mistake.name : name;
  }
  for (const GradcheckEntry& e : wrong.inputs) {
    if (e.failed == 0 || e.rounds || numel_of(e.shape) > kMostElements) continue;
    const Wrong w{p, e.input, true_gradient(p, e.input), e};
    if (!all_finite(w.truth) || !all_finite(w.dx())) continue;
    // A gradient that is nearly right fits each guess.
    if (right(w, p.x, p.calls.as_function().gradient)) return small_constant(w);
    for (auto guess : {other_argument, known_term, other_order, small_constant, last_function,
                       turned_input, one_use_of_two})
      if (const std::string name = guess(w); !name.empty()) return name;
  }
  return "";
}

}  // namespace glim::foreign

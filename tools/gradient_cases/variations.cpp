// The variations of every Spec.
#include <algorithm>
#include <limits>
#include <utility>

#include "autograd/op_form.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tools/gradient_cases/spec.hpp"

namespace glim::specs {
namespace {

constexpr std::uint64_t kSeed = 1;

using Inputs = std::vector<Tensor>;
using Arrange = std::function<Tensor(const Tensor&)>;

// The values of x, stored in another order.
Tensor as_transposed(const Tensor& x) {
  if (x.rank() < 2) return x;
  return transpose(transpose(x, 0, -1).clone(), 0, -1);
}

// The values of x, within something larger: an offset, and a stride that is not 1.
Tensor as_cut(const Tensor& x) {
  if (x.rank() == 0) return x;
  Shape room = x.shape();
  int last = room.rank() - 1;
  room[last] = 2 * room[last] + 3;
  Tensor cut = slice(full(room, 1e30, x.dtype()), last, 1, 2 * x.shape()[last] + 1, 2);
  cut.copy_(x);
  return cut;
}

// The values of x, with NaN behind the axis's last element.
Tensor before_nan(const Tensor& x, int axis) {
  if (x.rank() == 0) return x;
  Shape room = x.shape();
  room[axis] += 16;
  Tensor part = narrow(full(room, std::numeric_limits<double>::quiet_NaN(), x.dtype()), axis, 0,
                       x.shape()[axis]);
  part.copy_(x);
  return part;
}

// Constant along the axis, by stride 0.
Tensor as_expanded(const Tensor& x, int axis) {
  if (axis >= x.rank() || x.shape()[axis] == 0) return x;
  return broadcast_to(narrow(x, axis, 0, 1), x.shape());
}

// f(x), drawing the same random numbers as every other time.
Var with_same_random(const std::function<Var(const Vars&)>& f, const Vars& x) {
  Generator before = std::exchange(generator(), Generator(kSeed));
  Var y = f(x);
  generator() = before;
  return y;
}

// A report of something that is no comparison of derivatives.
GradcheckReport verdict(const std::string& name, std::string problem) {
  GradcheckReport report;
  report.function = name;
  report.problem = std::move(problem);
  return report;
}

class Variations {
 public:
  Variations(const Family& family, DType dtype, std::vector<Case>& cases)
      : family_(family), dtype_(dtype), cases_(cases) {}

  void multiply(const Spec& s) {
    bool many = s.inputs(kSeed).size() > 1;
    check(s, "contiguous", {}, all(s));
    check(s, "second order", {.second_order = true}, all(s));
    arranged(s, "transposed", as_transposed);
    check(s, "projection", projection(), all(s));
    forms(s);
    before_nans(s);
    if (dtype_ != DType::Float64) return;
    arranged(s, "cut", as_cut);
    if (s.expand_axis >= 0)
      arranged(s, "expanded",
               [axis = s.expand_axis](const Tensor& x) { return as_expanded(x, axis); });
    twice(s);
    if (many) {
      subsets(s);
      if (s.expand_axis >= 0) expanded_one_by_one(s);
    }
    zero_upstream(s);
    unrecorded(s);
    if (s.fused) explicit_composition(s);
  }

  void multiply(const EmptySpec& s) {
    append(s.op, s.name + ", no elements", false, [s, dtype = dtype_] {
      Tape tape;
      Vars xs;
      for (const Shape& shape : s.inputs) xs.push_back(Var::leaf(zeros(shape, dtype)));
      Var y = s.f(xs);
      if (y.shape() != s.output)
        return verdict(s.op,
                       "gives " + to_string(y.shape()) + " instead of " + to_string(s.output));
      for (int order = 1; order <= 2; ++order) {
        Vars d = tape.grad(y, xs, ones(y.shape(), dtype), {.create_graph = true});
        for (std::size_t k = 0; k < xs.size(); ++k)
          if (d[k].shape() != xs[k].shape())
            return verdict(s.op, "gives a gradient of shape " + to_string(d[k].shape()));
        y = sum(d[0]);
      }
      return verdict(s.op, "");
    });
  }

 private:
  static GradcheckOptions projection() {
    GradcheckOptions o;
    o.mode = GradcheckOptions::Mode::Projection;
    o.directions = 2;
    return o;
  }

  // Which inputs need a gradient.
  static std::vector<bool> all(const Spec& s) {
    return std::vector<bool>(s.inputs(kSeed).size(), true);
  }

  void append(const std::string& op, const std::string& name, bool kinks,
              std::function<GradcheckReport()> check) {
    cases_.push_back({family_.name, op, name, std::move(check), kinks});
  }

  void check(const Spec& s, const std::string& variation, GradcheckOptions options,
             std::vector<bool> needs, std::vector<Arrange> arrange = {}) {
    std::string name = s.name + ", " + variation;
    options.name = s.op + " (" + name + ")";
    append(s.op, name, s.kinks, [=, dtype = dtype_] {
      UseForm fused(OpForm::Fused);
      std::vector<GradcheckInput> inputs;
      Inputs drawn = s.inputs(kSeed);
      for (std::size_t k = 0; k < drawn.size(); ++k) {
        Tensor x = drawn[k].to(dtype);
        if (k < arrange.size() && arrange[k]) x = arrange[k](x);
        inputs.emplace_back("", x, needs[k]);
      }
      return gradcheck(s.f, inputs, options);
    });
  }

  void arranged(const Spec& s, const std::string& variation, const Arrange& arrange) {
    std::vector<Arrange> each(s.inputs(kSeed).size(), arrange);
    check(s, variation, {}, all(s), each);
    if (dtype_ == DType::Float64)
      check(s, variation + ", second order", {.second_order = true}, all(s), each);
  }

  void expanded_one_by_one(const Spec& s) {
    std::size_t n = s.inputs(kSeed).size();
    for (std::size_t k = 0; k < n; ++k) {
      std::vector<Arrange> each(n);
      each[k] = [axis = s.expand_axis](const Tensor& x) { return as_expanded(x, axis); };
      check(s, "input " + std::to_string(k) + " expanded", {}, all(s), each);
    }
  }

  // One value as two inputs, where shapes allow it; and read by two ops.
  void twice(const Spec& s) {
    Inputs drawn = s.inputs(kSeed);
    Spec doubled = s;
    doubled.f = [f = s.f](const Vars& x) { return mul(f(x), f(x)); };
    check(doubled, "read by two ops", {}, all(s));
    // At a kink the second derivative of a product hangs on the conventions of both factors.
    if (!s.kinks) check(doubled, "read by two ops, second order", {.second_order = true}, all(s));
    for (std::size_t b = 1; b < drawn.size(); ++b) {
      if (drawn[b].shape() != drawn[b - 1].shape()) continue;
      Spec shared = s;
      // The later input's values, which may have the narrower domain.
      shared.inputs = [inputs = s.inputs, b](std::uint64_t seed) {
        Inputs list = inputs(seed);
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(b) - 1);
        return list;
      };
      shared.f = beside_inputs([f = s.f, b](const Vars& x) {  // x - x is constant
        Vars spread = x;
        spread.insert(spread.begin() + static_cast<std::ptrdiff_t>(b) - 1, x[b - 1]);
        return f(spread);
      });
      std::string pair = "inputs " + std::to_string(b - 1) + " and " + std::to_string(b) + " one";
      if (!s.kinks && s.expand_axis >= 0) {
        check(shared, pair, {}, all(shared));
        check(shared, pair + ", second order", {.second_order = true}, all(shared));
      }
    }
  }

  void subsets(const Spec& s) {
    std::size_t n = s.inputs(kSeed).size();
    for (unsigned bits = 1; bits + 1 < 1u << n; ++bits) {
      std::vector<bool> needs;
      std::string which;
      for (std::size_t k = 0; k < n; ++k) {
        needs.push_back(bits >> k & 1);
        if (needs.back()) which.append(" ").append(std::to_string(k));
      }
      check(s, "gradient of" + which + " alone", {}, needs);
      if (n == 2) check(s, "second order of" + which + " alone", {.second_order = true}, needs);
    }
  }

  void zero_upstream(const Spec& s) {
    append(s.op, s.name + ", zero upstream", false, [s, dtype = dtype_] {
      Tape tape;
      Vars xs;
      for (const Tensor& x : s.inputs(kSeed)) xs.push_back(Var::leaf(x.to(dtype)));
      Var y = s.f(xs);
      Vars d = tape.grad(y, xs, zeros(y.shape(), dtype));
      for (std::size_t k = 0; k < xs.size(); ++k)
        for (double e : d[k].value().to(DType::Float64).to_vector<double>())
          if (!(e == 0))
            return verdict(s.op, "makes a gradient of input " + std::to_string(k) + " from none");
      return verdict(s.op, "");
    });
  }

  // Recording must not change the value, and the op must be the one specified.
  void unrecorded(const Spec& s) {
    append(s.op, s.name + ", recorded or not", false, [s, dtype = dtype_] {
      Vars xs, constants;
      for (const Tensor& x : s.inputs(kSeed)) {
        xs.push_back(Var::leaf(x.to(dtype)));
        constants.push_back(Var(x.to(dtype)));
      }
      Tensor without = with_same_random(s.f, constants).value();
      Tape tape;
      Tensor with = with_same_random(s.f, xs).value();
      if (!same_bits(without.contiguous(), with.contiguous()))
        return verdict(s.op, "has another value when it is recorded");
      auto registered = registered_ops();
      bool is_op = std::find(registered.begin(), registered.end(), s.op) != registered.end();
      bool recorded = false;
      for (const Node& n : tape.nodes()) recorded |= n.name() == s.op;
      return verdict(s.op, is_op && !recorded ? "is not what its specification records" : "");
    });
  }

  void explicit_composition(const Spec& s) {
    Spec composed = s;
    composed.fused = false;
    composed.f = [f = s.f](const Vars& x) {
      UseForm primitives(OpForm::Explicit);
      return f(x);
    };
    check(composed, "explicit", {}, all(s));
    check(composed, "explicit, second order", {.second_order = true}, all(s));
  }

  // The three forms of an op are one: kernel = rule = derivative of the explicit forward, whichever
  // inputs need gradients. float64 to 1e-12, float32 to 1e-5 of the largest element.
  void forms(const Spec& s) {
    append(s.op, s.name + ", kernel = rule = explicit", s.kinks, [s, dtype = dtype_] {
      const Inputs drawn = s.inputs(kSeed);
      const unsigned every = (1u << drawn.size()) - 1;
      for (unsigned subset = every; subset > 0; --subset) {
        Vars xs, leaves;
        for (std::size_t k = 0; k < drawn.size(); ++k) {
          xs.push_back(subset >> k & 1 ? Var::leaf(drawn[k].to(dtype)) : Var(drawn[k].to(dtype)));
          if (subset >> k & 1) leaves.push_back(xs.back());
        }
        auto run = [&](OpForm m, bool recorded) {
          UseForm use(m);
          Tape tape;
          Var y = with_same_random(s.f, xs);
          Tensor dy = uniform(y.shape(), -1, 1, {kSeed, 7}, dtype);
          std::vector<Tensor> list{y.value()};
          for (const Var& d : tape.grad(y, leaves, dy, {.create_graph = recorded}))
            list.push_back(d.value());
          return list;
        };
        auto kernel = run(OpForm::Fused, false), rule = run(OpForm::Fused, true),
             primitives = run(OpForm::Explicit, false);
        for (std::size_t k = 0; k < kernel.size(); ++k) {
          const std::string what = (k ? "gradient " + std::to_string(k - 1) : "value") +
                                   " of subset " + std::to_string(subset);
          if (!close(kernel[k], rule[k]))
            return verdict(s.op, "has another " + what + " by its kernel than by its rule");
          if (!close(rule[k], primitives[k]))
            return verdict(s.op, "has another " + what + " by its rule than explicitly");
        }
      }
      return verdict(s.op, "");
    });
  }

  // Memory behind a tensor, or behind its rows, changes no bit.
  void before_nans(const Spec& s) {
    append(s.op, s.name + ", NaN behind it", false, [s, dtype = dtype_] {
      auto run = [&](const Arrange& arrange) {
        Vars xs;
        for (const Tensor& x : s.inputs(kSeed)) xs.push_back(Var::leaf(arrange(x.to(dtype))));
        Tape tape;
        Var y = with_same_random(s.f, xs);
        std::vector<Tensor> list{y.value()};
        for (const Var& d : tape.grad(y, xs, arrange(uniform(y.shape(), -1, 1, {kSeed, 7}, dtype))))
          list.push_back(d.value());
        return list;
      };
      const auto alone = run([](const Tensor& x) { return x.clone(); });
      for (int axis : {0, -1}) {
        const auto behind =
            run([axis](const Tensor& x) { return before_nan(x, axis < 0 ? x.rank() - 1 : 0); });
        for (std::size_t k = 0; k < alone.size(); ++k)
          if (!same_bits(alone[k].contiguous(), behind[k].contiguous()))
            return verdict(s.op, "reads behind its operands: another " +
                                     (k ? "gradient " + std::to_string(k - 1) : "value"));
      }
      return verdict(s.op, "");
    });
  }

  // Equal infinities are close, NaN is not.
  static bool close(const Tensor& a, const Tensor& b) {
    auto x = a.to(DType::Float64).to_vector<double>(), y = b.to(DType::Float64).to_vector<double>();
    double largest = 1;
    for (double v : y) largest = std::max(largest, std::abs(v));
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double bound =
          a.dtype() == DType::Float64 ? 1e-12 * (1 + std::abs(y[i])) : 1e-5 * largest;
      if (!(std::abs(x[i] - y[i]) <= bound) && x[i] != y[i]) return false;
    }
    return x.size() == y.size();
  }

  const Family& family_;
  DType dtype_;
  std::vector<Case>& cases_;
};

}  // namespace

void append_cases(const Family& family, DType dtype, std::vector<Case>& cases) {
  Variations m(family, dtype, cases);
  for (const Spec& s : family.specs) m.multiply(s);
  for (const EmptySpec& s : family.empty) m.multiply(s);
}

}  // namespace glim::specs

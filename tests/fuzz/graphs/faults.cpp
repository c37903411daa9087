// Rules, kernels and views that are wrong.
#include "tests/fuzz/graphs/faults.hpp"

#include "autograd/ops.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/parallel.hpp"
#include "tests/fuzz/graphs/catalogue.hpp"

namespace glim::fuzz {
namespace {

using Change = std::function<Var(const Var& d, const Var& x)>;

// y = x, whose gradient is `change` of dy: by the kernel alone, or by the rule as well.
struct Bent final : Unary<Bent> {
  static constexpr Formula formula{"planted.bent", "y = x", {"dx = a change of dy"}};
  Bent(Change c, bool k) : change(std::move(c)), kernel_alone(k) {}
  Tensor forward(const Tensor& x) {
    save(X);
    return x;
  }
  Var dx(const Var& dy) const { return kernel_alone ? dy : change(dy, x()); }
  Tensor kernel(const Tensor& dy) const { return change(dy, x().value()).value(); }
  Change change;
  bool kernel_alone;
};

// y = f(x), with the gradient of input 0 that `rule` gives, and of the others none.
struct Instead final : Unary<Instead> {
  static constexpr Formula formula{"planted.instead", "y = f(x)", {"dx = what the rule gives"}};
  using Rule = std::function<Var(const Var& dy, const Var& x, const Var& y)>;
  Instead(std::function<Tensor(const Tensor&)> f, Rule r)
      : function(std::move(f)), rule(std::move(r)) {}
  Tensor forward(const Tensor& x) {
    save(X);
    save_output();
    return function(x);
  }
  Var dx(const Var& dy) const { return rule(dy, x(), y()); }
  std::function<Tensor(const Tensor&)> function;
  Rule rule;
};

// The gradient of an input, or (kOutput) that of the output before the rule sees it.
constexpr int kOutput = -1, kLast = -2;
Fault bent(std::string where, std::string what, std::string op, int input, Change change,
           bool kernel_alone = false) {
  return {std::move(where), std::move(what), std::move(op), [=](const Step& right, const Vars& in) {
            Vars x = in;
            auto wrong = [&](const Var& v) { return apply(Bent(change, kernel_alone), v); };
            if (input != kOutput) {
              Var& operand = input == kLast ? x.back() : x[static_cast<std::size_t>(input)];
              operand = wrong(operand);
            }
            const Var y = right.run(right.module.get(), x);
            return input == kOutput ? wrong(y) : y;
          }};
}
Fault kernel(std::string what, std::string op, int input, Change change) {
  return bent("kernel", std::move(what), std::move(op), input, std::move(change), true);
}
Fault view(std::string what, std::string op, int input, Change change) {
  return bent("view", std::move(what), std::move(op), input, std::move(change));
}
Fault instead(std::string where, std::string what, std::string op, Instead::Rule r,
              std::function<Tensor(const Tensor& x, const Tensor& y)> value = {}) {
  return {std::move(where), std::move(what), std::move(op), [=](const Step& right, const Vars& in) {
            auto f = [=](const Tensor& x) {
              NoGrad no_tape;
              const Tensor y = right.run(right.module.get(), {Var(x)}).value();
              return value ? value(x, y) : y.clone();
            };
            return apply(Instead(f, r), in[0]);
          }};
}

// d with the elements at [start, end) of its flat order times `factor`.
Var partly(const Var& d, Index start, Index end, double factor) {
  const Index n = d.numel();
  Tensor f = ones({n}, d.dtype());
  if (start < end && start < n) slice(f, 0, start, std::min(end, n)).fill_(factor);
  return d * reshape(f, d.shape());
}
// Every row of the first axis in the place of the one before.
Var rolled(const Var& d) {
  if (d.rank() == 0 || d.size(0) < 2) return d;
  return concatenate({narrow(d, 0, 1, d.size(0) - 1), narrow(d, 0, 0, 1)}, 0);
}
bool is_square(const Var& d) { return d.rank() == 2 && d.size(0) == d.size(1); }

// A wrong rule for each op of random graphs.
std::vector<Fault> wrong_rules() {
  std::vector<Fault> all;
  for (const Kind& kind : op_kinds())
    all.push_back(bent("rule", kind.name + std::string(": 0.7 of the last operand's gradient"),
                       kind.name, kLast, [](Var d, Var) { return 0.7 * d; }));
  return all;
}

std::vector<Fault> wrong_kernels() {
  auto strided = [](const Var& v) { return !v.value().is_contiguous(); };
  return {
      kernel("silu: the remainder behind the last four", "silu", 0,
             [](Var d, Var) { return partly(d, d.numel() / 4 * 4, d.numel(), 0); }),
      kernel("layer_norm: x with strides", "layer_norm", 0,
             [=](Var d, Var x) { return strided(x) ? 2 * d : d; }),
      kernel("softmax: rows longer than 3", "softmax", 0,
             [](Var d, Var) { return d.rank() && d.size(-1) > 3 ? 1.5 * d : d; }),
      kernel("cos: an expanded dy", "cos", kOutput,
             [=](Var d, Var) { return strided(d) ? rolled(d) : d; }),
      kernel("relu: writes into dy", "relu", kOutput,
             [](Var d, Var) {
               const Tensor right = d.value().clone();
               if (d.value().is_contiguous()) mul_(d.value(), 1.5);
               return Var(right);
             }),
      kernel("linear: float32 alone", "linear", 0,
             [](Var d, Var) { return d.dtype() == DType::Float32 ? 1.01 * d : d; }),
      kernel("matmul: the last bit, by several threads", "matmul", 1,
             [](Var d, Var) { return num_threads() > 1 ? (1 + 0x1p-50) * d : d; }),
      kernel("gru_cell: one row", "gru_cell", 1,
             [](Var d, Var) { return d.size(0) == 1 ? 0.5 * d : d; }),
      kernel("abs: nothing for single elements", "abs", 0,
             [](Var d, Var) { return d.numel() == 1 ? 0 * d : d; }),
      kernel("rms_norm: rank 3 and more", "rms_norm", 0,
             [](Var d, Var x) { return x.rank() > 2 ? -d : d; }),
      kernel("packed_attention: the last head's keys", "packed_attention", 0,
             [](Var d, Var) { return partly(d, d.numel() - 1, d.numel(), 2); }),
      kernel("linear_relu: the mask is ignored in the first row", "linear_relu", 0,
             [](Var d, Var) { return partly(d, 0, 1, 1.25); }),
  };
}

std::vector<Fault> wrong_views() {
  return {
      view("transpose: not turned back where square", "transpose", 0,
           [](Var d, Var) { return is_square(d) ? transpose(d) : d; }),
      instead(
          "view", "reshape: takes the order of storage", "reshape",
          [](Var d, Var x, Var) { return reshape(d, x.shape()); },
          [](const Tensor& x, const Tensor& y) {
            const bool fits =
                !x.is_contiguous() &&
                x.offset() + x.numel() <= Index(x.storage().bytes() / size_of(x.dtype()));
            return fits ? Tensor::from_storage(x.storage(), x.offset(), y.shape(), {1}, x.dtype())
                        : y.clone();
          }),
      view("narrow: its start is forgotten", "narrow", 0, [](Var d, Var) { return rolled(d); }),
      view("slice: its step is forgotten", "slice", 0, [](Var d, Var) { return rolled(d); }),
      instead("view", "broadcast_to: the mean of the repeats", "broadcast_to",
              [](Var d, Var x, Var) {
                return d.numel() ? sum_to(d, x.shape()) * (static_cast<double>(x.numel()) /
                                                           static_cast<double>(d.numel()))
                                 : sum_to(d, x.shape());
              }),
      view("concatenate: the second part's rows change places", "concatenate", 1,
           [](Var d, Var) { return rolled(d); }),
      view("select: the row after", "select", 0, [](Var d, Var) { return rolled(d); }),
      view("stack: the last part alone", "stack", 1, [](Var d, Var) { return 0 * d; }),
  };
}

}  // namespace

std::vector<Fault> op_faults() {
  std::vector<Fault> all;
  for (auto part : {wrong_rules, wrong_kernels, wrong_views})
    for (Fault& f : part()) all.push_back(std::move(f));
  return all;
}

}  // namespace glim::fuzz

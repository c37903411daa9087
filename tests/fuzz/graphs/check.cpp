#include "tests/fuzz/graphs/check.hpp"

#include <fmt/format.h>

#include "autograd/gradcheck/gradcheck.hpp"
#include "autograd/observe/hook.hpp"
#include "autograd/observe/watch.hpp"
#include "autograd/op_form.hpp"
#include "autograd/tape.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tensor/parallel.hpp"
#include "tests/fuzz/graphs/faults.hpp"

namespace glim::fuzz {
namespace {

using Tensors = std::vector<Tensor>;
Compared counted;

struct Way {
  bool recorded = false;    // the rules, in place of kernels
  bool explicitly = false;  // the explicit ops
  bool looked_on = false;   // hooks and watches, which change nothing
  bool one_region = false;  // all of it is recomputed
  bool regions = false;     // each step is
};

Vars leaves_of(const Graph& g) {
  Vars leaves;
  for (const auto& [name, leaf] : g.parameters()) leaves.push_back(leaf);
  return leaves;
}

Tensor upstream(const Var& y) {
  return normal(y.shape(), 0, 1, {7, 7}, DType::Float32).to(y.dtype());
}

Var run(const Graph& g, const Way& way = {}) {
  Situation now({.looked_on = way.looked_on, .recomputed = way.regions || way.one_region});
  auto graph = [g, way] {
    return g.run([way](const Step& step, const Vars& in) {
      auto one = [step, in] { return run_step(step, in); };
      return way.regions ? recomputed(one) : one();
    });
  };
  return way.one_region ? recomputed(graph) : graph();
}

Tensors pass(const Graph& g, const Way& way = {}) {
  UseForm use(way.explicitly ? OpForm::Explicit : OpForm::Fused);
  const Vars leaves = leaves_of(g);
  Tape tape;
  observe_faults(tape);
  std::optional<Watch> watch;
  std::optional<Hook> hook;
  if (way.looked_on) {
    watch.emplace(tape, "*");
    hook.emplace(tape, "*", [](const Var&) { return Var(); });
  }
  const Var y = run(g, way);
  Situation now({.looked_on = way.looked_on, .recomputed = way.regions || way.one_region});
  Tensors found{y.value()};
  for (const Var& d : tape.grad(y, leaves, upstream(y), {.create_graph = way.recorded}))
    found.push_back(d.value());
  return found;
}

// max |a - b| over 1 + max |b|
double distance(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape()) return 1;
  if (a.numel() == 0) return 0;
  return max(abs(sub(a, b))).item() / (1 + max(abs(b)).item());
}

std::string name_of(const Graph& g, std::size_t i) {  // in what pass() gives
  return i == 0 ? "the value" : "the gradient of " + g.parameters()[i - 1].first;
}

// Empty unless some tensor is further from the other than `most`; 0 asks for the same bits.
std::string differs(const Graph& g, const char* how, const Tensors& found, const Tensors& right,
                    double most) {
  for (std::size_t i = 0; i < right.size(); ++i) {
    const bool near = most == 0 ? same_bits(found[i].contiguous(), right[i].contiguous())
                                : distance(found[i], right[i]) <= most;
    if (near) continue;
    return fmt::format("{}: {} differs by {:.2g}", how, name_of(g, i),
                       distance(found[i], right[i]));
  }
  return "";
}

// Two backwards of one retained tape from one dy, which stays as it is, and one of a tape within another.
std::string repeated(const Graph& g, const Tensors& plain) {
  const Vars leaves = leaves_of(g);
  Tape outer;
  observe_faults(outer);
  const Var y = run(g), dy = upstream(y);
  for (const bool first : {true, false}) {
    if (first) pass(g);  // on a tape of its own, while this one waits
    Tensors found{y.value()};
    for (const Var& d : outer.grad(y, leaves, dy, {.retain = first})) found.push_back(d.value());
    if (auto other = differs(g, first ? "a retained tape" : "its second backward", found, plain, 0);
        !other.empty())
      return other;
  }
  return "";
}

std::string by_threads(const Graph& g) {
  const int before = num_threads();
  set_num_threads(1);
  const Tensors one = pass(g);
  set_num_threads(3);
  const Tensors three = pass(g);
  set_num_threads(before);
  return differs(g, "three threads", three, one, 0);
}

// The error that float32 may make: 64 times that of moving each leaf by its last bit in float64.
std::string in_float32(const Graph& g, const Tensors& plain) {
  g.to(DType::Float32);
  const Tensors kernels = pass(g), rules = pass(g, {.recorded = true});
  g.to(DType::Float64);
  std::uint64_t stream = 0;
  for (const auto& [name, leaf] : g.parameters()) {
    const Tensor x = leaf.value();
    const Tensor last_bit = uniform(x.shape(), -0x1p-23, 0x1p-23, {3, stream++}, DType::Float64);
    leaf.leaf().value = add(x, mul(x, last_bit));
  }
  const Tensors moved = pass(g);
  g.to(DType::Float64);
  for (const Step& step : g.steps)
    if (step.module) draw_parameters(*step.module, step.module_key);
  for (std::size_t i = 0; i < plain.size(); ++i)
    for (const Tensors& found : {kernels, rules}) {
      const double apart = distance(found[i].to(DType::Float64), plain[i]);
      const double allowed = 1e-4 + 64 * distance(moved[i], plain[i]);
      if (!(apart <= allowed))
        return fmt::format("float32: {} differs by {:.2g}, allowed is {:.2g}", name_of(g, i), apart,
                           allowed);
    }
  return "";
}

// Where equal values meet a kink, an op passes on a subgradient, and what the ops after it make of several need not be
// one: max(x, min(x, y)) is x, and at x = y gets 3/4 of the gradient from rules that halve it (Bolte & Pauwels 2021,
// "Conservative set valued fields"). Nor is the value sure: a norm of equal values is 0 or 1e-17, as it is computed,
// and relu tells them apart. The leaves are at a point nearby, where no two values are equal, while this lives.
class AwayFromTies {
 public:
  explicit AwayFromTies(const Graph& g) : graph_(g) {
    std::uint64_t stream = 0;
    for (const GraphLeaf& leaf : g.leaves) {
      const Tensor x = leaf.var.value();
      leaf.var.leaf().value = add(x, uniform(x.shape(), -0.01, 0.01, {5, stream++}, x.dtype()));
    }
    ++counted.ties;
  }
  ~AwayFromTies() {
    for (const GraphLeaf& leaf : graph_.leaves) leaf.var.leaf().value = leaf.make(DType::Float64);
  }

 private:
  const Graph& graph_;
};

// Another way to the same value and gradients: as differs().
std::string by_another_way(const Graph& g, const char* how, const Way& way, const Tensors& plain,
                           double most) {
  std::string found = differs(g, how, pass(g, way), plain, most);
  if (found.empty() || most == 0 || !g.kinks) return found;
  AwayFromTies nearby(g);
  return differs(g, how, pass(g, way), pass(g), most);
}

std::string by_differences(const Graph& g, const Checks& checks) {
  const auto f = [&] {
    if (Tape* tape = Tape::open()) observe_faults(*tape);
    return run(g);
  };
  GradcheckOptions options;
  options.mode = GradcheckOptions::Mode::Projection;
  for (const bool second : {false, true}) {
    if (second && !checks.second_order) break;
    options.second_order = second;
    options.precise = checks.precise && !second && !g.kinks;
    // A graph may have no gradient but zeros, which decides nothing and is no fault. It is counted.
    const auto wrong = [](const GradcheckReport& r) { return !r.passed() && !r.undecided(); };
    const auto report = gradcheck(f, g.parameters(), options);
    if (wrong(report)) {
      if (!g.kinks) return report.to_string();
      AwayFromTies nearby(g);
      if (wrong(gradcheck(f, g.parameters(), options))) return report.to_string();
    }
    if (options.precise) {
      ++counted.precise_graphs;
      counted.derivatives += report.checked();
      counted.low_precision += report.low_precision();
    }
    counted.undecidable += report.undecidable();
    counted.undecided += report.undecided();
  }
  return "";
}

}  // namespace

const Compared& compared() { return counted; }

std::string check(const Graph& graph, const Checks& checks) {
  try {
    const Tensors plain = pass(graph);
    const struct {
      const char* name;
      Way way;
      double most;
    } ways[] = {{"the recorded backward", {.recorded = true}, 1e-10},
                {"the explicit ops", {.explicitly = true}, 1e-10},
                {"hooks and watches", {.looked_on = true}, 0},
                {"one checkpointed region", {.one_region = true}, 0},
                {"checkpointed regions", {.regions = true}, 1e-12}};
    for (const auto& [name, way, most] : ways) {
      if (!checks.bits && !way.recorded && !way.explicitly) break;
      if (auto found = by_another_way(graph, name, way, plain, most); !found.empty()) return found;
    }
    if (checks.bits)
      if (auto found = repeated(graph, plain); !found.empty()) return found;
    if (checks.threads)
      if (auto found = by_threads(graph); !found.empty()) return found;
    if (checks.float32)
      if (auto found = in_float32(graph, plain); !found.empty()) return found;
    return checks.differences ? by_differences(graph, checks) : "";
  } catch (const Error& e) {
    return e.one_line();
  }
}

}  // namespace glim::fuzz

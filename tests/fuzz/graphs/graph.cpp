#include "tests/fuzz/graphs/graph.hpp"

#include <fmt/format.h>
#include <optional>

#include "autograd/apply.hpp"
#include "autograd/gradcheck/gradcheck.hpp"
#include "autograd/magnification.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"

namespace glim::fuzz {
namespace {

using Vars = std::vector<Var>;

bool planted = false;

// y = tanh x with a sign forgotten: dx = dy (1 + y²).
struct WrongTanh final : Unary<WrongTanh> {
  static constexpr Formula formula{"wrong_tanh", "y = tanh x", {"dx = dy (1 + y²)"}};
  Tensor forward(const Tensor& x) {
    save_output();
    return glim::tanh(x);
  }
  Var dx(const Var& dy) const { return dy * (1 + y() * y()); }
};

class Maker {
 public:
  Maker(std::mt19937_64& random, int most) : random_(random), most_(most) {}

  Graph make() {
    for (Index n = below(3); n >= 0; --n) add_leaf();
    const Index wanted = 1 + below(most_);
    for (int tries = 0; std::ssize(graph_.steps) < wanted && tries < 20 * most_; ++tries)
      if (auto step = random_step()) try_step(std::move(*step));
    return std::move(graph_);
  }

 private:
  Index below(Index n) { return static_cast<Index>(random_() % static_cast<std::uint64_t>(n)); }
  bool chance(Index in) { return below(in) == 0; }

  Shape random_shape() {
    Shape s;
    const Index rank = below(7), most = rank < 5 ? 4 : 2;
    for (Index a = 0; a < rank; ++a) s.push_back(chance(30) ? 0 : 1 + below(most));
    return s;
  }

  void add_leaf() {
    const Shape shape = random_shape();
    const std::uint64_t key = random_();
    const int rank = shape.rank();
    auto fresh = [&](const Shape& s) { return normal(s, 0, 1, {key, 0}, DType::Float64); };
    auto code = [&](const Shape& s) {
      return fmt::format("normal(Shape{{{}}}, 0, 1, {{{}u, 0}}, DType::Float64)", list(s), key);
    };
    Tensor x = fresh(shape);
    std::string text = code(shape);
    Shape larger = shape;
    switch (rank > 0 ? below(4) : 0) {
      case 1:
        std::swap(larger[0], larger[rank - 1]);
        x = transpose(fresh(larger), 0, rank - 1);
        text = fmt::format("transpose({}, 0, {})", code(larger), rank - 1);
        break;
      case 2:
        larger[0] *= 2;
        x = slice(fresh(larger), 0, 0, larger[0], 2);
        text = fmt::format("slice({}, 0, 0, {}, 2)", code(larger), larger[0]);
        break;
      case 3:
        larger[0] = 1;
        x = broadcast_to(fresh(larger), shape);
        text = fmt::format("broadcast_to({}, {{{}}})", code(larger), list(shape));
        break;
      default:
        break;
    }
    graph_.leaves.push_back(x);
    graph_.leaf_code.push_back(text);
    values_.emplace_back(x);
  }

  static std::string list(const Shape& s) {
    std::string text;
    for (int i = 0; i < s.rank(); ++i) text += (i ? ", " : "") + std::to_string(s[i]);
    return text;
  }
  Step of(std::vector<int> inputs, std::string code, std::function<Var(const Vars&)> run) {
    return {std::move(inputs), std::move(code), std::move(run)};
  }

  std::optional<Step> random_step() {
    // The newer a value, the likelier it is read.
    const auto count = std::ssize(values_);
    const int a = static_cast<int>(count - 1 - std::min(below(count), below(count)));
    const int b = static_cast<int>(below(count));
    const Shape s = values_[static_cast<std::size_t>(a)].shape();
    const int rank = s.rank();
    const Index axis = rank > 0 ? below(rank) : 0;
    if (planted && chance(12))
      return of({a}, "wrong_tanh($0)", [](const Vars& v) { return apply(WrongTanh{}, v[0]); });
    switch (below(30)) {
      case 0:
        return of({a}, "tanh($0)", [](const Vars& v) { return tanh(v[0]); });
      case 1:
        return of({a}, "sigmoid($0)", [](const Vars& v) { return sigmoid(v[0]); });
      case 2:
        return of({a}, "exp($0)", [](const Vars& v) { return exp(v[0]); });
      case 3:
        return of({a}, "gelu($0)", [](const Vars& v) { return gelu(v[0]); });
      case 4:
        return of({a}, "silu($0)", [](const Vars& v) { return silu(v[0]); });
      case 5:
        return of({a}, "erf($0)", [](const Vars& v) { return erf(v[0]); });
      case 6:
        return of({a}, "sin($0)", [](const Vars& v) { return sin(v[0]); });
      case 7:
        return of({a}, "sqrt(1 + $0 * $0)", [](const Vars& v) { return sqrt(1 + v[0] * v[0]); });
      case 8:
        return of({a}, "log(1 + $0 * $0)", [](const Vars& v) { return log(1 + v[0] * v[0]); });
      case 9: {  // not at its kink
        const Tensor& x = values_[static_cast<std::size_t>(a)].value();
        if (x.numel() > 0 && min(abs(x)).item() < 1e-3) return std::nullopt;
        return of({a}, "relu($0)", [](const Vars& v) { return relu(v[0]); });
      }
      case 10:
        return of({a, b}, "$0 + $1", [](const Vars& v) { return v[0] + v[1]; });
      case 11:
        return of({a, b}, "$0 * $1", [](const Vars& v) { return v[0] * v[1]; });
      case 12:
        return of({a, b}, "$0 - $1", [](const Vars& v) { return v[0] - v[1]; });
      case 13:
        return of({a, b}, "$0 / (1 + $1 * $1)",
                  [](const Vars& v) { return v[0] / (1 + v[1] * v[1]); });
      case 14:
        return of({a, b}, "matmul($0, transpose($1))",
                  [](const Vars& v) { return matmul(v[0], transpose(v[1])); });
      case 15:
        return of({a, b}, "matmul($0, $1)", [](const Vars& v) { return matmul(v[0], v[1]); });
      default:
        break;
    }
    if (rank == 0) return std::nullopt;
    const bool keep = chance(2);
    const char* flag = keep ? "true" : "false";
    const std::uint64_t key = random_();
    const Index first = below(s[static_cast<int>(axis)] + 1),
                length = below(s[static_cast<int>(axis)] - first + 1);
    switch (below(16)) {
      case 0:
        return of({a}, fmt::format("softmax($0, {})", axis),
                  [=](const Vars& v) { return softmax(v[0], axis); });
      case 1:
        return of({a}, fmt::format("log_softmax($0, {})", axis),
                  [=](const Vars& v) { return log_softmax(v[0], axis); });
      case 2:
        return of({a}, fmt::format("logsumexp($0, {}, {})", axis, flag),
                  [=](const Vars& v) { return logsumexp(v[0], axis, keep); });
      case 3:
        return of({a}, fmt::format("sum($0, {{{}}}, {})", axis, flag),
                  [=](const Vars& v) { return sum(v[0], {axis}, keep); });
      case 4:
        return of({a}, fmt::format("mean($0, {{{}}}, {})", axis, flag),
                  [=](const Vars& v) { return mean(v[0], {axis}, keep); });
      case 5:
        return of({a}, fmt::format("cumsum($0, {})", axis),
                  [=](const Vars& v) { return cumsum(v[0], axis); });
      case 6:
        return of({a}, fmt::format("narrow($0, {}, {}, {})", axis, first, length),
                  [=](const Vars& v) { return narrow(v[0], axis, first, length); });
      case 7:
        return of({a}, fmt::format("transpose($0, 0, {})", axis),
                  [=](const Vars& v) { return transpose(v[0], 0, axis); });
      case 8:
        return of({a}, "reshape($0, {-1})", [](const Vars& v) { return reshape(v[0], {-1}); });
      case 9:
        return of({a, b}, fmt::format("concatenate({{$0, $1}}, {})", axis), [=](const Vars& v) {
          return concatenate({v[0], v[1]}, axis);
        });
      case 10:
        return of({a}, fmt::format("unsqueeze($0, {})", axis),
                  [=](const Vars& v) { return unsqueeze(v[0], axis); });
      case 11:
        return of({a}, "layer_norm($0, Var(), Var(), 0.1)",
                  [](const Vars& v) { return layer_norm(v[0], Var(), Var(), 0.1); });
      case 12:
        return of({a}, "rms_norm($0, Var(), 0.1)",
                  [](const Vars& v) { return rms_norm(v[0], Var(), 0.1); });
      case 13:
        return of({a}, fmt::format("dropout($0, 0.3, {{{}u, 0}})", key), [=](const Vars& v) {
          return dropout(v[0], 0.3, {key, 0});
        });
      case 14: {
        Shape wider = s;
        wider[static_cast<int>(axis)] =
            s[static_cast<int>(axis)] == 1 ? 3 : s[static_cast<int>(axis)];
        return of({a}, fmt::format("broadcast_to($0, {{{}}})", list(wider)),
                  [=](const Vars& v) { return broadcast_to(v[0], wider); });
      }
      default:
        return of({a}, "recomputed([x = $0] { return tanh(x) * x; })",
                  [](const Vars& v) { return recomputed([x = v[0]] { return tanh(x) * x; }); });
    }
  }

  // Leaves out what the op refuses, and what leaves the numbers that differences can check; so do norms of equal
  // elements with a small ε, whose gradient is 1/√ε times as large.
  void try_step(Step step) {
    NoGrad no_tape;
    Vars in;
    for (int i : step.inputs) in.push_back(values_[static_cast<std::size_t>(i)]);
    try {
      Var y = step.run(in);
      if (y.numel() > 400 || y.rank() > 6) return;
      if (y.numel() > 0 && !(max(abs(y.value())).item() < 100)) return;
      values_.push_back(y);
    } catch (const Error&) {
      return;
    }
    graph_.steps.push_back(std::move(step));
  }

  std::mt19937_64& random_;
  Index most_;
  Graph graph_;
  std::vector<Var> values_;
};

// max |a - b| over 1 + max |b|
double distance(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape()) return 1;
  if (a.numel() == 0) return 0;
  return max(abs(sub(a, b))).item() / (1 + max(abs(b)).item());
}

// Value and gradients of Σ u y, u fixed.
std::vector<Tensor> pass(const Graph& g, bool recorded, bool explicitly) {
  Magnify magnify(explicitly ? Magnification::Explicit : Magnification::Fused);
  Tape tape;
  std::vector<Var> leaves;
  for (const Tensor& x : g.leaves) leaves.push_back(Var::leaf(x));
  Var y = g.run(leaves);
  Tensor u = normal(y.shape(), 0, 1, {7, 7}, y.dtype());
  std::vector<Tensor> found{y.value()};
  for (const Var& d : tape.grad(y, leaves, u, {.create_graph = recorded}))
    found.push_back(d.value());
  return found;
}

// Two backwards of one retained tape, and one of a tape within another, give the same bits.
std::string repeated(const Graph& g, const std::vector<Tensor>& plain) {
  Tape outer;
  std::vector<Var> leaves;
  for (const Tensor& x : g.leaves) leaves.push_back(Var::leaf(x));
  Var y = g.run(leaves);
  Tensor u = normal(y.shape(), 0, 1, {7, 7}, y.dtype());
  for (const bool first : {true, false}) {
    if (first) pass(g, false, false);  // on a tape of its own, while this one waits
    const std::vector<Var> d = outer.grad(y, leaves, u, {.retain = first});
    for (std::size_t i = 0; i < d.size(); ++i)
      if (distance(d[i].value(), plain[i + 1]) != 0)
        return fmt::format("{}: the gradient of v{} has other bits",
                           first ? "a retained tape" : "a retained tape's second backward", i);
  }
  return "";
}

}  // namespace

void plant() { planted = true; }

Var Graph::run(const std::vector<Var>& given) const {
  std::vector<Var> values = given;
  for (const Step& step : steps) {
    std::vector<Var> in;
    for (int i : step.inputs) in.push_back(values[static_cast<std::size_t>(i)]);
    values.push_back(step.run(in));
  }
  std::vector<Var> unread;
  for (int i : outputs()) unread.push_back(reshape(values[static_cast<std::size_t>(i)], {-1}));
  return concatenate(unread, 0);
}

std::vector<int> Graph::outputs() const {
  std::vector<bool> read(leaves.size() + steps.size(), false);
  std::fill_n(read.begin(), leaves.size(), true);
  for (const Step& step : steps)
    for (int i : step.inputs) read[static_cast<std::size_t>(i)] = true;
  std::vector<int> unread;
  for (std::size_t i = 0; i < read.size(); ++i)
    if (!read[i]) unread.push_back(static_cast<int>(i));
  return unread;
}

std::string Graph::program() const {
  std::string text = "Tape tape;\n";
  for (std::size_t i = 0; i < leaves.size(); ++i)
    text += fmt::format("Var v{} = Var::leaf({});\n", i, leaf_code[i]);
  for (std::size_t k = 0; k < steps.size(); ++k) {
    std::string code = steps[k].code;
    for (std::size_t i = 0; i < steps[k].inputs.size(); ++i) {
      const std::string name = "$" + std::to_string(i);
      for (std::size_t at; (at = code.find(name)) != code.npos;)
        code.replace(at, name.size(), "v" + std::to_string(steps[k].inputs[i]));
    }
    text += fmt::format("Var v{} = {};\n", leaves.size() + k, code);
  }
  text += "// the output:";
  for (int i : outputs()) text += fmt::format(" v{}", i);
  return text + "\n";
}

Graph random_graph(std::mt19937_64& random, int most_steps) {
  return Maker(random, most_steps).make();
}

std::string check(const Graph& graph, bool deep) {
  try {
    const auto plain = pass(graph, false, false);
    const char* names[] = {"", "the recorded backward", "the explicit ops"};
    for (int way : {1, 2}) {
      const auto other = pass(graph, way == 1, way == 2);
      for (std::size_t i = 0; i < plain.size(); ++i)
        if (!(distance(other[i], plain[i]) < 1e-10))
          return fmt::format("{}: {} differs by {:.2g}", names[way],
                             i == 0 ? "the value" : "the gradient of v" + std::to_string(i - 1),
                             distance(other[i], plain[i]));
    }
    if (std::string other = repeated(graph, plain); !other.empty()) return other;
    std::vector<GradcheckInput> inputs;
    for (const Tensor& x : graph.leaves) inputs.emplace_back(x);
    GradcheckOptions options;
    options.mode = GradcheckOptions::Mode::Projection;
    for (bool second : {false, true}) {
      if (second && !deep) break;
      options.second_order = second;
      auto report =
          gradcheck([&](const std::vector<Var>& v) { return graph.run(v); }, inputs, options);
      if (!report) return report.to_string();
    }
    return "";
  } catch (const Error& e) {
    return e.one_line();
  }
}

Graph reduced(Graph graph, bool deep) {
  auto without = [](Graph g, std::size_t k, int by) {  // step k, whose readers read `by`
    const int gone = static_cast<int>(g.leaves.size() + k);
    g.steps.erase(g.steps.begin() + static_cast<std::ptrdiff_t>(k));
    for (std::size_t i = k; i < g.steps.size(); ++i)
      for (int& input : g.steps[i].inputs)
        input = input == gone ? by : input > gone ? input - 1 : input;
    return g;
  };
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (std::size_t k = graph.steps.size(); k-- > 0 && !smaller;)
      for (int by : graph.steps[k].inputs) {
        Graph less = without(graph, k, by);
        if (less.steps.empty() || check(less, deep).empty()) continue;
        graph = std::move(less);
        smaller = true;
        break;
      }
  }
  return graph;
}

}  // namespace glim::fuzz

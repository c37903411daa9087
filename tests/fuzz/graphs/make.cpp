#include "tests/fuzz/graphs/make.hpp"

#include <fmt/format.h>
#include <map>

#include "autograd/tape.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tests/fuzz/graphs/catalogue.hpp"

namespace glim::fuzz {
namespace {

std::string code_of(const Shape& s) { return fmt::format("Shape{{{}}}", list(s)); }

// The code of a kind with its operands and constants put in: `x` becomes $0, `c.axis` its number.
std::string with_constants(const char* code, const std::map<std::string, std::string>& words) {
  std::string text;
  auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (const char* p = code; *p;) {
    if (!in_word(*p)) {
      text += *p++;
      continue;
    }
    const char* end = p;
    while (in_word(*end)) ++end;
    if (end - p == 1 && *p == 'c' && *end == '.')
      for (++end; in_word(*end);) ++end;
    const std::string word(p, end);
    const bool member = !text.empty() && text.back() == '.';
    const auto known = member ? words.end() : words.find(word);
    text += known == words.end() ? word : known->second;
    p = end;
  }
  return text;
}

class Maker {
 public:
  Maker(std::mt19937_64& random, const GraphSize& size) : random_(random), size_(size) {}

  Graph make() {
    const Index first = 1 + below(3);
    for (Index n = 0; n < first; ++n) add_leaf(random_shape());
    const auto wanted = size_.every_kind ? std::ssize(kinds()) : 1 + below(size_.steps);
    for (Index tries = 0; std::ssize(graph_.steps) < wanted && tries < 40 * wanted; ++tries)
      try_step(kinds()[static_cast<std::size_t>(size_.every_kind ? std::ssize(graph_.steps)
                                                                 : below(std::ssize(kinds())))]);
    return std::move(graph_);
  }

 private:
  Index below(Index n) { return static_cast<Index>(random_() % static_cast<std::uint64_t>(n)); }
  bool chance(Index in) { return below(in) == 0; }

  Shape random_shape() {
    Shape s;
    if (size_.elements > 400) {
      for (Index left = size_.elements, a = 1 + below(3); a > 0 && left > 1; --a) {
        s.push_back(1 + below(std::min<Index>(left, 200)));
        left /= s[s.rank() - 1];
      }
      return s;
    }
    const Index rank = below(7), most = rank < 5 ? 4 : 2;
    for (Index a = 0; a < rank; ++a) s.push_back(chance(30) ? 0 : 1 + below(most));
    return s;
  }

  // How a value is stored: whole, or as one of these views of something larger.
  int add_leaf(const Shape& shape) {
    const RandomKey key{random_(), 0};
    const int rank = shape.rank();
    auto whole = [key](const Shape& s, DType d) {
      return normal(s, 0, 1, key, DType::Float32).to(d);
    };
    auto code = [key](const Shape& s) {
      return fmt::format("normal({}, 0, 1, {{{}u, 0}}, DType::Float32).to(dtype)", code_of(s),
                         key.seed);
    };
    GraphLeaf leaf;
    Shape from = shape;
    switch (rank > 0 ? below(8) : 0) {
      case 1:
        std::swap(from[0], from[rank - 1]);
        leaf.make = [=](DType d) { return transpose(whole(from, d), 0, rank - 1); };
        leaf.code = fmt::format("transpose({}, 0, {})", code(from), rank - 1);
        break;
      case 2:
        from[0] *= 2;
        leaf.make = [=](DType d) { return slice(whole(from, d), 0, 0, from[0], 2); };
        leaf.code = fmt::format("slice({}, 0, 0, {}, 2)", code(from), from[0]);
        break;
      case 3:
        from[0] = 1;
        leaf.make = [=](DType d) { return broadcast_to(whole(from, d), shape); };
        leaf.code = fmt::format("broadcast_to({}, {})", code(from), code_of(shape));
        break;
      case 4: {  // each row begins at the second element of the one before
        const Index width = rank == 2 ? shape[1] : 0;
        if (width == 0 || shape[0] == 0) {
          leaf.make = [=](DType d) { return whole(shape, d); };
          leaf.code = code(shape);
          break;
        }
        from = {shape[0] + width - 1};
        leaf.make = [=](DType d) {
          return Tensor::from_storage(whole(from, d).storage(), 0, shape, {1, 1}, d);
        };
        leaf.code = fmt::format("Tensor::from_storage({}.storage(), 0, {}, {{1, 1}}, dtype)",
                                code(from), code_of(shape));
        break;
      }
      default:
        leaf.make = [=](DType d) { return whole(shape, d); };
        leaf.code = code(shape);
    }
    leaf.var = Var::leaf(leaf.make(DType::Float64));
    graph_.leaves.push_back(leaf);
    leaf_values_.push_back(leaf.var.value());
    return -static_cast<int>(graph_.leaves.size());
  }

  const Tensor& value(int i) const {
    return i < 0 ? leaf_values_[static_cast<std::size_t>(-1 - i)]
                 : values_[static_cast<std::size_t>(i)];
  }
  // Any value; the newer, the likelier.
  int any() {
    const auto steps = std::ssize(values_), count = steps + std::ssize(leaf_values_);
    const Index back = std::min(below(count), below(count));
    return static_cast<int>(back < steps ? steps - 1 - back : -1 - (back - steps));
  }
  // One of this shape, or a new leaf.
  int fitting(const Shape& shape) {
    std::vector<int> found;
    for (int i = -static_cast<int>(leaf_values_.size()); i < static_cast<int>(values_.size()); ++i)
      if (value(i).shape() == shape) found.push_back(i);
    if (found.empty() || chance(3)) return add_leaf(shape);
    return found[static_cast<std::size_t>(below(std::ssize(found)))];
  }

  Constants constants(const Shape& s) {
    Constants c;
    const int rank = s.rank();
    c.wider = c.smaller = s;
    if (rank > 0) {
      c.axis = below(rank);
      c.other = below(rank);
      const Index n = s[static_cast<int>(c.axis)];
      c.start = below(n + 1);
      c.length = below(n - c.start + 1);
      c.last = s[rank - 1];
      c.second = rank > 1 ? s[1] : 0;
      if (n == 1) c.wider[static_cast<int>(c.axis)] = 3;
      c.smaller[static_cast<int>(c.axis)] = 1;
    }
    c.size = 1 + below(4);
    c.width = 1 + below(4);
    c.by = 1 + below(2);
    c.heads = 1 + below(2);
    c.flag = chance(2);
    c.number = static_cast<double>(below(41) - 20) / 10;
    c.key = {random_(), 0};
    return c;
  }
  static std::map<std::string, std::string> words(const Constants& c) {
    std::map<std::string, std::string> w{{"x", "$0"},
                                         {"y", "$1"},
                                         {"z", "$2"},
                                         {"w", "$3"},
                                         {"m", "$m"},
                                         {"c.flag", c.flag ? "true" : "false"},
                                         {"c.number", fmt::format("({:.1f})", c.number)},
                                         {"c.key", fmt::format("RandomKey{{{}u, 0}}", c.key.seed)},
                                         {"c.wider", code_of(c.wider)},
                                         {"c.smaller", code_of(c.smaller)}};
    const std::pair<const char*, Index> numbers[] = {
        {"axis", c.axis},     {"other", c.other}, {"start", c.start}, {"length", c.length},
        {"size", c.size},     {"width", c.width}, {"by", c.by},       {"last", c.last},
        {"second", c.second}, {"heads", c.heads}};
    for (auto& [name, n] : numbers) w[std::string("c.") + name] = std::to_string(n);
    return w;
  }

  // Leaves out what the op refuses, and what leaves the numbers that differences can check.
  void try_step(const Kind& kind) {
    const std::size_t leaves_before = graph_.leaves.size();
    NoGrad no_tape;
    try {
      Step step;
      for (int i = 0; i < kind.free; ++i) step.inputs.push_back(any());
      const Shape s = kind.free > 0 ? value(step.inputs[0]).shape() : Shape{};
      const Constants c = constants(s);
      if (kind.fitting)
        for (const Shape& shape : kind.fitting(s, c)) step.inputs.push_back(fitting(shape));
      if (kind.make) {
        step.module = kind.make(c);
        step.module->to(DType::Float64);
        step.module_key = random_();
        draw_parameters(*step.module, step.module_key);
        step.module_code = with_constants(kind.module_code, words(c));
      }
      step.op = kind.name;
      step.code = with_constants(kind.code, words(c));
      step.run = [c, run = kind.run](Module* m, const Vars& in) { return run(c, m, in); };
      Vars in;
      for (int i : step.inputs) in.emplace_back(value(i));
      seed(7);  // of dropout in modules
      const Tensor y = step.run(step.module.get(), in).value();
      const bool fits = y.numel() <= size_.elements && y.rank() <= 6 &&
                        (y.numel() == 0 || glim::max(glim::abs(y)).item() < 100);
      if (fits) {
        graph_.kinks = graph_.kinks || kind.kinks;
        values_.push_back(y);
        graph_.steps.push_back(std::move(step));
        return;
      }
    } catch (const Error&) {  // the op refuses these shapes
    }
    graph_.leaves.resize(leaves_before);
    leaf_values_.resize(leaves_before);
  }

  std::mt19937_64& random_;
  GraphSize size_;
  Graph graph_;
  std::vector<Tensor> leaf_values_, values_;
};

}  // namespace

Graph random_graph(std::mt19937_64& random, const GraphSize& size) {
  const Generator before = generator();
  Graph graph = Maker(random, size).make();
  generator() = before;
  return graph;
}

}  // namespace glim::fuzz

#include "tests/fuzz/graphs/graph.hpp"

#include <fmt/format.h>
#include <set>

namespace glim::fuzz {
namespace {

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size())
    text.replace(at, from.size(), to);
}

std::string name_of(int value) {
  return value < 0 ? fmt::format("x{}", -1 - value) : fmt::format("v{}", value);
}

std::string with_names(std::string code, const Step& step, std::size_t number) {
  for (std::size_t i = 0; i < step.inputs.size(); ++i)
    replace_all(code, "$" + std::to_string(i), name_of(step.inputs[i]));
  replace_all(code, "$m", fmt::format("m{}", number));
  return code;
}

// Sets the thread's generator back at the end of the block.
struct SameRandomNumbers {
  SameRandomNumbers() : before(std::exchange(generator(), Generator(7))) {}
  ~SameRandomNumbers() { generator() = before; }
  Generator before;
};

}  // namespace

Var Graph::run(const RunStep& each) const {
  SameRandomNumbers same;
  Vars values;
  auto value = [&](int i) {
    return i < 0 ? leaves[static_cast<std::size_t>(-1 - i)].var
                 : values[static_cast<std::size_t>(i)];
  };
  for (const Step& step : steps) {
    Vars in;
    for (int i : step.inputs) in.push_back(value(i));
    values.push_back(each ? each(step, in) : step.run(step.module.get(), in));
  }
  Vars parts;
  for (int i : unread()) parts.push_back(reshape(value(i), {-1}));
  return concatenate(parts, 0);
}

NamedParameters Graph::parameters() const {
  NamedParameters all;
  for (std::size_t i = 0; i < leaves.size(); ++i)
    all.emplace_back(fmt::format("x{}", i), leaves[i].var);
  for (std::size_t k = 0; k < steps.size(); ++k)
    if (steps[k].module)
      for (const auto& [name, p] : steps[k].module->named_parameters())
        all.emplace_back(fmt::format("m{}.{}", k, name), p);
  return all;
}

void Graph::to(DType dtype) const {
  for (const GraphLeaf& x : leaves) x.var.leaf().value = x.make(dtype);
  for (const Step& step : steps)
    if (step.module) step.module->to(dtype);
}

std::vector<int> Graph::unread() const {
  std::vector<bool> read(steps.size(), false);
  for (const Step& step : steps)
    for (int i : step.inputs)
      if (i >= 0) read[static_cast<std::size_t>(i)] = true;
  std::vector<int> found;
  for (std::size_t i = 0; i < read.size(); ++i)
    if (!read[i]) found.push_back(static_cast<int>(i));
  return found;
}

std::string Graph::program(DType dtype) const {
  std::string modules, values, names, outputs;
  std::set<int> used;
  for (const Step& step : steps) used.insert(step.inputs.begin(), step.inputs.end());
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (!used.contains(-1 - static_cast<int>(i))) continue;
    modules += fmt::format("  Var x{} = Var::leaf({});\n", i, leaves[i].code);
    names += fmt::format("  leaves.emplace_back(\"x{}\", x{});\n", i, i);
  }
  for (std::size_t k = 0; k < steps.size(); ++k) {
    if (steps[k].module) {
      modules +=
          fmt::format("  {};\n  m{}.to(dtype);\n  draw_parameters(m{}, {}u);\n",
                      with_names(steps[k].module_code, steps[k], k), k, k, steps[k].module_key);
      names += fmt::format(
          "  for (auto& [name, p] : m{}.named_parameters()) leaves.emplace_back(\"m{}.\" + name, "
          "p);\n",
          k, k);
    }
    values += fmt::format("    Var v{} = {};\n", k, with_names(steps[k].code, steps[k], k));
  }
  for (int i : unread())
    outputs += fmt::format("{}reshape(v{}, {{-1}})", outputs.empty() ? "" : ", ", i);
  const bool in_float64 = dtype == DType::Float64;
  return fmt::format(
      R"(// g++ -std=c++20 -I. graph.cpp build/libglim.a -fopenmp
#include <iostream>

#include "autograd/gradcheck/gradcheck.hpp"
#include "models/transformer/layers.hpp"
#include "nn/attention/self.hpp"
#include "nn/feed_forward.hpp"
#include "nn/recurrent/rnn.hpp"
#include "nn/rms_norm.hpp"
#include "nn/vision/batch_norm.hpp"
#include "nn/vision/conv.hpp"
#include "tensor/ops/reduce.hpp"

using namespace glim;
constexpr DType dtype = DType::{};

[[maybe_unused]] static void draw_parameters(Module& m, std::uint64_t key) {{
  std::uint64_t stream = 0;
  for (auto& [name, p] : m.named_parameters())
    p.value().copy_(uniform(p.shape(), -1, 1, {{key, stream++}}, DType::Float32).to(p.dtype()));
}}

int main() {{
{}  auto f = [&] {{
    seed(7);
{}    return concatenate({{{}}}, 0);
  }};
  NamedParameters leaves;
{}  auto report = gradcheck(f, leaves, {{.second_order = {}}});
  std::cout.precision(17);
  std::cout << report << "\nsum " << sum(f().value()).item() << "\n";
  return !report;
}}
)",
      in_float64 ? "Float64" : "Float32", modules, values, outputs, names,
      in_float64 && !kinks ? "true" : "false");
}

void draw_parameters(Module& m, std::uint64_t key) {
  std::uint64_t stream = 0;
  for (auto& [name, p] : m.named_parameters())
    p.value().copy_(uniform(p.shape(), -1, 1, {key, stream++}, DType::Float32).to(p.dtype()));
}

std::string list(const Shape& s) {
  std::string text;
  for (int i = 0; i < s.rank(); ++i) text += (i ? ", " : "") + std::to_string(s[i]);
  return text;
}

}  // namespace glim::fuzz

#include "tools/measure/source_parts.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <numeric>
#include <set>

#include "autograd/ops.hpp"
#include "tensor/matmul/matmul.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/measure/attention_statistics.hpp"

namespace glim {
namespace {

const int kBiases = std::numeric_limits<int>::max();

// f(x, y, ...) = f(x, 0, ...) + f(0, y, ...) + ...
const std::set<std::string> kAdditive{"add", "sub", "where", "concatenate", "scatter_add"};
// Linear in the first operand.
const std::set<std::string> kLinear{
    "scale",        "divide",  "neg",          "reshape", "permute",      "slice",    "unslice",
    "broadcast_to", "sum",     "sum_to",       "cumsum",  "index_select", "gather",   "unfold",
    "fold",         "dropout", "rotate_pairs", "tril",    "triu",         "index_add"};
// Linear but for a constant.
const std::set<std::string> kShifted{"shift"};
// x times a gate.
const std::set<std::string> kActivations{"relu", "gelu", "silu"};

bool looks_up(const PassNode& n) { return n.op == "index_select" || n.op == "gather"; }

// True for the softmax of attention, and for it after dropout.
bool is_probabilities(const Pass& pass, int node) {
  while (node >= 0 && pass[node].op == "dropout") node = pass[node].inputs[0];
  return node >= 0 && is_attention(pass[node].op, pass[node].label);
}

}  // namespace

Tensor in_float64(const Tensor& x) {
  return x.defined() && is_floating(x.dtype()) ? x.to(DType::Float64) : x;
}

Tensor run_with(const PassNode& n, const std::map<std::size_t, Tensor>& replaced) {
  std::vector<Var> operands;
  for (std::size_t k = 0; k < n.operands.size(); ++k) {
    const auto found = replaced.find(k);
    const Tensor x = found == replaced.end() ? in_float64(n.operands[k]) : found->second;
    operands.push_back(x.defined() ? Var(x) : Var());
  }
  NoGrad unrecorded;
  return n.run(operands).value();
}

Decomposition::Decomposition(const Pass& pass) : pass_(pass) {
  for (const PassNode& n : pass.nodes())
    fixed_.push_back(!looks_up(n) && n.op != "matmul" &&
                     std::ranges::all_of(n.inputs, [&](int i) { return fixed(i); }));
}

std::vector<std::size_t> Decomposition::summands(int node) const {
  const PassNode& n = pass_[node];
  std::vector<std::size_t> all(n.inputs.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (kAdditive.contains(n.op)) return all;
  if (kShifted.contains(n.op) || (kLinear.contains(n.op) && !(looks_up(n) && fixed(n.inputs[0]))))
    return {0};
  if (n.op != "mul" && n.op != "div" && n.op != "matmul") return {};
  const int a = n.inputs[0], b = n.inputs[1];
  if (!fixed(a) && (fixed(b) || (n.op != "matmul" && is_scale(b)))) return {0};
  if (n.op != "div" && !fixed(b) && (fixed(a) || (n.op == "mul" && is_scale(a)))) return {1};
  return {};
}

SourceParts Decomposition::of(int target) const {
  std::vector<int> readers(static_cast<std::size_t>(pass_.size()));  // that are still to come
  auto inputs_of = [&](int node, const auto& f) {
    for (std::size_t k : summands(node))
      if (const int input = pass_[node].inputs[k]; input >= 0)
        f(input, readers[static_cast<std::size_t>(input)]);
  };
  std::vector<int> order;
  readers[static_cast<std::size_t>(target)] = 1;
  for (int i = target; i >= 0; --i) {
    if (readers[static_cast<std::size_t>(i)] == 0) continue;
    order.push_back(i);
    inputs_of(i, [](int, int& count) { ++count; });
  }
  std::map<int, SourceParts> parts;
  for (auto i = order.rbegin(); i != order.rend(); ++i) {
    parts[*i] = summands(*i).empty() ? as_source(pass_[*i]) : from_operands(*i, parts);
    inputs_of(*i, [&](int input, int& count) {
      if (--count == 0) parts.erase(input);
    });
  }
  return parts[target];
}

Tensor Decomposition::gradient(int node, const Tensor& dy, int source) const {
  Tape tape;
  const Var x = Var::leaf(in_float64(pass_[source].value), "x");
  std::map<int, Var> values{{source, x}};
  for (int i = source + 1; i <= node; ++i) {
    const PassNode& n = pass_[i];
    const std::vector<std::size_t> linear = summands(i);
    if (std::ranges::none_of(linear, [&](std::size_t k) { return values.contains(n.inputs[k]); }))
      continue;
    std::vector<Var> operands;
    for (std::size_t k = 0; k < n.operands.size(); ++k) {
      const bool other = std::ranges::find(linear, k) != linear.end();
      operands.push_back(!n.operands[k].defined()       ? Var()
                         : values.contains(n.inputs[k]) ? values.at(n.inputs[k])
                         : other ? Var(zeros(n.operands[k].shape(), DType::Float64))
                                 : Var(in_float64(n.operands[k])));
    }
    values[i] = n.run(operands);
  }
  if (!values.contains(node)) return zeros(x.shape(), DType::Float64);
  return tape.grad(sum(values.at(node) * Var(dy)), {x})[0].value();
}

std::pair<Tensor, std::size_t> Decomposition::gate_of(const PassNode& n) const {
  if (kActivations.contains(n.op)) {
    const Tensor x = in_float64(n.operands[0]);
    return {div(in_float64(n.value), where(equal(x, 0.0), ones(x.shape(), x.dtype()), x)), 0};
  }
  for (std::size_t k = 0; n.op == "mul" && k < 2; ++k)
    if (n.inputs[k] >= 0 && kActivations.contains(pass_[n.inputs[k]].op))
      return {in_float64(n.operands[k]), 1 - k};
  return {};
}

bool Decomposition::splits(const Source& source) const {
  if (source.node == kBiases) return false;
  return source.head >= 0 || gate_of(pass_[source.node]).first.defined();
}

SourceParts Decomposition::products(const Source& source, const Tensor& dx) const {
  const PassNode& n = pass_[source.node];
  Tensor factor = dx;  // of what the source read
  std::size_t read = 1;
  if (source.head >= 0) {
    if (dx.rank() == 4) {
      factor = zeros(dx.shape(), dx.dtype());
      narrow(factor, 1, source.head, 1).copy_(narrow(dx, 1, source.head, 1));
    }
    factor = matmul(transpose(in_float64(n.operands[0])), factor);  // Σ_t A_tm dx_t
  } else {
    const auto [gate, input] = gate_of(n);
    factor = mul(gate, dx);
    read = input;
  }
  Dims axes;
  for (int axis = 0; axis < factor.rank(); ++axis)
    if (source.head < 0 || axis != factor.rank() - 2) axes.push_back(axis);
  SourceParts sums;
  for (const auto& [origin, part] : of(n.inputs[read])) sums[origin] = sum(mul(part, factor), axes);
  return sums;
}

// True for the scale of a norm: one number for each row.
bool Decomposition::is_scale(int node) const {
  const PassNode& n = pass_[node];
  return n.op == "broadcast_to" && n.value.size(-1) > 1 && n.operands[0].rank() > 0 &&
         n.operands[0].size(-1) == 1;
}

SourceParts Decomposition::from_operands(int node, const std::map<int, SourceParts>& known) const {
  const PassNode& n = pass_[node];
  std::map<Source, std::map<std::size_t, Tensor>> operands;
  std::map<std::size_t, Tensor> nothing;
  for (std::size_t k : summands(node)) {
    if (!n.operands[k].defined()) continue;
    nothing[k] = zeros(n.operands[k].shape(), DType::Float64);
    if (n.inputs[k] < 0)
      operands[{node, n.scope, -1}][k] = in_float64(n.operands[k]);
    else
      for (const auto& [source, part] : known.at(n.inputs[k])) operands[source][k] = part;
  }
  SourceParts parts;
  const Tensor shift = kShifted.contains(n.op) ? run_with(n, nothing) : Tensor();
  if (shift.defined()) parts[{kBiases, "biases", -1}] = shift;
  for (auto& [source, replaced] : operands) {
    replaced.insert(nothing.begin(), nothing.end());
    Tensor part = run_with(n, replaced);
    if (shift.defined() && source.node != kBiases) part = sub(part, shift);
    parts[source] = part;
  }
  return parts;
}

SourceParts Decomposition::as_source(const PassNode& n) const {
  const Tensor x = in_float64(n.value);
  if (n.is_leaf() && x.rank() == 1) return {{{kBiases, "biases", -1}, x}};
  if (n.op == "matmul" && is_probabilities(pass_, n.inputs[0])) {
    SourceParts heads;
    for (Index h = 0; h < (x.rank() < 4 ? 1 : x.size(1)); ++h) {
      Tensor kept = x.rank() < 4 ? x : zeros(x.shape(), x.dtype());
      if (x.rank() == 4) narrow(kept, 1, h, 1).copy_(narrow(x, 1, h, 1));
      heads[{n.number, fmt::format("{}:{}", n.scope, h), h}] = kept;
    }
    return heads;
  }
  const bool by_module = std::ranges::all_of(n.inputs, [&](int i) { return fixed(i); });
  return {{{n.number, by_module ? n.scope : n.name, -1}, x}};
}

}  // namespace glim

#include "nn/recurrent/rnn.hpp"

#include <algorithm>

#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/print.hpp"

namespace glim {
namespace {

std::string suffix(Index layer, bool reverse) {
  return "_l" + std::to_string(layer) + (reverse ? "_reverse" : "");
}

}  // namespace

// Which steps are real.
struct Recurrent::Lengths {
  Tensor valid;        // (B, T) bool; undefined: all
  Tensor by_step;      // `valid` as (T, B)
  Index shortest = 0;  // steps before it are real everywhere

  Lengths(CellKind kind, const Tensor& lengths, Index batch, Index steps) : shortest(steps) {
    if (!lengths.defined()) return;
    if (lengths.dtype() != DType::Int64)
      throw DTypeError(name_of(kind), "lengths must be int64", {{"lengths", lengths}});
    if (lengths.shape() != Shape{batch})
      throw ShapeError(name_of(kind),
                       "lengths must be (" + std::to_string(batch) + "), one for each sequence",
                       {{"lengths", lengths}});
    auto list = lengths.to_vector<Index>();
    for (std::size_t b = 0; b < list.size(); ++b)
      if (list[b] < 1 || list[b] > steps)
        throw ValueError(name_of(kind), "the length of sequence " + std::to_string(b) + " is " +
                                            std::to_string(list[b]) +
                                            ", not within 1 to T = " + std::to_string(steps));
    for (Index n : list) shortest = std::min(shortest, n);
    if (shortest == steps) return;
    valid = less(arange(0, static_cast<double>(steps)), unsqueeze(lengths, 1));
    by_step = transpose(valid).contiguous();
  }
  Tensor at(Index step) const { return step < shortest ? Tensor() : select(by_step, 0, step); }
};

Recurrent::Recurrent(CellKind kind, Index in, Index hidden, RecurrentOptions options)
    : kind_(kind), in_(in), hidden_(hidden), options_(options) {
  auto fail = [&](const std::string& problem) { throw ValueError(name_of(kind), problem); };
  if (in < 1 || hidden < 1 || options.layers < 1)
    fail("the input size, the hidden size and the number of layers must be positive");
  if (!(options.dropout >= 0 && options.dropout <= 1))
    fail("dropout " + number_text(options.dropout) + " is outside [0, 1]");
  Index rows = gates_of(kind) * hidden;
  for (Index layer = 0; layer < options.layers; ++layer)
    for (Index d = 0; d < directions(); ++d) {
      weights_.emplace_back(*this, suffix(layer, d == 1), rows,
                            layer == 0 ? in : directions() * hidden, hidden, options.bias);
    }
}

const CellWeights& Recurrent::weights(Index layer, bool reverse) const {
  if (layer < 0 || layer >= layers() || (reverse && !options_.bidirectional))
    throw IndexError(name_of(kind_), "there are no weights" + suffix(layer, reverse));
  return weights_[layer * directions() + reverse];
}

Var Recurrent::between_layers(const Var& y) const {
  if (!training() || options_.dropout == 0) return y;
  return dropout(y, options_.dropout, generator().next());
}

void Recurrent::check(const Var& x, const Var& initial) const {
  if (x.rank() != 3 || x.size(2) != in_ || x.size(1) < 1)
    throw ShapeError(name_of(kind_),
                     "x must be (B, T, " + std::to_string(in_) + ") with T at least 1", {{"x", x}});
  Shape expected{layers() * directions(), x.size(0), parts_of(kind_) * hidden_};
  if (initial.defined() && initial.shape() != expected)
    throw ShapeError(
        name_of(kind_),
        "the initial state must be " + to_string(expected) + ", for each layer and direction",
        {{"state", initial}});
}

Var Recurrent::run(const Var& x, Index layer, bool reverse, Var state, const Lengths& lengths,
                   std::vector<Var>& outputs) const {
  Scope scope(suffix(layer, reverse).substr(1));
  const CellWeights& w = weights(layer, reverse);
  Index steps = x.size(1);
  Var input = linear(x, w.weight_ih, w.bias_ih);  // (B, T, gates·H)
  for (Index i = 0; i < steps; ++i) {
    Index t = reverse ? steps - 1 - i : i;
    Scope step("t" + std::to_string(t));
    state = cell_step(kind_, select(input, 1, t), state, w, lengths.at(t));
    outputs[t * directions() + reverse] =
        unsqueeze(hidden_of(kind_, state), 1);  // (B, H) -> (B, 1, H)
  }
  return state;
}

RecurrentOutput Recurrent::forward(const Var& input, const Var& initial, const Tensor& lengths) {
  check(input, initial);
  Var x = input;
  Index batch = x.size(0), steps = x.size(1);
  Lengths real(kind_, lengths, batch, steps);
  std::vector<Var> states;
  for (Index layer = 0; layer < layers(); ++layer) {
    if (layer > 0) x = between_layers(x);
    std::vector<Var> outputs(steps * directions());
    for (Index d = 0; d < directions(); ++d) {
      Var start = initial.defined() ? select(initial, 0, layer * directions() + d)
                                    : Var(zeros({batch, parts_of(kind_) * hidden_}, x.dtype()));
      states.push_back(run(x, layer, d == 1, start, real, outputs));
    }
    // (B, T·directions, H) -> (B, T, directions·H)
    x = reshape(concatenate(outputs, 1), {batch, steps, directions() * hidden_});
    if (real.valid.defined()) x = where(unsqueeze(real.valid, 2), x, Var(scalar(0, x.dtype())));
  }
  return {x, stack(states, 0)};
}

}  // namespace glim

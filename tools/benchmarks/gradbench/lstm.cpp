// Layers of a diagonal LSTM on a sequence of characters' bits x_0 … x_T. Each layer has the state h, c and, for its input x,
//
//   c' = σ(x ⊙ w_f + b_f) ⊙ c + σ(h ⊙ w_i + b_i) ⊙ tanh(h ⊙ w_u + b_u)      h' = σ(x ⊙ w_o + b_o) ⊙ tanh c'
//
// Its h' is the next layer's input; the first one's is x_t ⊙ w_in. With y_t = h' ⊙ w_out + b_out of the last layer the
// loss is -mean over t and bits of x_(t+1) ⊙ (y_t - ln(2 + Σ e^(y_t))).
#include "tools/benchmarks/gradbench/evaluation.hpp"

namespace glim::gradbench {
namespace {

// The gates of lstm_cell (i, f, u, o) that read the input, and those that read h: each reads one of them.
Var of_input() { return tensor({0, 1, 0, 1}, {4, 1}, DType::Float64); }
Var of_hidden() { return tensor({1, 0, 1, 0}, {4, 1}, DType::Float64); }

Var lstm_loss(const Var& main, const Var& extra, const Tensor& state, const Tensor& sequence) {
  const Index layers = main.size(0) / 2, bits = extra.size(1), steps = sequence.size(0) - 1;
  const Tensor order = tensor({1, 0, 3, 2}).to(DType::Int64);  // GradBench's is f, i, o, u
  Var gates = index_select(reshape(main, {layers, 2, 4, bits}), 2, order);
  std::vector<Var> w_x, w_h, b, h_and_c, ys;
  for (Index l = 0; l < layers; ++l) {
    Var w = select(select(gates, 0, l), 0, 0);
    w_x.push_back(w * of_input());
    w_h.push_back(w * of_hidden());
    b.push_back(select(select(gates, 0, l), 0, 1));
    h_and_c.push_back(reshape(narrow(state, 0, 2 * l, 2), {1, 2 * bits}));
  }
  Var inputs = narrow(sequence, 0, 0, steps) * select(extra, 0, 0);
  for (Index t = 0; t < steps; ++t) {
    Var x = select(inputs, 0, t);
    for (Index l = 0; l < layers; ++l) {
      Var h = narrow(h_and_c[l], 1, 0, bits);
      h_and_c[l] = lstm_cell(reshape(x * w_x[l] + b[l], {1, 4 * bits}),
                             reshape(h * w_h[l], {1, 4 * bits}), h_and_c[l]);
      x = narrow(h_and_c[l], 1, 0, bits);
    }
    ys.push_back(x);
  }
  Var y = concatenate(ys, 0) * select(extra, 0, 1) + select(extra, 0, 2);
  return -mean(narrow(sequence, 0, 1, steps) * (y - log(2 + sum(exp(y), {1}, true))));
}

}  // namespace

Functions lstm() {
  auto read = [](const Json& input) -> Problem {
    Var main = leaf_of(input.at("main_params")), extra = leaf_of(input.at("extra_params"));
    return {{main, extra},
            [=, state = tensor_of(input.at("state")), sequence = tensor_of(input.at("sequence"))] {
              return lstm_loss(main, extra, state, sequence);
            }};
  };
  auto write = [](const Tensors& g, const Json&) -> Json {
    return lists_of(concatenate({reshape(g[0], {-1}), reshape(g[1], {-1})}, 0).value());
  };
  return {value("objective", read), gradient("jacobian", read, write)};
}

}  // namespace glim::gradbench

// One step of a long short-term memory, with the forget gate of Gers et al. 2000 and torch.nn.LSTM's order
// of gates.
//
//   input  x W_ihᵀ + b_ih (B, 4H): input, forget, cell, output      state [h, c] (B, 2H)
//   hidden h W_hhᵀ + b_hh (B, 4H)                                   y = [h', c'] (B, 2H)
//
// a is the gradient of both products; h has none here but through its product. A row with valid = false
// keeps its state: y = [h, c], da = 0.
#include "autograd/ops/recurrent_cells.hpp"

namespace glim {
namespace ops {

// The gates, and c' = f c + i u.
struct LstmGates {
  Var i, f, u, o, c, next_c;
  LstmGates(const Var& input, const Var& hidden, const Var& state) {
    const Index n = state.size(1) / 2;
    Var a = named(input + hidden, "gates");
    auto part = [&](Index k) { return narrow(a, 1, k * n, n); };
    i = named(sigmoid(part(0)), "input_gate");
    f = named(sigmoid(part(1)), "forget_gate");
    u = named(tanh(part(2)), "cell_gate");
    o = named(sigmoid(part(3)), "output_gate");
    c = narrow(state, 1, n, n);
    Var written = i * u;
    next_c = named(f * c + written, "cell");
  }
};

struct LstmCell final : CellOp {
  static constexpr Formula formula{
      "lstm_cell",
      "y = [o ⊙ tanh(c'), c'], c' = f ⊙ c + i ⊙ u; i = sigmoid(a_i), "
      "f = sigmoid(a_f), u = tanh(a_u), o = sigmoid(a_o), a = input + hidden",
      {"d(input) = da; da_i = δ ⊙ u ⊙ i ⊙ (1 - i), da_f = δ ⊙ c ⊙ f ⊙ (1 - f), "
       "da_u = δ ⊙ i ⊙ (1 - u²), da_o = dh' ⊙ tanh(c') ⊙ o ⊙ (1 - o), "
       "δ = dc' + dh' ⊙ o ⊙ (1 - tanh²c')",
       "d(hidden) = da", "d(state) = [0, δ ⊙ f]"},
      "Hochreiter & Schmidhuber 1997"};
  enum Input { InputGates, Hidden, State };
  using CellOp::CellOp;

  Var explicit_form(const Var& input, const Var& hidden, const Var& state) const {
    LstmGates g(input, hidden, state);
    Var h = named(g.o * tanh(g.next_c), "hidden");
    return where_valid(concatenate({h, g.next_c}, 1), state);
  }

  Grads gradient(const Var& dy) const override {
    const Var& state = saved(State);
    auto [i, f, u, o, c, next_c] = LstmGates(saved(InputGates), saved(Hidden), state);
    const Index n = state.size(1) / 2;
    Var dy_valid = zero_unless_valid(dy), dh = narrow(dy_valid, 1, 0, n), t = tanh(next_c);
    Var slope_t = 1 - t * t, through_h = dh * o * slope_t;
    Var delta = narrow(dy_valid, 1, n, n) + through_h;
    Var slope_i = 1 - i, a_i = delta * u * i * slope_i;
    Var slope_f = 1 - f, a_f = delta * c * f * slope_f;
    Var slope_u = 1 - u * u, a_u = delta * i * slope_u;
    Var slope_o = 1 - o, a_o = dh * t * o * slope_o;
    Var da = concatenate({a_i, a_f, a_u, a_o}, 1);
    Var dstate = concatenate({zeros(dh.shape(), dh.dtype()), delta * f}, 1);
    return {{InputGates, da}, {Hidden, da}, {State, where_valid(dstate, dy)}};
  }

  // ---- the kernel ----
  Tensor forward(const Tensor& input, const Tensor& hidden, const Tensor& state) {
    save(InputGates, Hidden, State);
    Tensor y = empty(state.shape(), state.dtype());
    each_cells(input, hidden, state, 4, [&]<class T>(const CellRows<T>& rows, Index begin) {
      dispatch<simd::lstm<T>>(rows, from_row<T>(y, begin));
    });
    return y;
  }
  Grads fast_gradient(const Var& dy) const override {
    LastAxis dy_rows = rows_of(dy.value());
    auto like = [&](bool enabled, Input i) {
      return enabled ? empty(saved(i).shape(), dy.dtype()) : Tensor();
    };
    Tensor da = like(needs_grad(InputGates) || needs_grad(Hidden), InputGates);
    Tensor dstate = like(needs_grad(State), State);
    each_cells(saved(InputGates).value(), saved(Hidden).value(), saved(State).value(), 4,
               [&]<class T>(const CellRows<T>& rows, Index begin) {
                 dispatch<simd::lstm_grad<T>>(rows, {dy_rows.at<T>(begin), dy_rows.ld},
                                              from_row<T>(da, begin), from_row<T>(dstate, begin));
               });
    return {{InputGates, da}, {Hidden, da}, {State, dstate}};
  }
};

}  // namespace ops

Var lstm_cell(const Operand& input, const Var& hidden, const Var& state, const Tensor& valid) {
  check_cell("lstm_cell", input, hidden, state, valid, 4, 2);
  return apply(ops::LstmCell(valid), input, hidden, state);
}

}  // namespace glim

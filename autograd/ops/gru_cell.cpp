// One step of a gated recurrent unit, in torch.nn.GRU's form: the reset gate multiplies the product of the
// state, not the state.
//
//   input  i = x W_ihᵀ + b_ih (B, 3H): reset, update, candidate      state h (B, H)
//   hidden g = h W_hhᵀ + b_hh (B, 3H)                                y (B, H)
//
// A row with valid = false keeps its state: y = h, dh = dy, di = dg = 0.
#include "autograd/ops/recurrent_cells.hpp"

namespace glim {
namespace ops {

struct GruGates {
  Var reset, update, candidate, g_c;
  GruGates(const Var& i, const Var& g) {
    const Index n = i.size(1) / 3;
    auto part = [&](const Var& x, Index k) { return narrow(x, 1, k * n, n); };
    g_c = part(g, 2);
    Var g_r = part(g, 0);
    reset = named(sigmoid(part(i, 0) + g_r), "reset");
    Var g_z = part(g, 1);
    update = named(sigmoid(part(i, 1) + g_z), "update");
    Var kept = reset * g_c;
    candidate = named(tanh(part(i, 2) + kept), "candidate");
  }
};

struct GruCell final : CellOp {
  static constexpr Formula formula{
      "gru_cell",
      "y = (1 - z) ⊙ c + z ⊙ h; r = sigmoid(i_r + g_r), z = sigmoid(i_z + g_z), "
      "c = tanh(i_c + r ⊙ g_c)",
      {"di = [a_r, a_z, a_c]; a_c = dy ⊙ (1 - z) ⊙ (1 - c²), "
       "a_z = dy ⊙ (h - c) ⊙ z ⊙ (1 - z), a_r = a_c ⊙ g_c ⊙ r ⊙ (1 - r)",
       "dg = [a_r, a_z, a_c ⊙ r]", "dh = dy ⊙ z"},
      "Cho et al. 2014"};
  enum Input { I, G, H };
  using CellOp::CellOp;

  Var explicit_form(const Var& i, const Var& g, const Var& h) const {
    auto [r, z, c, g_c] = GruGates(i, g);
    return where_valid(c + z * (h - c), h);
  }

  Grads gradient(const Var& dy) const override {
    const Var& h = saved(H);
    auto [r, z, c, g_c] = GruGates(saved(I), saved(G));
    Var dy_valid = zero_unless_valid(dy);
    Var slope_c = 1 - c * c, a_c = dy_valid * (1 - z) * slope_c;
    Var slope_z = 1 - z, a_z = dy_valid * (h - c) * z * slope_z;
    Var slope_r = 1 - r, a_r = a_c * g_c * r * slope_r;
    return {{I, concatenate({a_r, a_z, a_c}, 1)},
            {G, concatenate({a_r, a_z, a_c * r}, 1)},
            {H, where_valid(dy * z, dy)}};
  }

  // ---- the kernel ----
  Tensor forward(const Tensor& i, const Tensor& g, const Tensor& h) {
    save(I, G, H);
    Tensor y = empty(h.shape(), h.dtype());
    each_cells(i, g, h, 3, [&]<class T>(const CellRows<T>& rows, Index begin) {
      dispatch<simd::gru<T>>(rows, from_row<T>(y, begin));
    });
    return y;
  }
  Grads fast_gradient(const Var& dy) const override {
    LastAxis dy_rows = rows_of(dy.value());
    auto gradient = [&](Input i) {
      return needs_grad(i) ? empty(saved(i).shape(), dy.dtype()) : Tensor();
    };
    Tensor di = gradient(I), dg = gradient(G), dh = gradient(H);
    each_cells(saved(I).value(), saved(G).value(), saved(H).value(), 3,
               [&]<class T>(const CellRows<T>& rows, Index begin) {
                 dispatch<simd::gru_grad<T>>(rows, {dy_rows.at<T>(begin), dy_rows.ld},
                                             from_row<T>(di, begin), from_row<T>(dg, begin),
                                             from_row<T>(dh, begin));
               });
    return {{I, di}, {G, dg}, {H, dh}};
  }
};

}  // namespace ops

Var gru_cell(const Operand& input, const Var& hidden, const Var& state, const Tensor& valid) {
  check_cell("gru_cell", input, hidden, state, valid, 3, 1);
  return apply(ops::GruCell(valid), input, hidden, state);
}

}  // namespace glim

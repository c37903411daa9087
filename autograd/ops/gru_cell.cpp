// One step of a gated recurrent unit (Cho et al. 2014, arXiv 1406.1078; torch.nn.GRU's form, in
// which the reset gate multiplies the product of the state, not the state):
//
//   r = σ(i_r + g_r)      z = σ(i_z + g_z)      c = tanh(i_c + r g_c)      y = (1 - z) c + z h
//
//   input  i = x W_ihᵀ + b_ih (B, 3H): reset, update, candidate      state h (B, H)
//   hidden g = h W_hhᵀ + b_hh (B, 3H)                                y (B, H)
//
//   a_c = dy (1 - z)(1 - c²)      a_z = dy (h - c) z (1 - z)      a_r = a_c g_c r (1 - r)
//   di = [a_r, a_z, a_c]          dg = [a_r, a_z, a_c r]          dh = dy z
//
// A row with live = false keeps its state: y = h, dh = dy, di = dg = 0. Backward reads i, g and h,
// and computes the gates again.
#include "autograd/magnification.hpp"
#include "autograd/ops/recurrent.hpp"

namespace glim {
namespace {

Var composed(const Var& input, const Var& hidden, const Var& state, const Tensor& live, Where at) {
  Index n = state.size(1);
  auto part = [&](const Var& x, Index k) { return narrow(x, 1, k * n, n, at); };
  Var r = named(sigmoid(add(part(input, 0), part(hidden, 0), at), at), "reset");
  Var z = named(sigmoid(add(part(input, 1), part(hidden, 1), at), at), "update");
  Var c = named(tanh(add(part(input, 2), mul(r, part(hidden, 2), at), at), at), "candidate");
  return where_live(live, add(c, mul(z, sub(state, c, at), at), at), state, at);
}

struct GruCell final : FusedOp {
  enum Input { In, Hidden, State };
  GruCell() = default;
  explicit GruCell(Tensor live) : live_(std::move(live)) {}
  std::string_view name() const override { return "gru_cell"; }

  Var composition(const std::vector<Var>& in) const override {
    return composed(in[In], in[Hidden], in[State], live_, Where::current());
  }

  Tensor forward(const Tensor& input, const Tensor& hidden, const Tensor& state) {
    for (std::size_t i : {In, Hidden, State}) save(i);
    CellOperands cell(input, hidden, state, live_, 3);
    Tensor y = empty(state.shape(), state.dtype());
    visit_floating(state, name(), [&]<class T>() {
      cell.each_piece([&](Index begin, Index end) {
        recurrent_kernels<T>().gru(cell.rows<T>(begin, end), from_row<T>(y, begin));
      });
    });
    return y;
  }

  Grads backward(const Var& dy) const override {
    if (recording()) return through_composition({saved(In), saved(Hidden), saved(State)}, dy);
    CellOperands cell(saved(In).value(), saved(Hidden).value(), saved(State).value(), live_, 3);
    Rows up = rows_of(dy.value());
    auto gradient = [&](Input i) {
      return needs_grad(i) ? empty(saved(i).shape(), dy.dtype()) : Tensor();
    };
    Tensor dinput = gradient(In), dhidden = gradient(Hidden), dstate = gradient(State);
    visit_floating(dy.value(), name(), [&]<class T>() {
      cell.each_piece([&](Index begin, Index end) {
        recurrent_kernels<T>().gru_grad(
            cell.rows<T>(begin, end), {up.x.data<T>() + begin * up.ld, up.ld},
            from_row<T>(dinput, begin), from_row<T>(dhidden, begin), from_row<T>(dstate, begin));
      });
    });
    Grads d;
    if (dinput.defined()) d[In] = Var(dinput);
    if (dhidden.defined()) d[Hidden] = Var(dhidden);
    if (dstate.defined()) d[State] = Var(dstate);
    return d;
  }

 private:
  Tensor live_;
};

}  // namespace

Var gru_cell(const Var& input, const Var& hidden, const Var& state, const Tensor& live, Where at) {
  check_cell("gru_cell", input, hidden, state, live, 3, 1);
  if (magnification() == Magnification::Explicit) return composed(input, hidden, state, live, at);
  return apply(at, GruCell(live), input, hidden, state);
}

}  // namespace glim

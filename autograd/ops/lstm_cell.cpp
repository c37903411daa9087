// One step of a long short-term memory (Hochreiter & Schmidhuber 1997, with the forget gate of Gers
// et al. 2000; torch.nn.LSTM's order of gates):
//
//   a = input + hidden      i = σ(a_i)   f = σ(a_f)   u = tanh(a_u)   o = σ(a_o)
//   c' = f c + i u          h' = o tanh(c')
//
//   input  x W_ihᵀ + b_ih (B, 4H): input, forget, cell, output      state [h, c] (B, 2H)
//   hidden h W_hhᵀ + b_hh (B, 4H)                                   y = [h', c'] (B, 2H)
//
//   γ = dc' + dh' o (1 - tanh²c')
//   da_i = γ u i (1 - i)    da_f = γ c f (1 - f)    da_u = γ i (1 - u²)
//   da_o = dh' tanh(c') o (1 - o)      dc = γ f
//
// da is the gradient of both products; h has none here but through its product. A row with
// live = false keeps its state: y = [h, c], da = 0. Backward reads input, hidden and state, and
// computes the gates again.
#include "autograd/magnification.hpp"
#include "autograd/ops/recurrent.hpp"

namespace glim {
namespace {

Var composed(const Var& input, const Var& hidden, const Var& state, const Tensor& live, Where at) {
  Index n = state.size(1) / 2;
  Var gates = named(add(input, hidden, at), "gates");
  auto part = [&](Index k) { return narrow(gates, 1, k * n, n, at); };
  Var i = named(sigmoid(part(0), at), "input_gate"), f = named(sigmoid(part(1), at), "forget_gate");
  Var u = named(tanh(part(2), at), "cell_gate"), o = named(sigmoid(part(3), at), "output_gate");
  Var c = named(add(mul(f, narrow(state, 1, n, n, at), at), mul(i, u, at), at), "cell");
  Var h = named(mul(o, tanh(c, at), at), "hidden");
  return where_live(live, concatenate({h, c}, 1, at), state, at);
}

struct LstmCell final : FusedOp {
  enum Input { In, Hidden, State };
  LstmCell() = default;
  explicit LstmCell(Tensor live) : live_(std::move(live)) {}
  std::string_view name() const override { return "lstm_cell"; }

  Var composition(const std::vector<Var>& in) const override {
    return composed(in[In], in[Hidden], in[State], live_, Where::current());
  }

  Tensor forward(const Tensor& input, const Tensor& hidden, const Tensor& state) {
    for (std::size_t i : {In, Hidden, State}) save(i);
    CellOperands cell(input, hidden, state, live_, 4);
    Tensor y = empty(state.shape(), state.dtype());
    visit_floating(state, name(), [&]<class T>() {
      cell.each_piece([&](Index begin, Index end) {
        recurrent_kernels<T>().lstm(cell.rows<T>(begin, end), from_row<T>(y, begin));
      });
    });
    return y;
  }

  Grads backward(const Var& dy) const override {
    if (recording()) return through_composition({saved(In), saved(Hidden), saved(State)}, dy);
    CellOperands cell(saved(In).value(), saved(Hidden).value(), saved(State).value(), live_, 4);
    Rows up = rows_of(dy.value());
    auto like = [&](bool wanted, Input i) {
      return wanted ? empty(saved(i).shape(), dy.dtype()) : Tensor();
    };
    Tensor dgates = like(needs_grad(In) || needs_grad(Hidden), In);
    Tensor dstate = like(needs_grad(State), State);
    visit_floating(dy.value(), name(), [&]<class T>() {
      cell.each_piece([&](Index begin, Index end) {
        recurrent_kernels<T>().lstm_grad(cell.rows<T>(begin, end),
                                         {up.x.data<T>() + begin * up.ld, up.ld},
                                         from_row<T>(dgates, begin), from_row<T>(dstate, begin));
      });
    });
    Grads d;
    if (needs_grad(In)) d[In] = Var(dgates);
    if (needs_grad(Hidden)) d[Hidden] = Var(dgates);
    if (needs_grad(State)) d[State] = Var(dstate);
    return d;
  }

 private:
  Tensor live_;
};

}  // namespace

Var lstm_cell(const Var& input, const Var& hidden, const Var& state, const Tensor& live, Where at) {
  check_cell("lstm_cell", input, hidden, state, live, 4, 2);
  if (magnification() == Magnification::Explicit) return composed(input, hidden, state, live, at);
  return apply(at, LstmCell(live), input, hidden, state);
}

}  // namespace glim

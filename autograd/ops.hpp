// Every op, with one line of mathematics each. The gradients stand above each op's struct in
// autograd/ops/. `where` is filled in by the compiler with the line of the call.
//
// Errors, unless said otherwise: ShapeError and DTypeError as for the tensor function of the name.
#pragma once

#include <optional>
#include <vector>

#include "autograd/op.hpp"
#include "autograd/tape.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/windows.hpp"
#include "tensor/random.hpp"

namespace glim {

// ---- arithmetic (ops/arithmetic.cpp); operands broadcast through broadcast_to ----
Var add(const Var& a, const Var& b, Where where = Where::current());      // a + b
Var sub(const Var& a, const Var& b, Where where = Where::current());      // a - b
Var mul(const Var& a, const Var& b, Where where = Where::current());      // a b
Var div(const Var& a, const Var& b, Where where = Where::current());      // a / b
Var maximum(const Var& a, const Var& b, Where where = Where::current());  // max(a, b)
Var minimum(const Var& a, const Var& b, Where where = Where::current());  // min(a, b)
Var add(const Var& x, double c, Where where = Where::current());          // x + c
Var mul(const Var& x, double c, Where where = Where::current());          // c x
Var neg(const Var& x, Where where = Where::current());                    // -x
Var pow(const Var& x, double exponent, Where where = Where::current());   // x^p
// condition ? a : b; condition is a bool tensor and has no gradient
Var where(const Tensor& condition, const Var& a, const Var& b, Where where = Where::current());

inline Var operator+(const Var& a, const Var& b) { return add(a, b); }
inline Var operator-(const Var& a, const Var& b) { return sub(a, b); }
inline Var operator*(const Var& a, const Var& b) { return mul(a, b); }
inline Var operator/(const Var& a, const Var& b) { return div(a, b); }
inline Var operator*(double c, const Var& x) { return mul(x, c); }
inline Var operator-(const Var& x) { return neg(x); }

// ---- functions (ops/functions.cpp) ----
Var exp(const Var& x, Where where = Where::current());      // e^x
Var log(const Var& x, Where where = Where::current());      // ln x
Var sqrt(const Var& x, Where where = Where::current());     // √x
Var sin(const Var& x, Where where = Where::current());      // sin x
Var cos(const Var& x, Where where = Where::current());      // cos x
Var abs(const Var& x, Where where = Where::current());      // |x|
Var tanh(const Var& x, Where where = Where::current());     // tanh x
Var sigmoid(const Var& x, Where where = Where::current());  // 1/(1 + e^-x)
Var erf(const Var& x, Where where = Where::current());      // 2/√π ∫₀ˣ e^-t² dt
Var relu(const Var& x, Where where = Where::current());     // max(0, x)
Var silu(const Var& x, Where where = Where::current());     // x sigmoid(x)
Var clamp(const Var& x, double low, double high, Where where = Where::current());
// x Φ(x), Φ the normal distribution; or its tanh approximation (Hendrycks & Gimpel 2016)
Var gelu(const Var& x, GeluForm form = GeluForm::Erf, Where where = Where::current());

// ---- shape (ops/shape.cpp); views, no element moves ----
Var reshape(const Var& x, const Shape& shape, Where where = Where::current());
Var permute(const Var& x, const Dims& axes, Where where = Where::current());
Var transpose(const Var& x, Index a = -2, Index b = -1, Where where = Where::current());
Var broadcast_to(const Var& x, const Shape& shape, Where where = Where::current());
Var slice(const Var& x, Index axis, Index start, Index stop, Index step = 1,
          Where where = Where::current());
// zeros of `shape` with x at start, start + step, ... of the axis: slice's reverse
Var unslice(const Var& x, const Shape& shape, Index axis, Index start, Index step = 1,
            Where where = Where::current());
Var narrow(const Var& x, Index axis, Index start, Index length, Where where = Where::current());
Var select(const Var& x, Index axis, Index index, Where where = Where::current());
Var squeeze(const Var& x, Index axis, Where where = Where::current());
Var unsqueeze(const Var& x, Index axis, Where where = Where::current());
Var concatenate(const std::vector<Var>& parts, Index axis, Where where = Where::current());
Var stack(const std::vector<Var>& parts, Index axis, Where where = Where::current());
std::vector<Var> split(const Var& x, Index axis, const std::vector<Index>& lengths,
                       Where where = Where::current());
Var tril(const Var& x, Index diagonal = 0, Where where = Where::current());
Var triu(const Var& x, Index diagonal = 0, Where where = Where::current());

// ---- reductions (ops/reduce.cpp); no axes means all ----
Var sum(const Var& x, const Dims& axes = {}, bool keepdim = false, Where where = Where::current());
Var sum_to(const Var& x, const Shape& shape, Where where = Where::current());
Var mean(const Var& x, const Dims& axes = {}, bool keepdim = false, Where where = Where::current());
Var max(const Var& x, const Dims& axes = {}, bool keepdim = false, Where where = Where::current());
Var min(const Var& x, const Dims& axes = {}, bool keepdim = false, Where where = Where::current());
Var var(const Var& x, const Dims& axes = {}, double correction = 1, bool keepdim = false,
        Where where = Where::current());
Var cumsum(const Var& x, Index axis, Where where = Where::current());

// ---- softmax (ops/softmax.cpp) ----
Var softmax(const Var& x, Index axis = -1, Where where = Where::current());
Var log_softmax(const Var& x, Index axis = -1, Where where = Where::current());
Var logsumexp(const Var& x, Index axis = -1, bool keepdim = false, Where where = Where::current());

// softmax over the last axis of the elements with keep = true, 0 elsewhere; a row of which nothing
// is kept is all 0. keep is bool and broadcasts to x.
Var masked_softmax(const Var& x, const Tensor& keep, Where where = Where::current());

// ---- products (ops/matmul.cpp) ----
Var matmul(const Var& a, const Var& b, Where where = Where::current());  // a b

// ---- index (ops/index.cpp); index tensors are int64 and have no gradient ----
Var gather(const Var& x, Index axis, const Tensor& index, Where where = Where::current());
Var scatter_add(const Var& x, Index axis, const Tensor& index, const Var& source,
                Where where = Where::current());
Var index_select(const Var& x, Index axis, const Tensor& index, Where where = Where::current());
Var index_add(const Shape& shape, Index axis, const Tensor& index, const Var& source,
              Where where = Where::current());
struct OrderedVar {
  Var values;
  Tensor indices;
};
OrderedVar sort(const Var& x, Index axis = -1, bool descending = false,
                Where where = Where::current());
OrderedVar top_k(const Var& x, Index k, Index axis = -1, Where where = Where::current());

// ---- sliding windows over images (B, H, W, C) (ops/windows.cpp) ----
// every window as its own copy: (B, H', W', kh, kw, C); positions outside x are `fill`
Var unfold(const Var& x, const Window& rows, const Window& columns, double fill = 0,
           Where where = Where::current());
// the sum of all windows at their places, (B, height, width, C): unfold's adjoint
Var fold(const Var& y, Index height, Index width, const Window& rows, const Window& columns,
         Where where = Where::current());

// ---- dropout (ops/dropout.cpp) ----
// x / (1 - p), but 0 with probability p: where bernoulli(p, key) (Srivastava et al. 2014, inverted)
Var dropout(const Var& x, double p, Key key, Where where = Where::current());
// x + dropout(h): a residual connection in one pass
Var add_dropout(const Var& x, const Var& h, double p, Key key, Where where = Where::current());

// ---- the parts of a Transformer; each has its own file in ops/ ----
// y = x Wᵀ + b      x: (..., I)   weight: (O, I)   bias: (O,) or undefined   y: (..., O)
Var linear(const Var& x, const Var& weight, const Var& bias, Where where = Where::current());
// h = dropout(max(0, x Wᵀ + b)): the hidden layer of a feed-forward network
Var linear_relu(const Var& x, const Var& weight, const Var& bias, double dropout_p = 0,
                Key dropout_key = {}, Where where = Where::current());
// y = (x - mean)/√(var + eps) γ + β over the last axis, var the population's (Ba et al. 2016);
// gamma and beta: (D,) or undefined
Var layer_norm(const Var& x, const Var& gamma, const Var& beta, double eps = 1e-5,
               Where where = Where::current());
// y = x/√(mean(x²) + eps) γ over the last axis (Zhang & Sennrich 2019); gamma: (D,) or undefined
Var rms_norm(const Var& x, const Var& gamma, double eps, Where where = Where::current());
// neighbouring columns as points of the plane, turned by angles given as cos and sin (T, D/2)
// (Su et al. 2021); x: (..., T, D), D even
Var rotate_pairs(const Var& x, const Tensor& cos, const Tensor& sin,
                 Where where = Where::current());

struct AttentionMask {
  Tensor keep;  // bool, true = may attend; broadcasts to (..., T, S); undefined keeps all
  Var bias;     // added to the scores; broadcasts to them; undefined adds nothing
};
struct Attended {
  Var context;  // (..., T, Dv)
  Var probs;    // (..., T, S), before dropout; undefined unless asked for
};
// context = dropout(softmax(Q Kᵀ/√Dk + mask)) V      (Vaswani et al. 2017, equation 1)
// query (..., T, Dk)   key (..., S, Dk)   value (..., S, Dv)
Attended scaled_dot_product_attention(const Var& query, const Var& key, const Var& value,
                                      const AttentionMask& mask = {}, double dropout_p = 0,
                                      Key dropout_key = {}, bool need_probs = false,
                                      Where where = Where::current());
// The same for H heads whose projections lie side by side: x (B, T, 3D) = [Q K V], or x (B, T, D) = Q
// and memory (B, S, 2D) = [K V]; head h is the columns h·Dh ... of each block. context (B, T, D),
// probs (B, H, T, S).
Attended packed_attention(const Var& x, const Var& memory, Index heads,
                          const AttentionMask& mask = {}, double dropout_p = 0,
                          Key dropout_key = {}, bool need_probs = false,
                          Where where = Where::current());

// What a loss over tokens measures, as sums over the tokens that count.
struct LossSums {
  double kl = 0;           // Σ KL(q ‖ p)
  double smoothed_ce = 0;  // -Σ q ln p
  double nll = 0;          // -Σ ln p(target)
  Index tokens = 0;        // targets other than pad
};
// Σ over rows of KL(q ‖ softmax(logits)), q = 1-ε for the target, 0 for pad, ε/(V-2) for the rest;
// rows whose target is pad count 0 (Szegedy et al. 2016, section 7; spec of the 2017 paper).
// logits (N, V)   target (N,) int64. ValueError for ε outside [0, 1) or without other classes;
// IndexError for a target outside [0, V). `sums`, if given, receives the measures.
Var label_smoothing_loss(const Var& logits, const Tensor& target, double smoothing, Index pad,
                         LossSums* sums = nullptr, Where where = Where::current());

// The same of logits = x Wᵀ + b, in chunks of rows: they never exist for all rows at once.
// x (N, I)   weight (V, I)   bias (V,) or undefined   target (N,). Errors as label_smoothing_loss.
Var linear_label_smoothing_loss(const Var& x, const Var& weight, const Var& bias,
                                const Tensor& target, double smoothing, Index pad,
                                LossSums* sums = nullptr, Where where = Where::current());

// ---- the parts of recurrent models; each has its own file in ops/ ----
// One step of a GRU: y = (1 - z) c + z state, gates from input (B, 3H), the product of x, and hidden
// (B, 3H), that of state (B, H). Rows with live = false ((B,) bool, or undefined) keep their state.
Var gru_cell(const Var& input, const Var& hidden, const Var& state, const Tensor& live = {},
             Where at = Where::current());
// One step of an LSTM: [h', c'] (B, 2H) from input and hidden (B, 4H) and state [h, c] (B, 2H).
Var lstm_cell(const Var& input, const Var& hidden, const Var& state, const Tensor& live = {},
              Where at = Where::current());
// e_ts = Σ_a v_a tanh(q_ta + k_sa)      query (B, T, A)   keys (B, S, A)   v (A,)   e (B, T, S)
Var additive_scores(const Var& query, const Var& keys, const Var& v,
                    Where where = Where::current());

// ---- activation checkpointing (checkpoint.cpp) ----
// fn(), of which nothing is kept: backward runs it again, with the same random numbers (Chen et
// al. 2016, arXiv 1604.06174). fn must compute the same again from what it captures, which must
// live until then: capture by value. A value that fn computes and does not return stays inside.
// ValueError for a null fn.
Var checkpoint(std::function<Var()> fn, Where where = Where::current());

}  // namespace glim

// Every op, with one line of mathematics each. Formula and rule are in each op's struct in
// autograd/ops/. The first operand is an Operand: it knows the line of the call.
//
// Errors, unless said otherwise: ShapeError and DTypeError as for the tensor function of the name.
#pragma once

#include <optional>
#include <vector>

#include "autograd/functions.hpp"
#include "autograd/graph.hpp"
#include "autograd/measures.hpp"
#include "autograd/rules.hpp"
#include "autograd/tape.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/windows.hpp"
#include "tensor/random.hpp"

namespace glim {

// ---- arithmetic (ops/arithmetic.cpp); operands broadcast through broadcast_to ----
Var add(const Operand& a, const Var& b);      // a + b
Var sub(const Operand& a, const Var& b);      // a - b
Var mul(const Operand& a, const Var& b);      // a b
Var div(const Operand& a, const Var& b);      // a / b
Var maximum(const Operand& a, const Var& b);  // max(a, b)
Var minimum(const Operand& a, const Var& b);  // min(a, b)
Var add(const Operand& x, double c);          // x + c
Var mul(const Operand& x, double c);          // c x
Var div(const Operand& x, double c);          // x / c
Var neg(const Operand& x);                    // -x
Var sub(double c, const Operand& x);          // c - x
Var div(double c, const Operand& x);          // c / x
Var pow(const Operand& x, double exponent);   // x^p
Var pow(const Operand& x, const Var& exponent);
Var pow(double base, const Operand& exponent);
// condition ? a : b; condition is a bool tensor and has no gradient
Var where(const Tensor& condition, const Operand& a, const Var& b);

// A number is taken as a tensor of its value, a Tensor as a constant (autograd/operand.hpp).
Var operator+(const Operand& a, const Var& b);  // not inline: accumulate.cpp links to it
inline Var operator-(const Operand& a, const Var& b) { return sub(a, b); }
inline Var operator*(const Operand& a, const Var& b) { return mul(a, b); }
inline Var operator/(const Operand& a, const Var& b) { return div(a, b); }
inline Var operator+(const Operand& x, double c) { return add(x, c); }
inline Var operator+(double c, const Operand& x) { return add(x, c); }
inline Var operator-(const Operand& x, double c) { return add(x, -c); }
inline Var operator-(double c, const Operand& x) { return sub(c, x); }
inline Var operator*(const Operand& x, double c) { return mul(x, c); }
inline Var operator*(double c, const Operand& x) { return mul(x, c); }
inline Var operator/(const Operand& x, double c) { return div(x, c); }
inline Var operator/(double c, const Operand& x) { return div(c, x); }
inline Var operator-(const Operand& x) { return neg(x); }

// ---- functions of each element (ops/functions.cpp) ----
#define GLIM_DECLARE(name, ...) Var name(const Operand& x);
GLIM_FUNCTIONS(GLIM_DECLARE)  // exp, log, tanh ...: a row of functions.hpp each
#undef GLIM_DECLARE
Var silu(const Operand& x);  // x sigmoid(x)
Var clamp(const Operand& x, double low, double high);
// x Φ(x), Φ the normal distribution; or its tanh approximation (Hendrycks & Gimpel 2016)
Var gelu(const Operand& x, GeluForm form = GeluForm::Erf);
Var softplus(const Operand& x, double beta);  // ln(1 + e^(βx))/β
// x where x > 0, else α(e^x - 1) (Clevert et al. 2016)
Var elu(const Operand& x, double alpha = 1);
// x where x > 0, else slope x
Var leaky_relu(const Operand& x, double negative_slope = 0.01);

// ---- shape (ops/shape.cpp); views, no element moves ----
Var reshape(const Operand& x, const Shape& shape);
Var permute(const Operand& x, const Dims& axes);
Var transpose(const Operand& x, Index a = -2, Index b = -1);
Var broadcast_to(const Operand& x, const Shape& shape);
Var slice(const Operand& x, Index axis, Index start, Index stop, Index step = 1);
// zeros of `shape` with x at start, start + step, ... of the axis: slice's reverse
Var unslice(const Operand& x, const Shape& shape, Index axis, Index start, Index step = 1);
Var narrow(const Operand& x, Index axis, Index start, Index length);
Var select(const Operand& x, Index axis, Index index);
Var squeeze(const Operand& x, Index axis);
Var unsqueeze(const Operand& x, Index axis);
Var concatenate(const std::vector<Var>& parts, Index axis, Where where = Where::current());
Var stack(const std::vector<Var>& parts, Index axis, Where where = Where::current());
// `value` around x: (before, after) elements for each axis; a negative number cuts elements off
Var pad(const Operand& x, const std::vector<std::pair<Index, Index>>& widths, double value = 0);
std::vector<Var> split(const Operand& x, Index axis, const std::vector<Index>& lengths);
Var tril(const Operand& x, Index diagonal = 0);
Var triu(const Operand& x, Index diagonal = 0);

// ---- reductions (ops/reduce.cpp); no axes means all ----
Var sum(const Operand& x, const Dims& axes = {}, bool keepdim = false);
Var sum_to(const Operand& x, const Shape& shape);
Var mean(const Operand& x, const Dims& axes = {}, bool keepdim = false);
Var max(const Operand& x, const Dims& axes = {}, bool keepdim = false);
Var min(const Operand& x, const Dims& axes = {}, bool keepdim = false);
Var var(const Operand& x, const Dims& axes = {}, double correction = 1, bool keepdim = false);

// ---- comparisons and logic (ops/compare.cpp): bool tensors, through which no gradient flows ----
Tensor equal(const Operand& a, const Var& b);
Tensor not_equal(const Operand& a, const Var& b);
Tensor less(const Operand& a, const Var& b);
Tensor less_equal(const Operand& a, const Var& b);
Tensor greater(const Operand& a, const Var& b);
Tensor greater_equal(const Operand& a, const Var& b);
Tensor equal(const Operand& x, double c);
Tensor not_equal(const Operand& x, double c);
Tensor less(const Operand& x, double c);
Tensor less_equal(const Operand& x, double c);
Tensor greater(const Operand& x, double c);
Tensor greater_equal(const Operand& x, double c);
Tensor logical_and(const Operand& a, const Var& b);  // bool, like the next two
Tensor logical_or(const Operand& a, const Var& b);
Tensor logical_not(const Operand& a);
// int64: where along the axis the largest (smallest) element is, the first of equals
Tensor argmax(const Operand& x, Index axis, bool keepdim = false);
Tensor argmin(const Operand& x, Index axis, bool keepdim = false);
Tensor argmax(const Operand& x);  // over all elements, in row-major order
Tensor argmin(const Operand& x);

// ---- cumulative (ops/cumulative.cpp): of all elements up to each one, along an axis ----
Var cumsum(const Operand& x, Index axis, bool reverse = false);  // reverse: from the far end
Var cumprod(const Operand& x, Index axis);
Var logcumsumexp(const Operand& x, Index axis);
// y_0 = b_0, y_i = a_{i-1} y_{i-1} + b_i, where a has one element less than b; reverse: from the far end
Var linear_recurrence(const Operand& a, const Var& b, Index axis, bool reverse = false);

// ---- softmax (ops/softmax.cpp) ----
Var softmax(const Operand& x, Index axis = -1);
Var log_softmax(const Operand& x, Index axis = -1);
Var logsumexp(const Operand& x, Index axis = -1, bool keepdim = false);

// softmax over the last axis of the elements with keep = true, 0 elsewhere; a row of which nothing
// is kept is all 0. keep is bool and broadcasts to x.
Var masked_softmax(const Operand& x, const Tensor& keep);

// ---- products (ops/matmul.cpp) ----
Var matmul(const Operand& a, const Var& b);  // a b

// ---- index (ops/index.cpp); index tensors are int64 and have no gradient ----
Var gather(const Operand& x, Index axis, const Tensor& index);
Var scatter_add(const Operand& x, Index axis, const Tensor& index, const Var& source);
Var index_select(const Operand& x, Index axis, const Tensor& index);
Var index_add(const Shape& shape, Index axis, const Tensor& index, const Operand& source);
struct OrderedVar {
  Var values;
  Tensor indices;
};
OrderedVar sort(const Operand& x, Index axis = -1, bool descending = false);
OrderedVar top_k(const Operand& x, Index k, Index axis = -1);
// The largest (smallest) of all elements up to each one; of equals the last (ops/cumulative.cpp)
OrderedVar cummax(const Operand& x, Index axis);
OrderedVar cummin(const Operand& x, Index axis);
// NumPy's x[i, j]. For each axis, from the first on: int64 positions, of which negative ones count from
// the end; a bool mask, for as many axes as it has; or an undefined tensor, for all of the axis. The
// positions broadcast. Their axes are where the first one was, or in front if other axes are between them.
Var index(const Operand& x, const std::vector<Tensor>& indices);

// ---- sliding windows over images (B, H, W, C) (ops/windows.cpp) ----
// every window as its own copy: (B, H', W', kh, kw, C); positions outside x are `fill`
Var unfold(const Operand& x, const Window& rows, const Window& columns, double fill = 0);
// the sum of all windows at their places, (B, height, width, C): unfold's adjoint
Var fold(const Operand& y, Index height, Index width, const Window& rows, const Window& columns);

// ---- dropout (ops/dropout.cpp) ----
// x / (1 - p), but 0 with probability p: where bernoulli(p, key) (Srivastava et al. 2014, inverted)
Var dropout(const Operand& x, double p, RandomKey key);
// x + dropout(h): a residual connection in one pass
Var add_dropout(const Operand& x, const Var& h, double p, RandomKey key);

// ---- the parts of a Transformer; each has its own file in ops/ ----
// y = x Wᵀ + b      x: (..., I)   weight: (O, I)   bias: (O,) or undefined   y: (..., O)
Var linear(const Operand& x, const Var& weight, const Var& bias);
// h = dropout(max(0, x Wᵀ + b)): the hidden layer of a feed-forward network
Var linear_relu(const Operand& x, const Var& weight, const Var& bias, double dropout_p = 0,
                RandomKey dropout_key = {});
// ValueError unless a norm's ε is finite and not negative, in the dtype too, and 0 there only if it is 0.
void require_eps(std::string_view op, double eps, DType dtype = DType::Float64);
// y = γ (x - μ)/σ + β, σ = √(var x + ε), over the last axes, those of `shape` (Ba et al. 2016); gamma,
// beta: of that shape, or undefined
Var layer_norm(const Operand& x, const Shape& shape, const Var& gamma, const Var& beta,
               double eps = 1e-5);
// layer_norm over the last axis; gamma, beta: (D,) or undefined
Var layer_norm(const Operand& x, const Var& gamma, const Var& beta, double eps = 1e-5);
// y = γ x/√(mean x² + ε) over the last axes, those of `shape` (Zhang & Sennrich 2019); gamma: of that
// shape, or undefined
Var rms_norm(const Operand& x, const Shape& shape, const Var& gamma, double eps);
// rms_norm over the last axis; gamma: (D,) or undefined
Var rms_norm(const Operand& x, const Var& gamma, double eps);
// neighbouring columns as points of the plane, turned by angles given as cos and sin (T, D/2)
// (Su et al. 2021); x: (..., T, D), D even
Var rotate_pairs(const Operand& x, const Tensor& cos, const Tensor& sin);

// The weights A of the scores S: softmax(S), relu(S)/n for a query of n keys, or S (ops/attention.cpp).
enum class AttentionForm { Softmax, Relu, Linear };
struct AttentionMask {
  Tensor keep;       // bool, true = may attend; broadcasts to (..., T, S); undefined keeps all
  Var bias;          // added to the scores; broadcasts to them; undefined adds nothing
  double scale = 0;  // factor of Q Kᵀ in the scores; 0: 1/√Dk
  AttentionForm form = AttentionForm::Softmax;
};
struct AttentionResult {
  Var context;  // (..., T, Dv)
  Var probs;    // A (..., T, S), before dropout; undefined unless asked for
};
// context = dropout(softmax(Q Kᵀ/√Dk + mask)) V      (Vaswani et al. 2017, equation 1)
// query (..., T, Dk)   key (..., S, Dk)   value (..., S, Dv)
AttentionResult scaled_dot_product_attention(const Operand& query, const Var& key, const Var& value,
                                             const AttentionMask& mask = {}, double dropout_p = 0,
                                             RandomKey dropout_key = {}, bool need_probs = false);
// Attention of H heads with projections side by side: x (B, T, 3D) = [Q K V], or x (B, T, D) = Q
// and memory (B, S, 2D) = [K V]; head h is the columns h·Dh ... of each block. context (B, T, D),
// probs (B, H, T, S).
AttentionResult packed_attention(const Operand& x, const Var& memory, Index heads,
                                 const AttentionMask& mask = {}, double dropout_p = 0,
                                 RandomKey dropout_key = {}, bool need_probs = false);

// A loss summed over its targets, which is used as a Var, and its measurements.
struct MeasuredLoss {
  Var loss;
  Measures sums;
  operator const Var&() const { return loss; }
  double item() const { return loss.item(); }
};
// Σ over rows of KL(q ‖ softmax(logits)), q = 1-ε for the target, 0 for pad, ε/(V-2) for the rest;
// rows whose target is pad count 0 (Szegedy et al. 2016, section 7; Vaswani et al. 2017, 5.4).
// logits (N, V)   target (N,) int64. ValueError for ε outside [0, 1) or without other classes;
// IndexError for a target outside [0, V).
MeasuredLoss label_smoothing_loss(const Operand& logits, const Tensor& target, double smoothing,
                                  Index pad);

// label_smoothing_loss of logits = x Wᵀ + b, in chunks of rows: they never exist for all at once.
// x (N, I)   weight (V, I)   bias (V,) or undefined   target (N,). Errors as label_smoothing_loss.
MeasuredLoss linear_label_smoothing_loss(const Operand& x, const Var& weight, const Var& bias,
                                         const Tensor& target, double smoothing, Index pad);

// ---- the parts of recurrent models; each has its own file in ops/ ----
// One step of a GRU: y = (1 - z) c + z state, gates from input (B, 3H), the product of x, and hidden
// (B, 3H), that of state (B, H). Rows with valid = false ((B,) bool, or undefined) keep their state.
Var gru_cell(const Operand& input, const Var& hidden, const Var& state, const Tensor& valid = {});
// One step of an LSTM: [h', c'] (B, 2H) from input and hidden (B, 4H) and state [h, c] (B, 2H).
Var lstm_cell(const Operand& input, const Var& hidden, const Var& state, const Tensor& valid = {});
// e_ts = Σ_a v_a tanh(q_ta + k_sa)      query (B, T, A)   keys (B, S, A)   v (A,)   e (B, T, S)
Var additive_scores(const Operand& query, const Var& keys, const Var& v);

// ---- activation checkpointing (recomputed.cpp) ----
// fn(), of which nothing is kept: backward runs it again, with the same random numbers (Chen et al. 2016,
// arXiv 1604.06174). fn must compute the same again, and what it captures must live until then: capture by
// value. A value that fn computes and does not return stays inside.
// ValueError for a null fn.
Var recomputed(std::function<Var()> fn, Where where = Where::current());

}  // namespace glim

// Every op of autograd/ops.hpp.
#include "tensor/ops/elementwise.hpp"
#include "tests/fuzz/graphs/catalogue.hpp"

namespace glim::fuzz {
namespace {

Shapes same(const Shape& s, const Constants&) { return {s}; }
Shapes row(const Shape& s, const Constants&) { return {{extent(s, -1)}}; }
Shapes two_rows(const Shape& s, const Constants&) { return {{extent(s, -1)}, {extent(s, -1)}}; }
Shapes weight(const Shape& s, const Constants& c) { return {{c.width, extent(s, -1)}}; }
Shapes weight_and_bias(const Shape& s, const Constants& c) {
  return {{c.width, extent(s, -1)}, {c.width}};
}
Shapes keys_and_values(const Shape& s, const Constants& c) {  // (..., S, Dk), (..., S, Dv)
  const int rows = normalize_axis(-2, s.rank(), "graph");     // refuses a vector
  Shape k = s, v = s;
  k[rows] = v[rows] = c.size;
  v[rows + 1] = c.width;
  return {k, v};
}
Shapes even_columns(const Shape&, const Constants& c) { return {{c.size, 3, 4}}; }
Shapes queries_keys_values(const Shape&, const Constants& c) {
  return {{c.size, c.width, 6 * c.heads}};
}
Shapes queries_and_memory(const Shape&, const Constants& c) {
  return {{c.size, c.width, 2 * c.heads}, {c.size, 3, 4 * c.heads}};
}
Shapes image(const Shape&, const Constants& c) { return {{c.heads, 3, 4, c.heads}}; }
Shapes patches(const Shape&, const Constants& c) { return {{c.heads, 2, 2, 2, 2, c.heads}}; }
Shapes logits(const Shape&, const Constants& c) { return {{c.size, c.width + 2}}; }
Shapes logits_of(const Shape&, const Constants& c) {
  return {{c.size, 3}, {c.width + 2, 3}, {c.width + 2}};
}
Shapes gru(const Shape&, const Constants& c) {
  return {{c.size, 3 * c.width}, {c.size, 3 * c.width}, {c.size, c.width}};
}
Shapes lstm(const Shape&, const Constants& c) {
  return {{c.size, 4 * c.width}, {c.size, 4 * c.width}, {c.size, 2 * c.width}};
}
Shapes scored(const Shape&, const Constants& c) {
  return {{c.heads, c.size, c.width}, {c.heads, 3, c.width}, {c.width}};
}

}  // namespace

#define OP(NAME, FREE, FITTING, ...)                                                            \
  {                                                                                             \
    NAME, FREE, FITTING, #__VA_ARGS__, [](const Constants& c, Module*, const Vars& in) -> Var { \
      static_cast<void>(c);                                                                     \
      GLIM_OPERANDS;                                                                            \
      return __VA_ARGS__;                                                                       \
    }                                                                                           \
  }
#define KINKED(NAME, FREE, FITTING, ...)                         \
  {                                                              \
    NAME, FREE, FITTING, #__VA_ARGS__,                           \
        [](const Constants& c, Module*, const Vars& in) -> Var { \
          static_cast<void>(c);                                  \
          GLIM_OPERANDS;                                         \
          return __VA_ARGS__;                                    \
        },                                                       \
        true                                                     \
  }

std::vector<Kind> op_kinds() {
  std::vector<Kind> list = {
      OP("add", 2, nullptr, x + y),
      OP("sub", 2, nullptr, x - y),
      OP("mul", 2, nullptr, x * (y)),
      OP("div", 2, nullptr, x / (1 + y * y)),
      OP("reciprocal", 1, nullptr, 1 / (1 + x * x)),
      OP("shift", 1, nullptr, 1.5 - x),
      OP("scale", 1, nullptr, x * c.number),
      OP("neg", 1, nullptr, -x),
      OP("pow", 1, nullptr, pow(1 + x * x, 1.5)),
      OP("power", 1, same, pow(1 + x * x, y)),
      OP("where", 1, same, where(bernoulli(x.shape(), 0.5, c.key), x, y)),
      KINKED("maximum", 2, nullptr, maximum(x, y)),
      KINKED("minimum", 2, nullptr, minimum(x, y)),
      OP("silu", 1, nullptr, silu(x)),
      OP("softplus of βx", 1, nullptr, softplus(x, 1 + c.by)),
      KINKED("elu", 1, nullptr, elu(x, c.number)),
      KINKED("leaky_relu", 1, nullptr, leaky_relu(x)),
      KINKED("clamp", 1, nullptr, clamp(x, -0.8, 1.1)),
      OP("gelu", 1, nullptr, gelu(x)),
      OP("gelu tanh", 1, nullptr, gelu(x, GeluForm::Tanh)),
      OP("reshape", 1, nullptr, reshape(x, {-1})),
      OP("transpose", 1, nullptr, transpose(x, c.axis, c.other)),
      OP("broadcast_to", 1, nullptr, broadcast_to(x, c.wider)),
      OP("slice", 1, nullptr, slice(x, c.axis, c.start, c.start + c.length, c.by)),
      OP("unslice", 1, nullptr, unslice(x, c.wider, c.axis, 0, 1)),
      OP("narrow", 1, nullptr, narrow(x, c.axis, c.start, c.length)),
      OP("select", 1, nullptr, select(x, c.axis, c.start)),
      OP("unsqueeze", 1, nullptr, unsqueeze(x, c.axis)),
      OP("concatenate", 2, nullptr, concatenate({x, y}, c.axis)),
      OP("stack", 1, same, stack({x, y, x}, c.axis)),
      OP("pad", 1, nullptr,
         pad(x,
             std::vector<std::pair<Index, Index>>(static_cast<std::size_t>(x.rank()), {c.by, -1}),
             c.number)),
      OP("split", 1, nullptr, split(x, c.axis, {c.start, x.size(c.axis) - c.start})[1]),
      OP("tril", 1, nullptr, tril(x, c.start - 1)),
      OP("triu", 1, nullptr, triu(x, c.start - 1)),
      OP("sum", 1, nullptr, sum(x, {c.axis}, c.flag)),
      OP("sum of all", 1, nullptr, sum(x, {}, c.flag)),
      OP("sum_to", 1, nullptr, sum_to(x, c.smaller)),
      OP("mean", 1, nullptr, mean(x, {c.axis}, c.flag)),
      OP("var", 1, nullptr, var(x, {c.axis}, 0, c.flag)),
      KINKED("max", 1, nullptr, max(x, {c.axis}, c.flag)),
      KINKED("min", 1, nullptr, min(x, {c.axis}, c.flag)),
      OP("cumsum", 1, nullptr, cumsum(x, c.axis)),
      OP("cumprod", 1, nullptr, cumprod(x, c.axis)),
      OP("logcumsumexp", 1, nullptr, logcumsumexp(x, c.axis)),
      OP("linear_recurrence", 1, nullptr,
         linear_recurrence(slice(x, c.axis, 1, x.size(c.axis)), x, c.axis, c.flag)),
      KINKED("cummax", 1, nullptr, cummax(x, c.axis).values),
      OP("softmax", 1, nullptr, softmax(x, c.axis)),
      OP("log_softmax", 1, nullptr, log_softmax(x, c.axis)),
      OP("logsumexp", 1, nullptr, logsumexp(x, c.axis, c.flag)),
      OP("masked_softmax", 1, nullptr, masked_softmax(x, bernoulli(x.shape(), 0.7, c.key))),
      OP("matmul", 2, nullptr, matmul(x, y)),
      OP("matmul by the transposed", 2, nullptr, matmul(x, transpose(y))),
      OP("gather", 1, nullptr,
         gather(x, c.axis, random_integers(x.shape(), 0, x.size(c.axis), c.key))),
      OP("scatter_add", 1, same,
         scatter_add(x, c.axis, random_integers(y.shape(), 0, x.size(c.axis), c.key), y)),
      OP("index_select", 1, nullptr,
         index_select(x, c.axis, random_integers({c.size}, 0, x.size(c.axis), c.key))),
      OP("index_add", 1, nullptr,
         index_add(x.shape(), c.axis, random_integers({x.size(c.axis)}, 0, x.size(c.axis), c.key),
                   x)),
      OP("index", 1, nullptr, index(x, {random_integers({c.size}, -x.size(0), x.size(0), c.key)})),
      KINKED("sort", 1, nullptr, sort(x, c.axis, c.flag).values),
      KINKED("top_k", 1, nullptr, top_k(x, c.length, c.axis).values),
      OP("unfold", 0, image, unfold(x, {2, c.by, 1, c.by, 0}, {c.heads, 1, 2, 0, 1}, c.number)),
      OP("fold", 0, patches, fold(x, 3, 4, {2, 1, 1}, {2, 2, 1})),
      OP("dropout", 1, nullptr, dropout(x, 0.3, c.key)),
      OP("add_dropout", 1, same, add_dropout(x, y, 0.3, c.key)),
      OP("linear", 1, weight_and_bias, linear(x, y, z)),
      OP("linear without bias", 1, weight, linear(x, y, Var())),
      KINKED("linear_relu", 1, weight_and_bias, linear_relu(x, y, z, 0.3, c.key)),
      OP("layer_norm", 1, two_rows, layer_norm(x, y, z, 0.1)),
      OP("layer_norm, plain", 1, nullptr, layer_norm(x, Var(), Var(), 0.1)),
      OP("rms_norm", 1, row, rms_norm(x, y, 0.1)),
      OP("rotate_pairs", 0, even_columns,
         rotate_pairs(x, cos(uniform({3, 2}, 0, 3, c.key, x.dtype())),
                      sin(uniform({3, 2}, 0, 3, c.key, x.dtype())))),
      OP("attention", 1, keys_and_values,
         scaled_dot_product_attention(x, y, z, {}, c.flag ? 0.2 : 0.0, c.key).context),
      OP("masked attention", 1, keys_and_values,
         scaled_dot_product_attention(x, y, z,
                                      {bernoulli({x.size(-2), y.size(-2)}, 0.7, c.key), Var()})
             .context),
      OP("packed_attention", 0, queries_keys_values,
         packed_attention(x, Var(), c.heads, {}, c.flag ? 0.2 : 0.0, c.key).context),
      OP("packed_attention to a memory", 0, queries_and_memory,
         packed_attention(x, y, c.heads).context),
      OP("label_smoothing_loss", 0, logits,
         label_smoothing_loss(x, random_integers({c.size}, 0, c.width + 2, c.key), 0.1, 0).loss),
      OP("linear_label_smoothing_loss", 0, logits_of,
         linear_label_smoothing_loss(x, y, z, random_integers({c.size}, 0, c.width + 2, c.key), 0.1,
                                     0)
             .loss),
      OP("gru_cell", 0, gru, gru_cell(x, y, z, bernoulli({c.size}, 0.8, c.key))),
      OP("lstm_cell", 0, lstm, lstm_cell(x, y, z, bernoulli({c.size}, 0.8, c.key))),
      OP("additive_scores", 0, scored, additive_scores(x, y, z)),
      OP("recomputed", 1, nullptr, recomputed([a = x] { return tanh(a) * a; })),
      OP("recomputed twice over", 1, same,
         recomputed([a = x, b = y] { return recomputed([a] { return sin(a); }) * b; })),
  };
  // Functions of each element: of x, or of x² above the end of an interval that has no -1.
  constexpr bool smooth = false, kinked = true;
#define RECORD(name, equation, gradient, read, rule, low, high, slope, ...)               \
  list.push_back({#name, 1, nullptr, low < -1 ? #name "(x)" : #name "(" #low " + x * x)", \
                  [](const Constants&, Module*, const Vars& in) -> Var {                  \
                    const Var& x = in[0];                                                 \
                    return low < -1 ? glim::name(x) : glim::name(low + x * x);            \
                  },                                                                      \
                  slope});
  GLIM_FUNCTIONS(RECORD)
#undef RECORD
  return list;
}

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = [] {
    std::vector<Kind> list = op_kinds();
    for (const Kind& k : module_kinds()) list.push_back(k);
    return list;
  }();
  return all;
}

}  // namespace glim::fuzz

// The Transformer of 2017 in one sitting. Have the paper open: Vaswani et al., "Attention Is All
// You Need" (arXiv 1706.03762). Sections and equations below are those of the paper.
//
//   g++ -std=c++20 -O2 one_file.cpp && ./a.out    learns to copy sentences, shows what it learned
//   ./a.out --show decoder.0.cross                the backward pass of one head, value by value
//   ./a.out --tied                                both embeddings and the generator are one matrix
//
// The file needs nothing but the standard library. It is read from top to bottom:
//
//   1  an array with strides        shape, views, broadcasting, and one loop for all of them
//   2  the tape                     what forward writes down, and how backward reads it
//   3  ops                          each op's forward, and its gradient below it
//   4  layers                       linear, layer norm, dropout, attention of many heads
//   5  the model                    masks, positions, encoder, decoder, generator
//   6  the loss                     label smoothing as KL divergence
//   7  Adam                         with the warm-up schedule
//   8  the copy task                sentences and batches
//   9  training and decoding
//  10  looking at backward          --show, and --hold for the test
//
// Letters beside a reshape are extents. S is also the scores Q Kᵀ/√Dh, and V the values.
//
//   B   sentences of a batch              D    width of the model, d_model in the paper
//   T   positions of the target           H    heads
//   S   positions of the source           Dh   width of a head, D / H
//   dx  ∂L/∂x, of x's shape               V    tokens of the vocabulary
//
// Glim's library has these names for these things, and a test holds both equal. autograd/reading.md
// says what the library adds to each part.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// ---- 1  An array with strides -------------------------------------------------------------------
//
// Numbers are in a storage. A tensor says which of them it has, and in which order:
//
//   element (i, j, k) = storage[offset + i strides[0] + j strides[1] + k strides[2]]
//
// Tensors may share a storage. A transpose swaps two strides, a slice moves the offset, and an axis
// of stride 0 repeats one element without copying it. Every number is a double. Tokens are whole
// numbers, and masks are 1 (keep) and 0, so that both are tensors too.

using Index = std::int64_t;
using Shape = std::vector<Index>;

struct Tensor {
  std::shared_ptr<std::vector<double>> storage;
  Index offset = 0;
  Shape shape, strides;

  Tensor() = default;
  Tensor(double number);  // has shape (), so that it broadcasts to any other

  bool defined() const { return storage != nullptr; }
  int rank() const { return int(shape.size()); }
  int axis(int i) const { return i < 0 ? rank() + i : i; }  // -1 is the last
  Index size(int i) const { return shape[axis(i)]; }
  double* data() const { return storage->data() + offset; }
  double item() const { return *data(); }
};

Index numel_of(const Shape& n) {
  return std::accumulate(n.begin(), n.end(), Index{1}, std::multiplies{});
}

// In row-major order the last index runs fastest.
Shape row_major(const Shape& shape) {
  Shape strides(shape.size());
  Index step = 1;
  for (std::size_t axis = shape.size(); axis-- > 0; step *= shape[axis]) strides[axis] = step;
  return strides;
}

Tensor full(const Shape& shape, double value) {
  Tensor x;
  x.storage = std::make_shared<std::vector<double>>(numel_of(shape), value);
  x.shape = shape;
  x.strides = row_major(shape);
  return x;
}
Tensor zeros(const Shape& shape) { return full(shape, 0); }
Tensor arange(Index n) {  // 0 ... n - 1
  const Tensor x = zeros({n});
  std::iota(x.data(), x.data() + n, 0);
  return x;
}
Tensor::Tensor(double number) : Tensor(full({}, number)) {}

// The one loop over strides. It calls f(element of x, element of y) for all elements of two tensors
// of one shape, in row-major order.
void walk(const Tensor& x, const Tensor& y, const auto& f, double* at_x, double* at_y,
          int axis = 0) {
  if (axis == x.rank()) return f(*at_x, *at_y);
  const Index n = x.shape[axis], step_x = x.strides[axis], step_y = y.strides[axis];
  for (Index i = 0; i < n; ++i, at_x += step_x, at_y += step_y)
    axis + 1 < x.rank() ? walk(x, y, f, at_x, at_y, axis + 1) : f(*at_x, *at_y);
}
void walk(const Tensor& x, const Tensor& y, const auto& f) { walk(x, y, f, x.data(), y.data()); }

void copy_to(const Tensor& x, const Tensor& source) {
  walk(x, source, [](double& target, double v) { target = v; });
}
Tensor clone(const Tensor& x) {
  Tensor y = zeros(x.shape);
  copy_to(y, x);
  return y;
}
// x itself if its elements are side by side in row-major order, else a copy in which they are.
Tensor contiguous(const Tensor& x) { return x.strides == row_major(x.shape) ? x : clone(x); }

// -- views

Tensor reshape(const Tensor& x, Shape shape) {
  for (Index& n : shape)
    if (n == -1) n = numel_of(x.shape) / -numel_of(shape);  // the extent left for this axis
  if (numel_of(shape) != numel_of(x.shape)) throw std::invalid_argument("reshape: other numel");
  Tensor y = contiguous(x);
  y.shape = shape;
  y.strides = row_major(shape);
  return y;
}

Tensor transpose(Tensor x, int a = -2, int b = -1) {
  std::swap(x.shape[x.axis(a)], x.shape[x.axis(b)]);
  std::swap(x.strides[x.axis(a)], x.strides[x.axis(b)]);
  return x;
}

// Rows begin ... end - 1 of the first axis.
Tensor slice(Tensor x, Index begin, Index end) {
  x.offset += begin * x.strides[0];
  x.shape[0] = end - begin;
  return x;
}

// x repeated along new axes in front, and along its axes of extent 1: their stride is 0.
Tensor broadcast_to(const Tensor& x, const Shape& shape) {
  Tensor y = x;
  y.shape = shape;
  y.strides.assign(shape.size(), 0);
  const std::size_t added = shape.size() - x.shape.size();
  for (std::size_t axis = 0; axis < x.shape.size(); ++axis)
    if (x.shape[axis] == shape[added + axis])
      y.strides[added + axis] = x.strides[axis];
    else if (x.shape[axis] != 1)
      throw std::invalid_argument("broadcast_to: an axis is neither 1 nor that of the shape");
  return y;
}

// The shape to which both broadcast. Axes are counted from the end.
Shape broadcast_shapes(Shape a, Shape b) {
  if (a.size() < b.size()) std::swap(a, b);
  for (std::size_t axis = 1; axis <= b.size(); ++axis)
    a[a.size() - axis] = std::max(a[a.size() - axis], b[b.size() - axis]);
  return a;
}

// -- functions of each element, and sums

Tensor map(const Tensor& x, const auto& f) {
  Tensor y = zeros(x.shape);
  walk(y, x, [&](double& element, double v) { element = f(v); });
  return y;
}
Tensor map(const Tensor& a, const Tensor& b, const auto& f) {
  const Shape shape = broadcast_shapes(a.shape, b.shape);
  Tensor y = clone(broadcast_to(a, shape));
  walk(y, broadcast_to(b, shape), [&](double& element, double v) { element = f(element, v); });
  return y;
}
Tensor operator+(const Tensor& a, const Tensor& b) { return map(a, b, std::plus{}); }
Tensor operator-(const Tensor& a, const Tensor& b) { return map(a, b, std::minus{}); }
Tensor operator*(const Tensor& a, const Tensor& b) { return map(a, b, std::multiplies{}); }
Tensor operator/(const Tensor& a, const Tensor& b) { return map(a, b, std::divides{}); }
Tensor exp(const Tensor& x) { return map<double (*)(double)>(x, std::exp); }
Tensor log(const Tensor& x) { return map<double (*)(double)>(x, std::log); }
Tensor sqrt(const Tensor& x) { return map<double (*)(double)>(x, std::sqrt); }

// Broadcasting read backwards: each element of x is combined into the place from which broadcast_to
// would have read it.
Tensor reduce_to(const Tensor& x, const Shape& shape, double start, const auto& f) {
  Tensor y = full(shape, start);
  walk(broadcast_to(y, x.shape), x, [&](double& element, double v) { element = f(element, v); });
  return y;
}
Tensor sum_to(const Tensor& x, const Shape& shape) { return reduce_to(x, shape, 0, std::plus{}); }

// Rows are the last axis. A sum or maximum of each keeps that axis, with extent 1.
Shape with_last(Shape shape, Index n) {
  shape.back() = n;
  return shape;
}
Tensor row_sum(const Tensor& x) { return sum_to(x, with_last(x.shape, 1)); }
Tensor row_mean(const Tensor& x) { return row_sum(x) / x.size(-1); }
Tensor row_max(const Tensor& x) {
  return reduce_to(x, with_last(x.shape, 1), std::numeric_limits<double>::lowest(),
                   [](double a, double b) { return std::max(a, b); });
}
double norm(const Tensor& x) { return std::sqrt(sum_to(x * x, {}).item()); }

// y = a b, a (..., M, K), b (..., K, N), y (..., M, N). The leading axes of a and b are the same.
Tensor matmul(const Tensor& left, const Tensor& right) {
  const Tensor a = contiguous(left), b = contiguous(right);
  const Index m = a.size(-2), k = a.size(-1), n = b.size(-1);
  const Tensor y = zeros(with_last(a.shape, n));
  for (Index row = 0; row < numel_of(a.shape) / k; ++row)  // rows of all leading axes
    for (Index j = 0; j < k; ++j) {
      const double factor = a.data()[row * k + j];
      const double* source = b.data() + (row / m * k + j) * n;
      double* target = y.data() + row * n;
      for (Index column = 0; column < n; ++column) target[column] += factor * source[column];
    }
  return y;
}

// ---- 2  The tape --------------------------------------------------------------------------------
//
// While a tape exists, each op of a value that needs a gradient writes a node: inputs, y, gradient.
// The gradient is a function of dy, and keeps the tensors that it needs. Nodes are in the order of
// computation: a value comes after all that it is made of. Backward goes from last to first:
//
//   dx = Σ over the ops that read x of (∂y/∂x)ᵀ dy
//
// When a node's turn comes, all ops that read its y have had theirs, and dy is complete.

// A value that ops read and make. Copies of a Var are the same value.
class Var {
  struct State {
    Tensor value, grad;
    bool requires_grad;
  };
  std::shared_ptr<State> state_;

 public:
  Var() = default;
  explicit Var(const Tensor& value, bool requires_grad = false)  // if not: a constant
      : state_(std::make_shared<State>(State{value, {}, requires_grad})) {}

  Tensor& value() const { return state_->value; }
  Tensor& grad() const { return state_->grad; }  // ∂L/∂value, undefined before backward came by
  bool requires_grad() const { return state_->requires_grad; }
  const Shape& shape() const { return value().shape; }
  Index size(int axis) const { return value().size(axis); }
};

using Grads = std::vector<Tensor>;  // one for each input of an op
using Gradient = std::function<Grads(const Tensor& dy)>;

struct Rule {
  const char* op;
  const char* gradient;  // as text, for --show
  int line;              // in this file
};

struct Node {
  Rule rule;
  std::string path;  // if named: decoder.layers.0.self_attn.scores
  std::vector<Var> inputs;
  Var y;
  Gradient gradient;
};

struct Tape {
  std::vector<Node> nodes;

  static inline Tape* current = nullptr;
  Tape() { current = this; }
  ~Tape() { current = nullptr; }

  void backward(const Var& loss) {
    loss.grad() = full(loss.shape(), 1);  // ∂L/∂L
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
      const Tensor& dy = node->y.grad();
      if (!dy.defined()) continue;  // the loss does not depend on y
      const Grads d = node->gradient(dy);
      for (std::size_t k = 0; k < d.size(); ++k) {
        const Var& x = node->inputs[k];
        if (x.requires_grad()) x.grad() = x.grad().defined() ? x.grad() + d[k] : d[k];
      }
    }
  }
};

// An op returns y, on the tape if there is one and if an input needs a gradient.
Var apply(const Rule& rule, const std::vector<Var>& inputs, const Tensor& y,
          const Gradient& gradient) {
  const bool needed =
      std::any_of(inputs.begin(), inputs.end(), [](const Var& x) { return x.requires_grad(); });
  if (!Tape::current || !needed) return Var(y);
  Var out(y, true);
  Tape::current->nodes.push_back({rule, "", inputs, out, gradient});
  return out;
}

// Gives a name to the value that was computed last.
Var named(const Var& x, const std::string& path) {
  if (Tape::current) Tape::current->nodes.back().path = path;
  return x;
}

// ---- 3  Ops -------------------------------------------------------------------------------------
//
// Each op is a function with three parts: y, the gradient of each input given dy, and the node for
// the tape. The letters are those of the formula, and dy ⊙ b is written dy * b.

// y = x repeated where its extent is 1. An element read several times gets the sum over its reads.
Var broadcast_to(const Var& x, const Shape& shape) {
  const Tensor y = broadcast_to(x.value(), shape);
  auto gradient = [=](const Tensor& dy) { return Grads{sum_to(dy, x.shape())}; };
  return apply({"broadcast_to", "dx = Σ dy over the repeats", __LINE__}, {x}, y, gradient);
}

// y = a + b. Broadcasting comes first, as an op of its own.
Var operator+(const Var& a, const Var& b) {
  const Shape shape = broadcast_shapes(a.shape(), b.shape());
  if (a.shape() != shape) return broadcast_to(a, shape) + b;
  if (b.shape() != shape) return a + broadcast_to(b, shape);
  auto gradient = [](const Tensor& dy) { return Grads{dy, dy}; };
  return apply({"add", "da = dy, db = dy", __LINE__}, {a, b}, a.value() + b.value(), gradient);
}

// y = c x for a number c
Var operator*(double c, const Var& x) {
  auto gradient = [=](const Tensor& dy) { return Grads{c * dy}; };
  return apply({"scale", "dx = c dy", __LINE__}, {x}, c * x.value(), gradient);
}

// y = max(0, x)
Var relu(const Var& x) {
  const Tensor positive = map(x.value(), [](double v) { return v > 0; });
  auto gradient = [=](const Tensor& dy) { return Grads{dy * positive}; };
  return apply({"relu", "dx = dy, 0 where y = 0", __LINE__}, {x}, x.value() * positive, gradient);
}

// y = x under another shape
Var reshape(const Var& x, const Shape& shape) {
  auto gradient = [=](const Tensor& dy) { return Grads{reshape(dy, x.shape())}; };
  return apply({"reshape", "dx = dy under x's shape", __LINE__}, {x}, reshape(x.value(), shape),
               gradient);
}

// y = x with two axes exchanged
Var transpose(const Var& x, int a = -2, int b = -1) {
  auto gradient = [=](const Tensor& dy) { return Grads{transpose(dy, a, b)}; };
  return apply({"transpose", "dx = dy exchanged back", __LINE__}, {x}, transpose(x.value(), a, b),
               gradient);
}

// y = rows begin ... end - 1 of x
Var slice(const Var& x, Index begin, Index end) {
  auto gradient = [=](const Tensor& dy) {
    const Tensor dx = zeros(x.shape());
    copy_to(slice(dx, begin, end), dy);
    return Grads{dx};
  };
  return apply({"slice", "dx = zeros with dy at these places", __LINE__}, {x},
               slice(x.value(), begin, end), gradient);
}

// y = a b, a (..., M, K), b (..., K, N), y (..., M, N)
Var matmul(const Var& a, const Var& b) {
  const Tensor y = matmul(a.value(), b.value());
  auto gradient = [=](const Tensor& dy) {
    return Grads{matmul(dy, transpose(b.value())), matmul(transpose(a.value()), dy)};
  };
  return apply({"matmul", "da = dy bᵀ, db = aᵀ dy", __LINE__}, {a, b}, y, gradient);
}

// y = x Wᵀ + b for each row, x (..., I), W (O, I), b (O,), y (..., O)
Var linear(const Var& x, const Var& weight, const Var& bias) {
  const Index in = weight.size(1), out = weight.size(0);
  const Tensor rows = reshape(x.value(), {-1, in});  // rows of all leading axes
  const Tensor y = matmul(rows, transpose(weight.value())) + bias.value();
  auto gradient = [=](const Tensor& dy) {
    const Tensor dy_rows = reshape(dy, {-1, out});
    return Grads{reshape(matmul(dy_rows, weight.value()), x.shape()),
                 matmul(transpose(dy_rows), rows), sum_to(dy_rows, bias.shape())};
  };
  return apply({"linear", "dx = dy W, dW = dyᵀ x, db = Σ_rows dy", __LINE__}, {x, weight, bias},
               reshape(y, with_last(x.shape(), out)), gradient);
}

// y_i = keep_i e^{x_i - max} / Σ_j keep_j e^{x_j - max} in each row
//
// A hidden element counts as -∞, and e^{-∞} = 0. A row that keeps nothing has the max lowest(),
// so that it is finite, the sum 0, and zeros for 0/0. Its dx is 0 too, since dx has the factor y.
Var masked_softmax(const Var& x, const Tensor& keep) {
  const Tensor kept = map(x.value(), keep, [](double v, double k) {
    return k != 0 ? v : -std::numeric_limits<double>::infinity();
  });
  const Tensor e = exp(kept - row_max(kept));
  const Tensor y = map(e, row_sum(e), [](double v, double sum) { return sum == 0 ? 0 : v / sum; });
  auto gradient = [=](const Tensor& dy) { return Grads{y * (dy - row_sum(dy * y))}; };
  return apply({"masked_softmax", "dx = y ⊙ (dy - Σ(dy ⊙ y))", __LINE__}, {x}, y, gradient);
}

// y = γ ⊙ x̂ + β, x̂ = (x - μ)/σ, σ = √(mean (x - μ)² + ε), x and y (..., D), γ and β (D,)
// x reaches y directly, through μ and through σ: dx has three terms.
Var layer_norm(const Var& x, const Var& gamma, const Var& beta) {
  const double eps = 1e-5;
  const Tensor centered = x.value() - row_mean(x.value());
  const Tensor sigma = sqrt(row_mean(centered * centered) + eps);
  const Tensor x_hat = centered / sigma;
  const Tensor y = gamma.value() * x_hat + beta.value();
  auto gradient = [=](const Tensor& dy) {
    const Tensor g = gamma.value() * dy;
    return Grads{(g - row_mean(g) - x_hat * row_mean(g * x_hat)) / sigma,
                 sum_to(dy * x_hat, gamma.shape()), sum_to(dy, beta.shape())};
  };
  return apply({"layer_norm", "dx = (g - mean g - x̂ ⊙ mean(g ⊙ x̂))/σ, g = γ ⊙ dy", __LINE__},
               {x, gamma, beta}, y, gradient);
}

// y = rows ids_i of x: a product with rows of zeros and a 1. x (V, D), ids (B, T), y (B, T, D)
Var index_select(const Var& x, const Tensor& ids) {
  const Index count = numel_of(ids.shape);
  const Tensor one_hot = map(reshape(ids, {count, 1}), arange(x.size(0)), std::equal_to{});
  auto gradient = [=](const Tensor& dy) {
    return Grads{matmul(transpose(one_hot), reshape(dy, {count, x.size(1)}))};
  };
  const Tensor y = reshape(matmul(one_hot, x.value()), {ids.size(0), ids.size(1), x.size(1)});
  return apply({"index_select", "dx = zeros, row ids_i += dy row i", __LINE__}, {x}, y, gradient);
}

// y = x ⊙ mask
Var dropout(const Var& x, const Tensor& mask) {
  auto gradient = [=](const Tensor& dy) { return Grads{dy * mask}; };
  return apply({"dropout", "dx = dy ⊙ mask", __LINE__}, {x}, x.value() * mask, gradient);
}

// ---- 4  Layers ----------------------------------------------------------------------------------
//
// A layer has parameters, and computes with them when it is called. Parameters have their names in
// the library's checkpoints, which in the layers are those of torch.nn.Transformer.

// The i-th number depends on the seed and i alone (Steele, Lea and Flood 2014).
struct SplitMix64 {
  std::uint64_t state;
  std::uint64_t next() {
    std::uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  Index below(Index n) { return Index(next() % std::uint64_t(n)); }
  double uniform() { return double(next() >> 11) * 0x1p-53; }  // in [0, 1)
};

struct Parameters {
  SplitMix64 random{1};
  std::map<std::string, Var> named;
};

// A layer's directory in the tree of names. It gives the layer's parameters their names and first values.
struct Directory {
  std::shared_ptr<Parameters> model;
  std::string path;
  Directory operator/(const std::string& name) const {
    return {model, path.empty() ? name : path + "." + name};
  }
  Var add(const std::string& name, const Tensor& value) const {
    return model->named[(*this / name).path] = Var(value, true);
  }
  // Uniform on ±√(6/(rows + columns)) (Glorot and Bengio 2010, equation 16).
  Var matrix(const std::string& name, Index rows, Index columns) const {
    const double bound = std::sqrt(6.0 / double(rows + columns));
    auto draw = [&](double) { return bound * (2 * model->random.uniform() - 1); };
    return add(name, map(zeros({rows, columns}), draw));
  }
};

struct Linear {
  Directory dir;
  Index in, out;
  Var weight = dir.matrix("weight", out, in), bias = dir.add("bias", zeros({out}));
  Var operator()(const Var& x) const { return linear(x, weight, bias); }
};

struct LayerNorm {
  Directory dir;
  Index d;
  Var weight = dir.add("weight", full({d}, 1)), bias = dir.add("bias", zeros({d}));
  Var operator()(const Var& x) const { return layer_norm(x, weight, bias); }
};

// Section 5.4: each element becomes 0 with probability p, and the others grow by 1/(1 - p), so that
// the mean stays. Decoding has no tape, and drops nothing.
struct Dropout {
  Directory dir;
  double p;
  Var operator()(const Var& x) const {
    if (p == 0 || !Tape::current) return x;
    auto draw = [&](double) { return dir.model->random.uniform() < p ? 0 : 1 / (1 - p); };
    return dropout(x, map(zeros(x.shape()), draw));
  }
};

// Section 3.2.2: head_i = attention(Q W_i^Q, K W_i^K, V W_i^V), y = concat(head_1 ... head_H) W^O
//
// in_proj_weight has (W^Q)ᵀ, then (W^K)ᵀ and (W^V)ᵀ, D rows each, in which head follows head.
struct MultiheadAttention {
  Directory dir;
  Index d, heads;
  Var in_proj_weight = dir.matrix("in_proj_weight", 3 * d, d);
  Var in_proj_bias = dir.add("in_proj_bias", zeros({3 * d}));
  Linear out_proj{dir / "out_proj", d, d};

  // x (B, T, D), memory (B, S, D), keep broadcasts to (B, H, T, S), y (B, T, D)
  Var operator()(const Var& x, const Var& memory, const Tensor& keep) const {
    const std::string path = dir.path + ".";
    const Var query = named(split_heads(project(x, 0)), path + "query");
    const Var key = named(split_heads(project(memory, 1)), path + "key");
    const Var value = named(split_heads(project(memory, 2)), path + "value");
    // Equation 1. A product of two rows of deviation 1 has deviation √Dh (footnote 4). Without the
    // factor 1/√Dh, A = softmax(S) would be near 0 and 1, where softmax has hardly any gradient.
    const double scale = 1 / std::sqrt(d / heads);
    const Var product = named(matmul(query, transpose(key)), path + "product");  // (B, H, T, S)
    const Var scores = named(scale * product, path + "scores");                  // S
    const Var probs = named(masked_softmax(scores, keep), path + "probs");       // A
    const Var context = named(matmul(probs, value), path + "context");           // (B, H, T, Dh)
    return out_proj(join_heads(context));
  }
  Var project(const Var& x, Index part) const {
    const Index begin = part * d, end = begin + d;
    return linear(x, slice(in_proj_weight, begin, end), slice(in_proj_bias, begin, end));
  }
  Var split_heads(const Var& x) const {  // (B, T, D) -> (B, T, H, Dh) -> (B, H, T, Dh)
    return transpose(reshape(x, {x.size(0), x.size(1), heads, d / heads}), 1, 2);
  }
  Var join_heads(const Var& x) const {  // (B, H, T, Dh) -> (B, T, H, Dh) -> (B, T, D)
    return reshape(transpose(x, 1, 2), {x.size(0), x.size(2), d});
  }
};

// ---- 5  The model -------------------------------------------------------------------------------

constexpr Index kPad = 0, kBegin = 1, kEnd = 2, kFirstWord = 3;

struct TransformerConfig {
  Index vocab = kFirstWord + 10, d_model = 32, heads = 4, d_ff = 64, layers = 2;
  double dropout = 0.1;
  bool tied = false;  // section 3.4: one matrix for both embeddings and the generator
};

// Section 3.1, around each sublayer f: y = LayerNorm(x + Dropout(f(x)))
Var residual(const Var& x, const LayerNorm& norm, const Dropout& dropout, const auto& f) {
  return norm(x + dropout(f(x)));
}

struct EncoderLayer {
  Directory dir;
  TransformerConfig c;
  MultiheadAttention self_attn{dir / "self_attn", c.d_model, c.heads};
  Linear linear1{dir / "linear1", c.d_model, c.d_ff}, linear2{dir / "linear2", c.d_ff, c.d_model};
  LayerNorm norm1{dir / "norm1", c.d_model}, norm2{dir / "norm2", c.d_model};
  Dropout dropout{dir, c.dropout};

  Var operator()(const Var& x, const Tensor& keep) const {
    auto attend = [&](const Var& h) { return self_attn(h, h, keep); };
    auto feed_forward = [&](const Var& h) { return linear2(relu(linear1(h))); };  // equation 2
    return residual(residual(x, norm1, dropout, attend), norm2, dropout, feed_forward);
  }
};

struct DecoderLayer {
  Directory dir;
  TransformerConfig c;
  MultiheadAttention self_attn{dir / "self_attn", c.d_model, c.heads};
  MultiheadAttention multihead_attn{dir / "multihead_attn", c.d_model, c.heads};
  Linear linear1{dir / "linear1", c.d_model, c.d_ff}, linear2{dir / "linear2", c.d_ff, c.d_model};
  LayerNorm norm1{dir / "norm1", c.d_model}, norm2{dir / "norm2", c.d_model};
  LayerNorm norm3{dir / "norm3", c.d_model};
  Dropout dropout{dir, c.dropout};

  Var operator()(Var x, const Var& memory, const Tensor& keep, const Tensor& memory_keep) const {
    auto attend = [&](const Var& h) { return self_attn(h, h, keep); };
    auto cross = [&](const Var& h) { return multihead_attn(h, memory, memory_keep); };
    auto feed_forward = [&](const Var& h) { return linear2(relu(linear1(h))); };
    x = residual(x, norm1, dropout, attend);
    x = residual(x, norm2, dropout, cross);
    return residual(x, norm3, dropout, feed_forward);
  }
};

// Section 3.5: PE(p, 2i) = sin(p / 10000^{2i/D}), PE(p, 2i+1) = cos(p / 10000^{2i/D}), (T, D)
Tensor sinusoidal_positions(Index length, Index d) {
  return map(reshape(arange(length), {length, 1}), arange(d), [=](double p, double column) {
    const double even = 2 * std::floor(column / 2), angle = p / std::pow(10000, even / double(d));
    return column == even ? std::sin(angle) : std::cos(angle);
  });
}

// Keep-masks: 1 = may be attended to. They broadcast to the scores (B, H, T, S).
// Padding: a query may attend to keys that are not padding, ids (B, S) -> (B, 1, 1, S).
Tensor padding_keep(const Tensor& ids) {
  return reshape(map(ids, [](double id) { return id != kPad; }), {ids.size(0), 1, 1, ids.size(1)});
}
// The future: query i may attend to keys 0 ... i, as later ones hold its answer, (1, 1, T, T).
Tensor causal_keep(Index length) {
  const Tensor query = reshape(arange(length), {1, 1, length, 1}), key = arange(length);
  return map(key, query, std::less_equal{});
}
// A decoder's self-attention hides both: (B, 1, T, T).
Tensor decoder_keep(const Tensor& ids) { return padding_keep(ids) * causal_keep(ids.size(1)); }

// Figure 1.
struct Transformer {
  TransformerConfig c;
  Directory dir{std::make_shared<Parameters>(), ""};
  Dropout dropout{dir, c.dropout};
  Var src_embed = dir.matrix("src_embed.weight", c.vocab, c.d_model);
  Var tgt_embed = c.tied ? src_embed : dir.matrix("tgt_embed.weight", c.vocab, c.d_model);
  std::vector<EncoderLayer> encoder = {};
  std::vector<DecoderLayer> decoder = {};
  Var weight = c.tied ? src_embed : dir.matrix("generator.weight", c.vocab, c.d_model);
  Linear generator{dir / "generator", c.d_model, c.vocab, weight};

  explicit Transformer(const TransformerConfig& config) : c(config) {
    for (Index i = 0; i < c.layers; ++i) {
      const std::string layer = "layers." + std::to_string(i);
      encoder.push_back({dir / "encoder" / layer, c});
      decoder.push_back({dir / "decoder" / layer, c});
    }
  }

  // Section 3.4: √D E[id] + PE. Entries of E are small, and √D brings them to the size of PE's.
  Var embed(const Var& table, const Tensor& ids) const {
    const double scale = std::sqrt(c.d_model);
    const Var positions(sinusoidal_positions(ids.size(1), c.d_model));
    return dropout(scale * index_select(table, ids) + positions);
  }
  Var encode(const Tensor& src) const {  // (B, S) -> the memory (B, S, D)
    Var x = embed(src_embed, src);
    for (const EncoderLayer& layer : encoder) x = layer(x, padding_keep(src));
    return x;
  }
  // tgt_in (B, T), memory (B, S, D), src (B, S) -> (B, T, D)
  Var decode(const Tensor& tgt_in, const Var& memory, const Tensor& src) const {
    Var x = embed(tgt_embed, tgt_in);
    for (const DecoderLayer& layer : decoder)
      x = layer(x, memory, decoder_keep(tgt_in), padding_keep(src));
    return x;
  }
  Var operator()(const Tensor& src, const Tensor& tgt_in) const {  // logits (B, T, V)
    return generator(decode(tgt_in, encode(src), src));
  }
};

// ---- 6  The loss --------------------------------------------------------------------------------
//
// Section 5.4. The model is asked for q, which leaves ε to the tokens that are not the target:
//
//   q = 1 - ε for the target, 0 for padding, ε/(V - 2) elsewhere
//   L = Σ_rows KL(q ‖ p) = Σ q (ln q - ln p), p = softmax(x), ln p = x - ln Σ e^x
//
// Where the target is padding, q is 0 everywhere: Σ(q), the row's loss and its gradient are 0.
Var label_smoothing_loss(const Var& logits, const Tensor& target, double epsilon) {
  const Index rows = logits.size(0), classes = logits.size(1);  // (N, V), target (N,)
  auto smoothed = [=](double right, double token) {
    if (right == kPad || token == kPad) return 0.0;
    return token == right ? 1 - epsilon : epsilon / double(classes - 2);
  };
  const Tensor q = map(reshape(target, {rows, 1}), arange(classes), smoothed);
  const Tensor shifted = logits.value() - row_max(logits.value());
  const Tensor log_probs = shifted - log(row_sum(exp(shifted)));
  const Tensor kl = map(q, log_probs, [](double q_i, double log_p_i) {
    return q_i > 0 ? q_i * (std::log(q_i) - log_p_i) : 0;  // 0 ln 0 = 0
  });
  auto gradient = [=](const Tensor& dy) { return Grads{dy * (row_sum(q) * exp(log_probs) - q)}; };
  return apply({"label_smoothing_loss", "dx = dy (Σ(q) ⊙ p - q)", __LINE__}, {logits},
               sum_to(kl, {}), gradient);
}

// ---- 7  Adam ------------------------------------------------------------------------------------

// Equation 3 times factor: it rises to its peak factor/√(D warmup) at step warmup, then falls.
double noam_schedule(Index step, Index d_model, Index warmup = 100, double factor = 0.5) {
  const double rising = double(step) * std::pow(warmup, -1.5), falling = 1 / std::sqrt(step);
  return factor / std::sqrt(d_model) * std::min(rising, falling);
}

// Kingma and Ba 2015, algorithm 1, with the numbers of section 5.3. The means m of g and v of g²
// begin at 0. After t steps they are too small by the factor 1 - βᵗ, which m̂ and v̂ make good.
struct Adam {
  std::map<std::string, Var> parameters;
  double beta1 = 0.9, beta2 = 0.98, eps = 1e-9;
  std::map<std::string, Tensor> mean = {}, square = {};
  int t = 0;

  void step(double rate) {
    ++t;
    for (const auto& [name, theta] : parameters) {
      const Tensor g = theta.grad();
      Tensor& m = mean.try_emplace(name, zeros(g.shape)).first->second;
      Tensor& v = square.try_emplace(name, zeros(g.shape)).first->second;
      m = beta1 * m + (1 - beta1) * g;
      v = beta2 * v + (1 - beta2) * g * g;
      const Tensor m_hat = m / (1 - std::pow(beta1, t)), v_hat = v / (1 - std::pow(beta2, t));
      copy_to(theta.value(), theta.value() - rate * m_hat / (sqrt(v_hat) + eps));
      theta.grad() = {};
    }
  }
};

// ---- 8  The copy task ---------------------------------------------------------------------------
//
// A sentence has 1 to 10 words, each of them one of 10. The target is the source. Attention has to
// find place t of the source for place t of the target, whatever word is there.

using Sentence = std::vector<Index>;

std::vector<Sentence> draw_sentences(SplitMix64& random, Index count) {
  std::vector<Sentence> sentences(count);
  for (Sentence& s : sentences) {
    s.resize(1 + random.below(10));
    for (Index& word : s) word = kFirstWord + random.below(10);
  }
  return sentences;
}

// One row for each sentence, filled up with padding: (B, T).
Tensor padded(const std::vector<Sentence>& sentences) {
  std::size_t longest = 0;
  for (const Sentence& s : sentences) longest = std::max(longest, s.size());
  const Tensor ids = zeros({Index(sentences.size()), Index(longest)});
  for (std::size_t i = 0; i < sentences.size(); ++i)
    std::copy(sentences[i].begin(), sentences[i].end(), ids.data() + i * longest);
  return ids;
}

// Teacher forcing: the decoder reads <s> y and has to say y </s>. causal_keep hides the answers.
struct Batch {
  Tensor src, tgt_in, tgt_out;
  double tokens = 0;  // targets that are not padding

  explicit Batch(const std::vector<Sentence>& sentences) {
    std::vector<Sentence> in = sentences, out = sentences;
    for (Sentence& s : in) s.insert(s.begin(), kBegin);
    for (Sentence& s : out) s.push_back(kEnd), tokens += double(s.size());
    src = tgt_out = padded(out);
    tgt_in = padded(in);
  }
};

// ---- 9  Training and decoding -------------------------------------------------------------------

// The mean loss of a token.
Var loss_of(const Transformer& model, const Batch& batch) {
  const Var logits = model(batch.src, batch.tgt_in);  // (B, T, V) -> (N, V), N = B T
  const Var sum =
      label_smoothing_loss(reshape(logits, {-1, model.c.vocab}), reshape(batch.tgt_out, {-1}), 0.1);
  return 1 / batch.tokens * sum;
}

// Leaves ∂L/∂θ in each parameter's grad.
double forward_and_backward(const Transformer& model, const Batch& batch) {
  Tape tape;
  const Var loss = loss_of(model, batch);
  tape.backward(loss);
  return loss.value().item();
}

// Greedy decoding: each time the likeliest token but padding and <s>. After </s> comes padding.
std::vector<Sentence> greedy(const Transformer& model, const Tensor& src) {
  std::vector<Sentence> ys(src.size(0), {kBegin});
  const Var memory = model.encode(src);
  for (Index length = 1; length <= src.size(1); ++length) {
    const Var logits = model.generator(model.decode(padded(ys), memory, src));  // (B, length, V)
    const double* last = logits.value().data() + (length - 1) * model.c.vocab;
    for (Sentence& s : ys) {
      const Index token = std::max_element(last + kEnd, last + model.c.vocab) - last;
      s.push_back(s.back() == kEnd || s.back() == kPad ? kPad : token);
      last += length * model.c.vocab;
    }
  }
  return ys;
}

std::string text_of(const Sentence& tokens) {
  std::string text;
  for (Index token : tokens)
    if (token >= kFirstWord) text += std::to_string(token - kFirstWord + 1) + " ";
  return text;
}

void train(const Transformer& model) {
  Adam adam{model.dir.model->named};
  SplitMix64 random{3};
  for (int step = 1; step <= 500; ++step) {
    const double loss = forward_and_backward(model, Batch(draw_sentences(random, 32)));
    adam.step(noam_schedule(step, model.c.d_model));
    if (step % 50 == 0) std::printf("step %d  loss of a token %.4f\n", step, loss);
  }
  const std::vector<Sentence> drawn = draw_sentences(random, 100);
  const std::vector<Sentence> outputs = greedy(model, Batch(drawn).src);
  int right = 0;
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const std::string source = text_of(drawn[i]), output = text_of(outputs[i]);
    right += source == output;
    if (i < 3) std::printf("\nsource  %s\noutput  %s\n", source.c_str(), output.c_str());
  }
  std::printf("\n%d of %zu drawn sentences are copied without a mistake.\n", right, drawn.size());
}

// ---- 10  Looking at backward --------------------------------------------------------------------

// Head 0 of x (1, H, T, n), as (T, n).
Tensor head_of(const Tensor& x) {
  return reshape(slice(reshape(x, {x.size(1), x.size(2), x.size(3)}), 0, 1), {x.size(2), -1});
}

void print(const char* title, const Tensor& x) {
  std::printf("\n%s\n", title);
  for (Index i = 0; i < numel_of(x.shape); ++i)
    std::printf("%8.4f%s", x.data()[i], (i + 1) % x.size(-1) != 0 ? " " : "\n");
}

// Prints what has a name in an attention, as backward meets it: decoder.0.cross is
// decoder.layers.0.multihead_attn, and decoder.0.self and encoder.0.self are self_attn.
void show(const Transformer& model, const std::string& place) {
  char side[8] = "", kind[6] = "";
  int layer = 0;
  std::sscanf(place.c_str(), "%7[a-z].%d.%5[a-z]", side, &layer, kind);
  const std::string path =
      std::string(side) + ".layers." + std::to_string(layer) +
      (kind == std::string("cross") ? ".multihead_attn." : "." + std::string(kind) + "_attn.");
  Tape tape;
  tape.backward(loss_of(model, Batch({{5, 3, 6, 3, 7}})));
  std::map<std::string, Var> values;
  for (auto node = tape.nodes.rbegin(); node != tape.nodes.rend(); ++node) {
    if (node->path.rfind(path, 0) != 0) continue;
    if (values.empty())
      std::printf("value     shape       |y|   |∂L/∂y|  line  the rule, with dy = ∂L/∂y\n");
    const std::string name = node->path.substr(path.size());
    const Tensor x = head_of(node->y.value()), dx = head_of(node->y.grad());
    std::printf("%-8s %2td x %-2td  %8.4f %8.4f  %4d  %s: %s\n", name.c_str(), x.size(0), x.size(1),
                norm(x), norm(dx), node->rule.line, node->rule.op, node->rule.gradient);
    values[name] = node->y;
  }
  if (values.empty()) throw std::invalid_argument("--show " + place + ": try decoder.0.cross");
  print("A = probs", head_of(values["probs"].value()));
  print("∂L/∂A", head_of(values["probs"].grad()));
  print("S = scores", head_of(values["scores"].value()));
  print("∂L/∂S, each row of which adds up to 0", head_of(values["scores"].grad()));
}

// For the test: 20 updates from the weights of a file. Both have lines of a name and its numbers.
void hold(const Transformer& model, const std::string& file) {
  const std::map<std::string, Var>& parameters = model.dir.model->named;
  std::ifstream in(file);
  if (!in) throw std::invalid_argument("--hold " + file + ": cannot be read");
  for (std::string name; in >> name;)
    for (double& v : *parameters.at(name).value().storage) in >> v;
  auto print_line = [](const std::string& name, const Tensor& x) {
    std::printf("%s", name.c_str());
    for (Index i = 0; i < numel_of(x.shape); ++i) std::printf(" %.17g", contiguous(x).data()[i]);
    std::printf("\n");
  };
  Adam adam{parameters};
  SplitMix64 random{3};
  for (int step = 1; step <= 20; ++step) {
    print_line("loss", forward_and_backward(model, Batch(draw_sentences(random, 32))));
    for (const auto& [name, x] : parameters)
      if (step == 1) print_line("grad." + name, x.grad());
    adam.step(noam_schedule(step, model.c.d_model, 10));  // rises and falls
  }
  for (const auto& [name, x] : parameters) print_line(name, x.value());
  for (const Sentence& s : greedy(model, Batch(draw_sentences(random, 8)).src))
    std::printf("said %s\n", text_of(s).c_str());
}

int main(int argc, char** argv) try {
  std::vector<std::string> words(argv + 1, argv + argc);
  const bool tied = std::erase(words, "--tied") > 0, trains = words.empty();
  const Transformer model({.dropout = trains ? 0.1 : 0, .tied = tied});
  if (trains)
    train(model);
  else if (words.size() == 2 && words[0] == "--show")
    show(model, words[1]);
  else if (words.size() == 2 && words[0] == "--hold")
    hold(model, words[1]);
  else
    throw std::invalid_argument("options: [--tied] [--show decoder.0.cross | --hold WEIGHTS]");
} catch (const std::exception& e) {
  std::fprintf(stderr, "one_file: %s\n", e.what());
  return 1;
}

// A convolution as self-attention; and how many layers a signal needs from one end to the other.
#include <cmath>

#include "autograd/gradcheck/gradcheck.hpp"
#include "nn/attention/multihead.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tests/catch.hpp"
#include "tests/models/conv/quadratic_attention.hpp"
#include "tests/reference.hpp"

namespace test_attention {

using namespace glim;

namespace {

Tensor draw(const Shape& shape, std::uint64_t stream, DType dtype = DType::Float64) {
  return normal(shape, 0, 1, {97, stream}, dtype);
}

// The largest difference of any element.
double apart(const Tensor& a, const Tensor& b) { return max(abs(sub(a, b))).item(); }

}  // namespace

TEST_CASE("a convolution is a multi-head self-attention", "[conv_attention]") {
  struct Setting {
    Index in, out;
    Extent2 kernel, dilation;
    bool bias;
  };
  for (const Setting& s :
       {Setting{3, 2, 3, 1, true}, Setting{2, 5, 3, 1, true}, Setting{3, 3, 5, 1, false},
        Setting{2, 3, 1, 1, true}, Setting{2, 2, {3, 5}, 1, true}, Setting{2, 2, 3, 2, true}}) {
    seed(11);
    Extent2 padding(s.dilation.rows * (s.kernel.rows - 1) / 2,
                    s.dilation.columns * (s.kernel.columns - 1) / 2);
    Conv2d conv(s.in, s.out, s.kernel,
                {.padding = padding, .dilation = s.dilation, .bias = s.bias});
    conv.to(DType::Float64);
    auto attention = attention_from(conv);
    INFO("kernel " << s.kernel.rows << " x " << s.kernel.columns << ", " << s.in << " -> "
                   << s.out);
    Index heads = s.kernel.rows * s.kernel.columns;
    CHECK(attention->centers.shape() == Shape{heads, 2});
    for (OpForm m : {OpForm::Fused, OpForm::Explicit}) {
      UseForm use(m);
      Var x = Var::leaf(draw({2, s.in, 6, 7}, 1)), same = Var::leaf(x.value().clone());
      conv.zero_grad();
      attention->zero_grad();
      Tape tape;
      Var expected = conv(x), y = (*attention)(same);
      REQUIRE(y.shape() == expected.shape());
      // 1e-6 is what the theorem is held to; saturation leaves rounding alone.
      CHECK(apart(y.value(), expected.value()) < 1e-12);
      Tensor dy = draw(y.shape(), 2);
      tape.backward(add(sum(mul(expected, Var(dy))), sum(mul(y, Var(dy)))));
      CHECK(apart(same.grad(), x.grad()) < 1e-12);
      // Head i·K + j holds the kernel's matrix at (i, j), and its gradient.
      Tensor by_head = (s.out <= s.in ? attention->value_proj.weight.grad()
                                      : transpose(attention->out_proj.weight.grad(), 0, 1))
                           .clone();
      Tensor kernel = s.out <= s.in ? permute(conv.weight.grad(), {2, 3, 0, 1})
                                    : permute(conv.weight.grad(), {2, 3, 1, 0});
      CHECK(apart(reshape(by_head, {-1}), reshape(kernel, {-1})) < 1e-11);
    }
  }
}

TEST_CASE("the convolution is a limit: attention saturates as α grows", "[conv_attention]") {
  seed(12);
  Conv2d conv(2, 3, 3, {.padding = 1});
  conv.to(DType::Float64);
  Tensor x = draw({1, 2, 5, 5}, 3);
  Tensor expected = conv(Var(x)).value();
  double before = 1e9;
  for (double alpha : {0.5, 2.0, 8.0, 16.0}) {
    double error = apart((*attention_from(conv, alpha))(Var(x)).value(), expected);
    CHECK(error < before);
    // Other pixels weigh less than 5 e^-α in each of the nine heads.
    double most = max(abs(x)).item() * sum(abs(conv.weight.value())).item();
    if (alpha > 1) CHECK(error < 2 * 5 * std::exp(-alpha) * most);
    before = error;
  }
  CHECK(before > 1e-9);  // not yet saturated at 16
  CHECK(apart((*attention_from(conv, 24))(Var(x)).value(), expected) < 1e-6);
  // In float32, with the default α, to float32's precision.
  conv.to(DType::Float32);
  auto single = attention_from(conv);
  CHECK(single->centers.dtype() == DType::Float32);
  Var small(x.to(DType::Float32));
  CHECK(apart((*single)(small).value(), conv(small).value()) < 1e-5);
}

TEST_CASE("convolutions that no attention equals are refused", "[conv_attention]") {
  auto refused = [](Extent2 kernel, const Conv2dOptions& o, const std::string& why) {
    std::string text = error_of<ValueError>([&] { attention_from(Conv2d(2, 2, kernel, o)); });
    INFO(text);
    CHECK(contains(text, why));
  };
  refused(2, {.padding = 1}, "an even kernel");
  refused({3, 2}, {.padding = {1, 0}}, "an even kernel");
  refused(3, {.stride = 2, .padding = 1}, "stride must be 1");
  refused(3, {}, "the padding must be 1, not 0");
  refused(3, {.padding = 1, .groups = 2}, "a convolution in groups");
  CHECK_THROWS_AS(attention_from(Conv2d(2, 2, 3, {.padding = 1}), 0), ValueError);
}

TEST_CASE("quadratic attention has the gradients of its differences", "[conv_attention]") {
  for (Index out : {2, 4})
    for (OpForm form : {OpForm::Fused, OpForm::Explicit}) {
      seed(6);
      QuadraticAttention attention(3, out, 5, 2, Extent2(1, 2));
      attention.to(DType::Float64);
      Var x = Var::leaf(draw({2, 3, 3, 4}, 5));
      NamedParameters leaves = attention.named_parameters();
      leaves.emplace_back("x", x);
      UseForm use(form);
      GradcheckOptions options;
      options.mode = GradcheckOptions::Mode::Projection;
      options.second_order = form == OpForm::Fused;
      CHECK(gradcheck([&] { return attention(x); }, leaves, options));
    }
}

TEST_CASE("path lengths: layers until the last position depends on the first", "[conv_attention]") {
  // Vaswani et al. 2017, table 1: attention O(1), convolutions O(n/k) or, dilated, O(log_k n),
  // recurrence O(n) steps. The gradient that reaches x[0] from y[n-1] through a stack is either not 0 or
  // exactly 0.
  constexpr Index n = 17;
  auto reaches = [](const std::function<Var(const Var&)>& stack) {
    Var x = Var::leaf(draw({1, 2, n}, 4));
    Tape tape;
    tape.backward(sum(select(stack(x), 2, n - 1)));
    return max(abs(select(x.grad(), 2, 0))).item() > 0;
  };
  auto layers_needed = [&](const std::function<Var(Index, const Var&)>& layer) {
    for (Index depth = 1;; ++depth) {
      auto stack = [&](const Var& x) {
        Var y = x;
        for (Index i = 0; i < depth; ++i) y = layer(i, y);
        return y;
      };
      if (reaches(stack)) return depth;
    }
  };
  seed(13);
  MultiheadAttention attention(2, 1);
  attention.to(DType::Float64);
  CHECK(layers_needed([&](Index, const Var& x) { return transpose(attention(transpose(x)).y); }) ==
        1);
  for (Index k : {2, 3, 5}) {
    Conv1d conv(2, 2, k, {.mode = ConvPadding::Causal});
    conv.to(DType::Float64);
    CHECK(layers_needed([&](Index, const Var& x) { return tanh(conv(x)); }) ==
          (n - 1 + k - 2) / (k - 1));
  }
  std::vector<std::unique_ptr<Conv1d>> dilated;
  for (Index d = 1; d <= 16; d *= 2) {
    dilated.push_back(std::make_unique<Conv1d>(
        2, 2, 2, Conv1dOptions{.dilation = d, .mode = ConvPadding::Causal}));
    dilated.back()->to(DType::Float64);
  }
  CHECK(layers_needed([&](Index i, const Var& x) {
          return tanh((*dilated[static_cast<std::size_t>(i)])(x));
        }) == 5);  // ⌈log₂ 17⌉
}

}  // namespace test_attention

// RMS norm, convolutions, pooling, and positions within attention.
#include "nn/activation.hpp"
#include "nn/attention/multihead.hpp"
#include "nn/rms_norm.hpp"
#include "nn/vision/conv.hpp"
#include "nn/vision/pooling.hpp"
#include "tools/gradient_cases/module_cases.hpp"

namespace glim::specs {
namespace {

void add_convolutions(std::vector<Case>& c) {
  auto sequence = [&](const std::string& name, const Shape& x, Index out, Index kernel,
                      const Conv1dOptions& o) {
    add_layer<Conv1d>(c, "Conv1d", name, x, x[1], out, kernel, o);
  };
  auto image = [&](const std::string& name, const Shape& x, Index out, Extent2 kernel,
                   const Conv2dOptions& o) {
    add_layer<Conv2d>(c, "Conv2d", name, x, x[1], out, kernel, o);
  };
  sequence("kernel 3", {2, 2, 5}, 3, 3, {});
  sequence("kernel 1", {2, 2, 3}, 3, 1, {});
  sequence("stride 2, padding 1", {1, 2, 5}, 2, 3, {.stride = 2, .padding = 1});
  sequence("dilation 2, without bias", {1, 2, 6}, 2, 2, {.dilation = 2, .bias = false});
  sequence("same, even kernel", {1, 2, 4}, 2, 2, {.mode = ConvPadding::Same});
  sequence("causal", {2, 2, 4}, 2, 3, {.mode = ConvPadding::Causal});
  image("kernel 2", {2, 2, 3, 3}, 2, 2, {});
  image("kernel 3 x 2, padding 1 x 0", {1, 2, 3, 3}, 2, {3, 2}, {.padding = {1, 0}});
  image("patches of 2", {1, 2, 4, 4}, 3, 2, {.stride = 2});
  image("stride and dilation", {1, 1, 5, 6}, 2, 2, {.stride = {1, 2}, .dilation = {2, 1}});
  sequence("2 groups", {2, 4, 5}, 2, 2, {.groups = 2});
  sequence("depthwise, causal, dilation 2", {1, 2, 5}, 4, 2,
           {.dilation = 2, .mode = ConvPadding::Causal, .groups = 2});
  image("2 groups, stride and padding", {1, 4, 3, 4}, 2, 2,
        {.stride = {1, 2}, .padding = {0, 1}, .groups = 2});
  image("depthwise, dilation 2, without bias", {2, 3, 3, 4}, 3, 2,
        {.dilation = {1, 2}, .bias = false, .groups = 3});
  image("2 groups, kernel 1", {1, 4, 2, 2}, 2, 1, {.groups = 2});

  add_layer<Pool2d>(c, "Pool2d", "max, kernel 2", {2, 2, 5, 2}, Pool::Max, 2);
  add_layer<Pool2d>(c, "Pool2d", "max, kernel 3, stride 2, padding 1", {1, 2, 4, 5}, Pool::Max, 3,
                    PoolOptions{.stride = 2, .padding = 1});
  add_layer<Pool2d>(c, "Pool2d", "max, dilation 2", {1, 1, 4, 3}, Pool::Max, Extent2(2, 1),
                    PoolOptions{.stride = 1, .dilation = 2});
  for (bool padding : {true, false})
    add_layer<Pool2d>(
        c, "Pool2d", padding ? "average, padding counts" : "average, padding does not count",
        {1, 2, 3, 4}, Pool::Average, 2, PoolOptions{.padding = 1, .count_include_pad = padding});
}

void add_positions(std::vector<Case>& c) {
  for (Index offset : {0, 3})
    add_module<RotaryPositions>(
        c, of_layer("RotaryPositions", "offset " + std::to_string(offset), {2, 2, 3, 4}),
        [offset](RotaryPositions& r, const Var& x) { return mul(r(x, offset), x); }, 4);
  for (Positions p : {Positions::None, Positions::Rotary})
    add_module<MultiheadAttention>(
        c,
        of_layer("MultiheadAttention",
                 p == Positions::None ? "shared query and key" : "shared query and key, rotary",
                 {2, 3, 4}),
        [](MultiheadAttention& a, const Var& x) { return a(x).y; }, 4, 2,
        AttentionOptions{.positions = p, .share_qk = true});
  for (Positions p : {Positions::Rotary, Positions::Alibi})
    for (bool causal : {false, true}) {
      const std::string name = p == Positions::Rotary ? "rotary" : "ALiBi";
      AttentionRequest request;
      request.causal = causal;
      add_module<MultiheadAttention>(
          c, of_layer("MultiheadAttention", name + (causal ? ", causal" : ""), {2, 3, 4}),
          [request](MultiheadAttention& a, const Var& x) { return a(x, request).y; }, 4, 2,
          AttentionOptions{.positions = p});
    }
}

}  // namespace

void add_vision_layers(std::vector<Case>& c) {
  add_layer<RMSNorm>(c, "RMSNorm", "affine", {2, 3, 5}, 5);
  add_layer<RMSNorm>(c, "RMSNorm", "not affine, eps 0.1", {3, 4}, 4, 0.1, false);
  add_layer<GLU>(c, "GLU", "last axis", {2, 3, 4});
  add_layer<GLU>(c, "GLU", "axis 1", {2, 4, 3}, 1);
  add_convolutions(c);
  add_positions(c);
}

}  // namespace glim::specs

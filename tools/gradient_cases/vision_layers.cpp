// RMS norm, convolutions, pooling, and positions within attention.
#include "nn/activation.hpp"
#include "nn/attention/multihead.hpp"
#include "nn/rms_norm.hpp"
#include "nn/vision/conv.hpp"
#include "nn/vision/pooling.hpp"
#include "tools/gradient_cases/layer_cases.hpp"

namespace glim::specs {
namespace {

void add_convolutions(LayerCases& c) {
  const std::string f = "layers";
  auto sequence = [&](const std::string& name, const Shape& x, Index out, Index kernel,
                      const Conv1dOptions& o) {
    c.add(f, "Conv1d", name, x, layer<Conv1d>(x[1], out, kernel, o));
  };
  auto image = [&](const std::string& name, const Shape& x, Index out, Extent2 kernel,
                   const Conv2dOptions& o) {
    c.add(f, "Conv2d", name, x, layer<Conv2d>(x[1], out, kernel, o));
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

  c.add(f, "Pool2d", "max, kernel 2", Shape{2, 2, 5, 2}, layer<Pool2d>(Pool::Max, 2));
  c.add(f, "Pool2d", "max, kernel 3, stride 2, padding 1", Shape{1, 2, 4, 5},
        layer<Pool2d>(Pool::Max, 3, PoolOptions{.stride = 2, .padding = 1}));
  c.add(f, "Pool2d", "max, dilation 2", Shape{1, 1, 4, 3},
        layer<Pool2d>(Pool::Max, Extent2(2, 1), PoolOptions{.stride = 1, .dilation = 2}));
  for (bool padding : {true, false})
    c.add(f, "Pool2d", padding ? "average, padding counts" : "average, padding does not count",
          Shape{1, 2, 3, 4},
          layer<Pool2d>(Pool::Average, 2, PoolOptions{.padding = 1, .count_include_pad = padding}));
}

void add_positions(LayerCases& c) {
  const std::string f = "layers";
  for (Index offset : {0, 3})
    c.add(f, "RotaryPositions", "offset " + std::to_string(offset), Shape{2, 2, 3, 4}, [offset] {
      return subject(std::make_shared<RotaryPositions>(4),
                     [offset](RotaryPositions& r, const Var& x) { return mul(r(x, offset), x); });
    });
  for (Positions p : {Positions::Rotary, Positions::Alibi}) {
    std::string name = p == Positions::Rotary ? "rotary" : "ALiBi";
    for (bool causal : {false, true})
      c.add(f, "MultiheadAttention", name + (causal ? ", causal" : ""), Shape{2, 3, 4},
            [p, causal] {
              return subject(
                  std::make_shared<MultiheadAttention>(4, 2, AttentionOptions{.positions = p}),
                  [causal](MultiheadAttention& a, const Var& x) {
                    AttentionRequest r;
                    r.causal = causal;
                    return a(x, r).y;
                  });
            });
  }
}

}  // namespace

void add_vision_layers(LayerCases& c) {
  const std::string f = "layers";
  c.add(f, "RMSNorm", "affine", Shape{2, 3, 5}, layer<RMSNorm>(5));
  c.add(f, "RMSNorm", "not affine, eps 0.1", Shape{3, 4}, layer<RMSNorm>(4, 0.1, false));
  c.add(f, "GLU", "last axis", Shape{2, 3, 4}, layer<GLU>());
  c.add(f, "GLU", "axis 1", Shape{2, 4, 3}, layer<GLU>(1));
  add_convolutions(c);
  add_positions(c);
}

}  // namespace glim::specs

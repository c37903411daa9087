// Activations as a choice by name, and as layers.
//
//   ReLU max(0, x)   GELU x Φ(x)   SiLU x sigmoid(x)   Tanh   Sigmoid   Softmax   LogSoftmax
//
// Shapes stay; Softmax and LogSoftmax run along one axis. The gradients stand in autograd/ops/.
//
//   GLU: y = a sigmoid(b), x = [a; b] along one axis, which halves (Dauphin et al. 2017, eq. 1)
#pragma once

#include <string_view>

#include "nn/module.hpp"

namespace glim {

enum class Activation { Relu, Gelu, Silu };
Var activate(Activation f, const Var& x);
std::string_view name_of(Activation f);           // "relu", "gelu", "silu"
Activation activation_named(std::string_view s);  // ValueError for another name

// ShapeError unless the axis has an even extent.
Var glu(const Var& x, Index axis = -1);

class ReLU final : public Layer {
 public:
  Var forward(const Var& x) override;
};
class GELU final : public Layer {
 public:
  explicit GELU(GeluForm form = GeluForm::Erf) : form_(form) {}
  Var forward(const Var& x) override;

 private:
  GeluForm form_;
};
class SiLU final : public Layer {
 public:
  Var forward(const Var& x) override;
};
class Tanh final : public Layer {
 public:
  Var forward(const Var& x) override;
};
class Sigmoid final : public Layer {
 public:
  Var forward(const Var& x) override;
};
class Softmax final : public Layer {
 public:
  explicit Softmax(Index axis = -1) : axis_(axis) {}
  Var forward(const Var& x) override;

 private:
  Index axis_;
};
class LogSoftmax final : public Layer {
 public:
  explicit LogSoftmax(Index axis = -1) : axis_(axis) {}
  Var forward(const Var& x) override;

 private:
  Index axis_;
};

class GLU final : public Layer {
 public:
  explicit GLU(Index axis = -1) : axis_(axis) {}
  Var forward(const Var& x) override;

 private:
  Index axis_;
};

}  // namespace glim

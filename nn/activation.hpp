// Activations as a choice by name, and as layers.
//
//   ReLU max(0, x)   GELU x Φ(x), or its form with tanh   SiLU x sigmoid(x)   Tanh   Sigmoid   Softmax   LogSoftmax
//
// Shapes stay; Softmax and LogSoftmax run along one axis. The gradients are in autograd/ops/.
//
//   GLU: y = a sigmoid(b), x = [a; b] along one axis, which halves (Dauphin et al. 2017, eq. 1)
#pragma once

#include "nn/choice.hpp"
#include "nn/module.hpp"

namespace glim {

enum class Activation { Relu, Gelu, GeluTanh, Silu };
template <>
inline const ChoiceNames<Activation> kNames<Activation>{{{"relu", Activation::Relu},
                                                         {"gelu", Activation::Gelu},
                                                         {"gelu-tanh", Activation::GeluTanh},
                                                         {"silu", Activation::Silu}}};
Var activate(Activation f, const Var& x);

// ShapeError unless the axis has an even extent.
Var glu(const Var& x, Index axis = -1);

class ReLU : public Layer {
  Var forward(const Var& x) override { return relu(x); }
};
class GELU : public Layer {
 public:
  explicit GELU(GeluForm form = GeluForm::Erf) : form_(form) {}

 private:
  Var forward(const Var& x) override { return gelu(x, form_); }
  GeluForm form_;
};
class SiLU : public Layer {
  Var forward(const Var& x) override { return silu(x); }
};
class Tanh : public Layer {
  Var forward(const Var& x) override { return tanh(x); }
};
class Sigmoid : public Layer {
  Var forward(const Var& x) override { return sigmoid(x); }
};
class Softmax : public Layer {
 public:
  explicit Softmax(Index axis = -1) : axis_(axis) {}

 private:
  Var forward(const Var& x) override { return softmax(x, axis_); }
  Index axis_;
};
class LogSoftmax : public Layer {
 public:
  explicit LogSoftmax(Index axis = -1) : axis_(axis) {}

 private:
  Var forward(const Var& x) override { return log_softmax(x, axis_); }
  Index axis_;
};

class GLU : public Layer {
 public:
  explicit GLU(Index axis = -1) : axis_(axis) {}

 private:
  Var forward(const Var& x) override { return glu(x, axis_); }
  Index axis_;
};

}  // namespace glim

// Sequential: layers one after the other under the names "0", "1", ...
//
//   Sequential net;
//   net.append<Linear>(4, 8);
//   net.append<ReLU>();
//   net.append<Linear>(8, 1);
//   Var y = net(x);
//
// y = f_n(… f_1(x)); without layers y = x. Modules that are no Layer (attention, embeddings) are
// held in a ModuleList (nn/module.hpp) and called by their owner.
#pragma once

#include "nn/module.hpp"

namespace glim {

class Sequential final : public Layer {
 public:
  template <class L, class... Args>
  L& append(Args&&... args) {
    L& layer = child<L>(std::to_string(layers_.size()), std::forward<Args>(args)...);
    layers_.push_back(&layer);
    return layer;
  }
  Var forward(const Var& x) override {
    Scope scope = enter();
    Var y = x;
    for (Layer* layer : layers_) y = layer->forward(y);
    return y;
  }
  std::size_t size() const { return layers_.size(); }
  Layer& operator[](std::size_t i) const { return *layers_[i]; }

 private:
  std::vector<Layer*> layers_;
};

}  // namespace glim

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

class Sequential : public Layer {
 public:
  template <class L, class... Args>
  L& append(Args&&... args) {
    auto layer = std::make_unique<L>(std::forward<Args>(args)...);
    L& appended = *layer;
    layers_.emplace_back(*this, std::to_string(size()), std::move(layer));
    return appended;
  }
  std::size_t size() const { return layers_.size(); }
  Layer& operator[](std::size_t i) const { return *layers_[i]; }

  Var forward(const Var& x) override {
    Var y = x;
    for (const auto& layer : layers_) y = layer(y);
    return y;
  }

 private:
  std::vector<Child<std::unique_ptr<Layer>>> layers_;
};

}  // namespace glim

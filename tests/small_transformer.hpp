// A whole small Transformer, for tests that look at all of its tape.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "models/transformer/transformer.hpp"
#include "tools/gradient_cases/ids.hpp"
#include "tools/gradient_cases/sizes.hpp"

namespace glim {

// 2 + 2 layers, d 16, 2 heads, vocabularies of 11; weights of seed 3.
struct SmallTransformer {
  SmallTransformer(Tie tie, double dropout) {
    auto c = sized<TransformerConfig>(11, 16, 2, 24, 2);
    c.dropout = dropout;
    c.tie = tie;
    seed(3);
    model = std::make_unique<Transformer>(c);
  }
  // The gradients by parameter, which are then dropped.
  std::map<std::string, Tensor> gradients() const {
    std::map<std::string, Tensor> found;
    for (auto& [name, v] : model->named_parameters()) {
      if (v.grad().defined()) found[name] = v.grad().clone();
      v.zero_grad();
    }
    return found;
  }
  std::unique_ptr<Transformer> model;
};

}  // namespace glim

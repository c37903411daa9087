#include "tools/measure/rollout.hpp"

#include "tensor/matmul/matmul.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"

namespace glim {

std::vector<Tensor> rollout_by_layer(const std::vector<Tensor>& probs) {
  std::vector<Tensor> products;
  for (const Tensor& p : probs) {
    Tensor attention = p.rank() == 3 ? mean(p, {0}) : p;
    Tensor mixed = mul(add(attention, eye(p.size(-1), p.dtype())), 0.5);
    mixed = div(mixed, sum(mixed, {-1}, true));
    products.push_back(products.empty() ? mixed : matmul(mixed, products.back()));
  }
  return products;
}

Tensor rollout(const std::vector<Tensor>& probs) { return rollout_by_layer(probs).back(); }

}  // namespace glim

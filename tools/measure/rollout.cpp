#include "tools/measure/rollout.hpp"

#include "tensor/error.hpp"
#include "tensor/matmul/matmul.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"

namespace glim {

std::vector<Tensor> rollout_by_layer(const std::vector<Tensor>& probs) {
  if (probs.empty()) throw ValueError("rollout", "there are no layers");
  std::vector<Tensor> products;
  for (std::size_t l = 0; l < probs.size(); ++l) {
    const Tensor& p = probs[l];
    Index length = probs[0].rank() > 0 ? probs[0].size(-1) : 0;
    if ((p.rank() != 2 && p.rank() != 3) || p.size(-1) != length || p.size(-2) != length ||
        p.size(0) == 0)
      throw with_operands(ShapeError("rollout", "layer " + std::to_string(l) +
                                                    " is neither (H, T, T) nor (T, T) with the T "
                                                    "of layer 0"),
                          NamedOperand("probs", p));
    Tensor attention = p.rank() == 3 ? mean(p, {0}) : p;
    Tensor mixed = mul(add(attention, eye(length, p.dtype())), 0.5);
    mixed = div(mixed, sum(mixed, {-1}, true));
    products.push_back(l == 0 ? mixed : matmul(mixed, products.back()));
  }
  return products;
}

Tensor rollout(const std::vector<Tensor>& probs) { return rollout_by_layer(probs).back(); }

}  // namespace glim

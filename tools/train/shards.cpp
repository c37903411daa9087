#include "tools/train/shards.hpp"

#include "tensor/ops/elementwise.hpp"

namespace glim {

void ShardGradients::take() {
  std::vector<Tensor> sum;
  for (const auto& [name, p] : parameters_) {
    if (!p.leaf().trainable) continue;
    sum.push_back(p.grad().defined() ? p.grad().contiguous() : zeros(p.shape(), p.dtype()));
    p.zero_grad();
  }
  for (Index digits = taken_++; digits % 2 == 1; digits /= 2) {
    const std::vector<Tensor> before = std::move(waiting_.back());
    waiting_.pop_back();
    for (std::size_t i = 0; i < sum.size(); ++i) add_(before[i], sum[i]);
    sum = before;
  }
  waiting_.push_back(std::move(sum));
}

void ShardGradients::give(const Processes& processes) {
  const std::vector<Tensor>& sum = waiting_.front();
  processes.sum(sum);
  auto next = sum.begin();
  for (const auto& [name, p] : parameters_)
    if (p.leaf().trainable) p.leaf().grad = *next++;
}

}  // namespace glim

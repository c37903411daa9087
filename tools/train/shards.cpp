#include "tools/train/shards.hpp"

#include <algorithm>

#include "tensor/ops/elementwise.hpp"
#include "tensor/random.hpp"

namespace glim {
namespace {

// Takes the gradients out of the parameters.
std::vector<Tensor> taken(const NamedParameters& parameters) {
  std::vector<Tensor> gradients;
  for (const auto& [name, p] : parameters) {
    if (!p.leaf().trainable) continue;
    gradients.push_back(p.grad().defined() ? p.grad().contiguous() : zeros(p.shape(), p.dtype()));
    p.zero_grad();
  }
  return gradients;
}

// Sums of 2^k shards that wait for the next 2^k, one for each digit 1 of the number of shards in binary.
struct Tree {
  void add(std::vector<Tensor> sum) {
    for (Index digits = shards++; digits % 2 == 1; digits /= 2) {
      const std::vector<Tensor> before = std::move(waiting.back());
      waiting.pop_back();
      for (std::size_t i = 0; i < sum.size(); ++i) add_(before[i], sum[i]);
      sum = before;
    }
    waiting.push_back(std::move(sum));
  }
  Index shards = 0;
  std::vector<std::vector<Tensor>> waiting;
};

struct Share {
  Measures sums;
  std::uint64_t stream;  // of the random numbers after it
};

}  // namespace

Measures Shards::sum(FunctionRef<Measures(Index slot)> forward_and_backward) const {
  if (count_ == 1) return forward_and_backward(0);
  Tree tree;
  std::vector<Share> mine;
  processes.together([&] {
    const Index each = count_ / processes.size(), first = each * processes.rank();
    for (Index slot = first; slot < first + each; ++slot) {
      const Measures sums = forward_and_backward(slot);
      mine.push_back({sums, generator().stream()});
      tree.add(taken(parameters_));
    }
  });
  const std::vector<Tensor>& gradients = tree.waiting.front();
  processes.sum(gradients);
  auto next = gradients.begin();
  for (const auto& [name, p] : parameters_)
    if (p.leaf().trainable) p.leaf().grad = *next++;
  Measures all;
  std::uint64_t stream = 0;
  for (const Share& share : processes.gather(mine)) {
    all += share.sums;
    stream = std::max(stream, share.stream);
  }
  generator().set_state(generator().seed(), stream);
  return all;
}

}  // namespace glim

#include "autograd/ops.hpp"

#include "tensor/error.hpp"
#include "tensor/random.hpp"
#include "tools/benchmarks/measures.hpp"

namespace glim::bench {
namespace {

using Vars = std::vector<Var>;

struct Named {
  std::string name;
  std::vector<Shape> leaves;
  Var (*f)(const Vars& x);
};

// (B, T, D) = (64, 32, 512) unless said; the same in tools/benchmarks/peer.py.
const Shape kUsual{64, 32, 512};

const std::vector<Named>& table() {
  static const std::vector<Named> list = {
      {"matmul 1024x1024x1024",
       {{1024, 1024}, {1024, 1024}},
       [](const Vars& x) { return matmul(x[0], x[1]); }},
      {"matmul 256 x (64x64x64)",
       {{256, 64, 64}, {256, 64, 64}},
       [](const Vars& x) { return matmul(x[0], x[1]); }},
      {"linear 2048x512 -> 2048",
       {kUsual, {2048, 512}, {2048}},
       [](const Vars& x) { return linear(x[0], x[1], x[2]); }},
      {"attention 64x8x32x64",
       {{64, 8, 32, 64}, {64, 8, 32, 64}, {64, 8, 32, 64}},
       [](const Vars& x) { return scaled_dot_product_attention(x[0], x[1], x[2]).context; }},
      {"softmax", {kUsual}, [](const Vars& x) { return softmax(x[0]); }},
      {"layer_norm",
       {kUsual, {512}, {512}},
       [](const Vars& x) { return layer_norm(x[0], x[1], x[2]); }},
      {"gelu", {kUsual}, [](const Vars& x) { return gelu(x[0]); }},
      {"tanh", {kUsual}, [](const Vars& x) { return tanh(x[0]); }},
      {"exp", {kUsual}, [](const Vars& x) { return exp(x[0]); }},
      {"sigmoid", {kUsual}, [](const Vars& x) { return sigmoid(x[0]); }},
      {"add", {kUsual, kUsual}, [](const Vars& x) { return add(x[0], x[1]); }},
      {"dropout", {kUsual}, [](const Vars& x) { return dropout(x[0], 0.1, generator().next()); }},
      {"embedding",
       {{10000, 512}},
       [](const Vars& x) {
         static const Tensor ids = random_integers({64 * 32}, 0, 10000, {7, 2});
         return index_select(x[0], 0, ids);
       }},
      {"label_smoothing_loss 2048x10000",
       {{2048, 10000}},
       [](const Vars& x) -> Var {
         static const Tensor target = random_integers({2048}, 1, 10000, {7, 2});
         return label_smoothing_loss(x[0], target, 0.1, 0);
       }},
  };
  return list;
}

}  // namespace

std::vector<std::string> op_names() {
  std::vector<std::string> names;
  for (const Named& n : table()) names.push_back(n.name);
  return names;
}

Work one_op(const std::string& name) {
  for (const Named& n : table())
    if (n.name == name) {
      Vars leaves;
      for (const Shape& shape : n.leaves)
        leaves.push_back(Var::leaf(normal(shape, 0, 1, {7, leaves.size() + 1})));
      return [leaves, f = n.f] {  // forward, and backward with a gradient of ones
        Tape tape;
        Var y = f(leaves);
        tape.backward(y, ones(y.shape()));
        for (const Var& v : leaves) v.zero_grad();
      };
    }
  throw ValueError("bench", "no op '" + name + "' is measured");
}

}  // namespace glim::bench

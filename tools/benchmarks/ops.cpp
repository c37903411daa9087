#include "autograd/ops.hpp"

#include <fmt/format.h>
#include <memory>

#include "tensor/error.hpp"
#include "tensor/random.hpp"
#include "tools/benchmarks/measures.hpp"

namespace glim::bench {
namespace {

Var normal_leaf(const Shape& shape, std::uint64_t stream) {
  return Var::leaf(normal(shape, 0, 1, {7, stream}));
}

// Forward and backward with a gradient of ones.
Work both(std::function<Var()> forward, std::vector<Var> leaves) {
  return [forward = std::move(forward), leaves = std::move(leaves)] {
    Tape tape;
    Var y = forward();
    tape.backward(y, ones(y.shape()));
    for (const Var& v : leaves) v.zero_grad();
  };
}

struct Named {
  std::string name;
  std::function<Work()> make;
};

template <class Op>
Named of_one(const char* name, Op op) {
  return {name, [op] {
            Var x = normal_leaf({64, 32, 512}, 1);
            return both([=] { return op(x); }, {x});
          }};
}

// (B, T, D) = (64, 32, 512) unless said; the same in tools/benchmarks/peer.py.
const std::vector<Named>& table() {
  static const std::vector<Named> list = {
      {"matmul 1024x1024x1024",
       [] {
         Var a = normal_leaf({1024, 1024}, 1), b = normal_leaf({1024, 1024}, 2);
         return both([=] { return matmul(a, b); }, {a, b});
       }},
      {"matmul 256 x (64x64x64)",
       [] {
         Var a = normal_leaf({256, 64, 64}, 1), b = normal_leaf({256, 64, 64}, 2);
         return both([=] { return matmul(a, b); }, {a, b});
       }},
      {"linear 2048x512 -> 2048",
       [] {
         Var x = normal_leaf({64, 32, 512}, 1), w = normal_leaf({2048, 512}, 2),
             b = normal_leaf({2048}, 3);
         return both([=] { return linear(x, w, b); }, {x, w, b});
       }},
      {"attention 64x8x32x64",
       [] {
         Var q = normal_leaf({64, 8, 32, 64}, 1), k = normal_leaf({64, 8, 32, 64}, 2),
             v = normal_leaf({64, 8, 32, 64}, 3);
         return both([=] { return scaled_dot_product_attention(q, k, v).context; }, {q, k, v});
       }},
      of_one("softmax", [](const Var& x) { return softmax(x); }),
      {"layer_norm",
       [] {
         Var x = normal_leaf({64, 32, 512}, 1), g = normal_leaf({512}, 2),
             b = normal_leaf({512}, 3);
         return both([=] { return layer_norm(x, g, b); }, {x, g, b});
       }},
      of_one("gelu", [](const Var& x) { return gelu(x); }),
      of_one("tanh", [](const Var& x) { return tanh(x); }),
      of_one("exp", [](const Var& x) { return exp(x); }),
      of_one("sigmoid", [](const Var& x) { return sigmoid(x); }),
      {"add",
       [] {
         Var x = normal_leaf({64, 32, 512}, 1), y = normal_leaf({64, 32, 512}, 2);
         return both([=] { return add(x, y); }, {x, y});
       }},
      {"dropout",
       [] {
         Var x = normal_leaf({64, 32, 512}, 1);
         return both([=] { return dropout(x, 0.1, generator().next()); }, {x});
       }},
      {"embedding",
       [] {
         Var table = normal_leaf({10000, 512}, 1);
         Tensor ids = random_integers({64, 32}, 0, 10000, {7, 2});
         return both([=] { return index_select(table, 0, reshape(ids, {-1})); }, {table});
       }},
      {"label_smoothing_loss 2048x10000",
       [] {
         Var logits = normal_leaf({2048, 10000}, 1);
         Tensor target = random_integers({2048}, 1, 10000, {7, 2});
         return both([=] { return label_smoothing_loss(logits, target, 0.1, 0); }, {logits});
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
    if (n.name == name) return n.make();
  throw ValueError("bench", "no op '" + name + "' is measured");
}

}  // namespace glim::bench

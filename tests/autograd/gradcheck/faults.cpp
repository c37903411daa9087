#include "tests/autograd/gradcheck/faults.hpp"

#include <cmath>

#include "tensor/matmul/matmul.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"

namespace glim::checked {
namespace {

Var constant(const Tensor& x) { return Var(x); }
Var zero_like(const Var& x) { return Var(zeros(x.shape(), x.dtype())); }

const Tensor kPattern = from_vector<bool>({true, false, true, false, false, true}, {2, 3});
const Tensor kRepeated = from_vector<std::int64_t>({2, 0, 2, 1}, {4});
constexpr double kDrop = 0.4;
const RandomKey kKey{1, 2};

// y = dy's place in x, shifted: slice's backward with any start.
Var placed(const Var& dy, const Shape& shape, Index start) { return unslice(dy, shape, 0, start); }

}  // namespace

std::vector<Fault> faults() {
  std::vector<Fault> list;
  auto softmax_rows = [](const std::vector<Tensor>& x) { return softmax(x[0], -1); };
  auto softmax_right = [](const Var& dy, const Vars&, const Var& y) {
    return Vars{mul(y, sub(dy, sum(mul(dy, y), {-1}, true)))};
  };
  auto product = [](const std::vector<Tensor>& x) { return mul(x[0], x[1]); };
  auto product_right = [](const Var& dy, const Vars& x, const Var&) {
    return Vars{mul(dy, x[1]), mul(dy, x[0])};
  };
  auto squares = [](const std::vector<Tensor>& x) { return mul(x[0], x[0]); };
  auto squares_right = [](const Var& dy, const Vars& x, const Var&) {
    return Vars{mul(mul(dy, x[0]), 2)};
  };
  auto dropped = [](const std::vector<Tensor>& x) {
    return where(bernoulli(x[0].shape(), kDrop, kKey), scalar(0, x[0].dtype()),
                 mul(x[0], 1 / (1 - kDrop)));
  };
  auto dropped_right = [](const Var& dy, const Vars&, const Var&) {
    return Vars{dropout(dy, kDrop, kKey)};
  };

  list.push_back(
      {"sign",
       {{2, 3}},
       [](const std::vector<Tensor>& x) { return cos(x[0]); },
       [](const Var& dy, const Vars& x, const Var&) { return Vars{neg(mul(dy, sin(x[0])))}; },
       [](const Var& dy, const Vars& x, const Var&) { return Vars{mul(dy, sin(x[0]))}; }});
  list.push_back({"softmax without its sum over the row",
                  {{2, 3}},
                  softmax_rows,
                  softmax_right,
                  [](const Var& dy, const Vars&, const Var& y) { return Vars{mul(y, dy)}; }});
  list.push_back({"softmax without the factor y",
                  {{2, 3}},
                  softmax_rows,
                  softmax_right,
                  [](const Var& dy, const Vars&, const Var& y) {
                    return Vars{sub(dy, sum(mul(dy, y), {-1}, true))};
                  }});
  list.push_back({"softmax summed along the wrong axis",
                  {{3, 3}},
                  softmax_rows,
                  softmax_right,
                  [](const Var& dy, const Vars&, const Var& y) {
                    return Vars{mul(y, sub(dy, sum(mul(dy, y), {0}, true)))};
                  }});
  list.push_back({"missing transpose",
                  {{3, 3}, {3, 3}},
                  [](const std::vector<Tensor>& x) { return matmul(x[0], x[1]); },
                  [](const Var& dy, const Vars& x, const Var&) {
                    return Vars{matmul(dy, transpose(x[1])), matmul(transpose(x[0]), dy)};
                  },
                  [](const Var& dy, const Vars& x, const Var&) {
                    return Vars{matmul(dy, transpose(x[1])), matmul(x[0], dy)};
                  },
                  1});
  list.push_back({"dropped broadcast sum",
                  {{2, 3}, {3}},
                  [](const std::vector<Tensor>& x) { return add(x[0], x[1]); },
                  [](const Var& dy, const Vars& x, const Var&) {
                    return Vars{dy, sum_to(dy, x[1].shape())};
                  },
                  [](const Var& dy, const Vars&, const Var&) {
                    return Vars{dy, select(dy, 0, 0)};
                  },
                  1});
  list.push_back({"one of two uses not accumulated",
                  {{2, 3}},
                  squares,
                  squares_right,
                  [](const Var& dy, const Vars& x, const Var&) { return Vars{mul(dy, x[0])}; }});
  list.push_back({"mean without 1/n",
                  {{2, 3}},
                  [](const std::vector<Tensor>& x) { return mean(x[0]); },
                  [](const Var& dy, const Vars& x, const Var&) {
                    return Vars{mul(broadcast_to(dy, x[0].shape()), 1.0 / 6)};
                  },
                  [](const Var& dy, const Vars& x, const Var&) {
                    return Vars{broadcast_to(dy, x[0].shape())};
                  }});
  list.push_back(
      {"slice off by one",
       {{5}},
       [](const std::vector<Tensor>& x) { return slice(x[0], 0, 1, 4); },
       [](const Var& dy, const Vars& x, const Var&) { return Vars{placed(dy, x[0].shape(), 1)}; },
       [](const Var& dy, const Vars& x, const Var&) { return Vars{placed(dy, x[0].shape(), 2)}; }});
  list.push_back(
      {"mask the wrong way round",
       {{2, 3}},
       [](const std::vector<Tensor>& x) { return where(kPattern, x[0], scalar(0, x[0].dtype())); },
       [](const Var& dy, const Vars&, const Var&) {
         return Vars{where(kPattern, dy, Var(scalar(0, dy.dtype())))};
       },
       [](const Var& dy, const Vars&, const Var&) {
         return Vars{where(kPattern, Var(scalar(0, dy.dtype())), dy)};
       }});
  list.push_back({"factor of the wrong input",
                  {{2, 3}, {2, 3}},
                  product,
                  product_right,
                  [](const Var& dy, const Vars& x, const Var&) {
                    return Vars{mul(dy, x[0]), mul(dy, x[0])};
                  }});
  list.push_back({"gradients of two inputs exchanged",
                  {{2, 3}, {2, 3}},
                  [](const std::vector<Tensor>& x) { return sub(x[0], x[1]); },
                  [](const Var& dy, const Vars&, const Var&) {
                    return Vars{dy, neg(dy)};
                  },
                  [](const Var& dy, const Vars&, const Var&) {
                    return Vars{neg(dy), dy};
                  },
                  -1});
  list.push_back({"dropout without 1/(1 - p)",
                  {{4, 4}},
                  dropped,
                  dropped_right,
                  [](const Var& dy, const Vars&, const Var&) {
                    return Vars{mul(dropout(dy, kDrop, kKey), 1 - kDrop)};
                  }});
  list.push_back({"dropout with another mask than forward's",
                  {{4, 4}},
                  dropped,
                  dropped_right,
                  [](const Var& dy, const Vars&, const Var&) {
                    return Vars{dropout(dy, kDrop, {1, 3})};
                  }});
  list.push_back({"x read where y was meant",
                  {{2, 3}},
                  [](const std::vector<Tensor>& x) { return exp(x[0]); },
                  [](const Var& dy, const Vars&, const Var& y) { return Vars{mul(dy, y)}; },
                  [](const Var& dy, const Vars& x, const Var&) { return Vars{mul(dy, x[0])}; }});
  list.push_back({"gradient rounded to an integer",
                  {{2, 3}},
                  squares,
                  squares_right,
                  [](const Var& dy, const Vars& x, const Var&) {
                    Tensor exact = mul(mul(dy, x[0]), 2).value();
                    return Vars{constant(exact.to(DType::Int64).to(exact.dtype()))};
                  }});
  list.push_back({"rows that repeat, overwritten instead of added",
                  {{3, 2}},
                  [](const std::vector<Tensor>& x) { return index_select(x[0], 0, kRepeated); },
                  [](const Var& dy, const Vars& x, const Var&) {
                    return Vars{index_add(x[0].shape(), 0, kRepeated, dy)};
                  },
                  [](const Var& dy, const Vars& x, const Var&) {
                    Tensor d = zeros(x[0].shape(), dy.dtype());
                    for (Index i = 0; i < 4; ++i)
                      select(d, 0, kRepeated.at<std::int64_t>({i})).copy_(select(dy.value(), 0, i));
                    return Vars{constant(d)};
                  }});
  list.push_back(
      {"layer norm with the mean as a constant",
       {{2, 4}},
       [](const std::vector<Tensor>& x) { return sub(x[0], mean(x[0], {-1}, true)); },
       [](const Var& dy, const Vars&, const Var&) { return Vars{sub(dy, mean(dy, {-1}, true))}; },
       [](const Var& dy, const Vars&, const Var&) { return Vars{dy}; }});
  list.push_back({"cumulative sum backward in forward order",
                  {{4}},
                  [](const std::vector<Tensor>& x) { return cumsum(x[0], 0); },
                  [](const Var& dy, const Vars&, const Var&) {
                    return Vars{add(sub(sum(dy, {0}, true), cumsum(dy, 0)), dy)};
                  },
                  [](const Var& dy, const Vars&, const Var&) { return Vars{cumsum(dy, 0)}; }});
  list.push_back({"no gradient at all",
                  {{2, 3}},
                  squares,
                  squares_right,
                  [](const Var&, const Vars& x, const Var&) { return Vars{zero_like(x[0])}; }});
  list.push_back({"NaN in one place",
                  {{2, 3}},
                  squares,
                  squares_right,
                  [](const Var& dy, const Vars& x, const Var&) {
                    Tensor d = mul(mul(dy, x[0]), 2).value().clone();
                    narrow(select(d, 0, 1), 0, 2, 1).fill_(std::nan(""));
                    return Vars{constant(d)};
                  }});
  // Right for every e_i and every 0/1 pattern: only a random upstream gradient shows it.
  list.push_back({"not linear in dy",
                  {{2, 3}},
                  squares,
                  squares_right,
                  [](const Var& dy, const Vars& x, const Var&) {
                    return Vars{mul(mul(mul(dy, dy), x[0]), 2)};
                  }});
  return list;
}

}  // namespace glim::checked

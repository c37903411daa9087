// Products of matrices.
#include <cmath>

#include "tests/autograd/gradcheck/wrong/wrong.hpp"

namespace glim::wrongs {
std::vector<WrongOp> wrong_products() {
  return {
      {"a b",
       {{3, 3}, {3, 3}},
       [](const Vars& x) { return matmul(x[0], x[1]); },
       {[](At a) { return matmul(a.dy, transpose(a.x[1])); },
        [](At a) { return matmul(transpose(a.x[0]), a.dy); }},
       {{"b not transposed", kTranspose, 0, [](At a) { return matmul(a.dy, a.x[1]); }},
        {"a not transposed", kTranspose, 1, [](At a) { return matmul(a.x[0], a.dy); }},
        {"dy transposed", "dy's axes 0 and 1 exchanged", 0,
         [](At a) { return matmul(transpose(a.dy), transpose(a.x[1])); }},
        {"result transposed", "gradient's axes 0 and 1 exchanged", 1,
         [](At a) { return transpose(matmul(transpose(a.x[0]), a.dy)) + 0; }},
        {"order of factors", kOtherAxis, 0, [](At a) { return matmul(transpose(a.x[1]), a.dy); }},
        {"the wrong factor", "", 1, [](At a) { return matmul(transpose(a.x[1]), a.dy); }},
        {"sign", "the sign", 0, [](At a) { return -matmul(a.dy, transpose(a.x[1])); }},
        {"mean over rows", kFactor, 1, [](At a) { return matmul(transpose(a.x[0]), a.dy) / 3; }},
        {"upstream forgotten", kOnes, 1,
         [](At a) { return matmul(transpose(a.x[0]), like(a.dy, 1)); }}}},
      {"a b in batches",
       {{2, 3, 3}, {2, 3, 3}},
       [](const Vars& x) { return matmul(x[0], x[1]); },
       {[](At a) { return matmul(a.dy, transpose(a.x[1])); },
        [](At a) { return matmul(transpose(a.x[0]), a.dy); }},
       {{"b not transposed", kTranspose, 0, [](At a) { return matmul(a.dy, a.x[1]); }},
        {"batch for axis", kTranspose, 1, [](At a) { return matmul(a.x[0], a.dy); }},
        {"first of the batch", kLost, 1,
         [](At a) {
           return unslice(narrow(matmul(transpose(a.x[0]), a.dy), 0, 0, 1), {2, 3, 3}, 0, 0);
         }}}},
      {"a weight for a whole batch",
       {{2, 3, 4}, {4, 2}},
       [](const Vars& x) { return matmul(x[0], x[1]); },
       {[](At a) { return matmul(a.dy, transpose(a.x[1])); },
        [](At a) { return sum(matmul(transpose(a.x[0]), a.dy), {0}); }},
       {{"first of the batch", kLost, 1,
         [](At a) { return select(matmul(transpose(a.x[0]), a.dy), 0, 0); }},
        {"mean for sum", kFactor, 1,
         [](At a) { return mean(matmul(transpose(a.x[0]), a.dy), {0}); }},
        {"last of the batch", kLost, 1,
         [](At a) { return select(matmul(transpose(a.x[0]), a.dy), 0, 1); }}}},
      {"x Wᵀ + b",
       {{4, 3}, {3, 3}, {3}},
       [](const Vars& x) { return matmul(x[0], transpose(x[1])) + x[2]; },
       {[](At a) { return matmul(a.dy, a.x[1]); },
        [](At a) { return matmul(transpose(a.dy), a.x[0]); }, [](At a) { return sum(a.dy, {0}); }},
       {{"W transposed once more", kTranspose, 0,
         [](At a) { return matmul(a.dy, transpose(a.x[1])); }},
        {"xᵀ dy", "gradient's axes 0 and 1 exchanged", 1,
         [](At a) { return matmul(transpose(a.x[0]), a.dy); }},
        {"bias of the first row", kLost, 2, [](At a) { return select(a.dy, 0, 0); }},
        {"bias as mean", kFactor, 2, [](At a) { return mean(a.dy, {0}); }},
        {"bias detached", "no gradient reaches", 2, [](At a) { return like(a.x[2], 0); }},
        {"1/B twice", kFactor, 1, [](At a) { return matmul(transpose(a.dy), a.x[0]) / 4; }},
        {"bias from ones", kOnes, 2, [](At a) { return like(a.x[2], 4); }}}},
      {"transpose",
       {{3, 3}},
       [](const Vars& x) { return transpose(x[0]); },
       {[](At a) { return transpose(a.dy); }},
       {{"not transposed back", "axes 0 and 1 exchanged", 0, [](At a) { return a.dy + 0; }}}},
      {"axes turned",
       {{3, 3, 3}},
       [](const Vars& x) {
         return permute(x[0], {2, 0, 1});
       },
       {[](At a) {
         return permute(a.dy, {1, 2, 0});
       }},
       {{"turned on instead of back", "missing transpose", 0,
         [](At a) {
           return permute(a.dy, {2, 0, 1}) + 0;
         }},
        {"two axes only", "axes", 0,
         [](At a) {
           return permute(a.dy, {2, 1, 0}) + 0;
         }}}},
      {"heads joined",
       {{3, 2, 3}},
       [](const Vars& x) {
         return reshape(permute(x[0], {1, 0, 2}) + 0, {2, 9});
       },
       {[](At a) {
         return permute(reshape(a.dy, {2, 3, 3}), {1, 0, 2}) + 0;
       }},
       {{"features before heads", "axes 0 and 2 exchanged", 0,
         [](At a) {
           return permute(reshape(a.dy, {2, 3, 3}), {2, 0, 1}) + 0;
         }},
        {"reshape alone", "", 0,
         [](At a) {
           return reshape(a.dy, {3, 2, 3}) + 0;
         }}}},
      {"scores Q Kᵀ/√d",
       {{3, 8}, {3, 8}},
       [](const Vars& x) { return matmul(x[0], transpose(x[1])) / std::sqrt(8.0); },
       {[](At a) { return matmul(a.dy, a.x[1]) / std::sqrt(8.0); },
        [](At a) { return matmul(transpose(a.dy), a.x[0]) / std::sqrt(8.0); }},
       {{"√d forgotten", "√8", 0, [](At a) { return matmul(a.dy, a.x[1]); }},
        {"d for √d", "1/√8", 1, [](At a) { return matmul(transpose(a.dy), a.x[0]) / 8; }},
        {"multiplied by √d", "constant factor: 8", 0,
         [](At a) { return matmul(a.dy, a.x[1]) * std::sqrt(8.0); }},
        {"dS not transposed", "dy's axes 0 and 1 exchanged", 1,
         [](At a) { return matmul(a.dy, a.x[0]) / std::sqrt(8.0); }},
        {"query for key", "", 0, [](At a) { return matmul(a.dy, a.x[0]) / std::sqrt(8.0); }},
        {"the key's gradient", "another input, x1", 0,
         [](At a) { return matmul(transpose(a.dy), a.x[0]) / std::sqrt(8.0); }}}},
      {"context A V",
       {{3, 3}, {3, 2}},
       [](const Vars& x) { return matmul(x[0], x[1]); },
       {[](At a) { return matmul(a.dy, transpose(a.x[1])); },
        [](At a) { return matmul(transpose(a.x[0]), a.dy); }},
       {{"A not transposed", kTranspose, 1, [](At a) { return matmul(a.x[0], a.dy); }},
        {"result transposed", "gradient's axes 0 and 1 exchanged", 0,
         [](At a) { return matmul(a.x[1], transpose(a.dy)); }}}},
      {"xᵀ A x",
       {{3}, {3, 3}},
       [](const Vars& x) { return sum(x[0] * reshape(matmul(x[1], unsqueeze(x[0], -1)), {3})); },
       {[](At a) {
          const Var s = a.x[1] + transpose(a.x[1]);
          return a.dy * reshape(matmul(s, unsqueeze(a.x[0], -1)), {3});
        },
        [](At a) { return a.dy * (unsqueeze(a.x[0], -1) * a.x[0]); }},
       {{"as if A were symmetric", "", 0,
         [](At a) { return 2 * a.dy * reshape(matmul(a.x[1], unsqueeze(a.x[0], -1)), {3}); }},
        {"upstream forgotten", "dy ignored", 1,
         [](At a) { return unsqueeze(a.x[0], -1) * a.x[0]; }}}},
      {"outer product",
       {{3}, {3}},
       [](const Vars& x) { return unsqueeze(x[0], -1) * x[1]; },
       {[](At a) { return sum(a.dy * a.x[1], {1}); },
        [](At a) { return sum(a.dy * unsqueeze(a.x[0], -1), {0}); }},
       {{"dy transposed", "dy's axes 0 and 1 exchanged", 0,
         [](At a) { return sum(transpose(a.dy) * a.x[1], {1}); }},
        {"summed along the other axis", "", 1,
         [](At a) { return sum(a.dy * unsqueeze(a.x[0], -1), {1}); }},
        {"b forgotten", "dy passed on", 0, [](At a) { return sum(a.dy, {1}); }}}},
      {"inner product",
       {{4}, {4}},
       [](const Vars& x) { return sum(x[0] * x[1]); },
       {[](At a) { return a.dy * a.x[1]; }, [](At a) { return a.dy * a.x[0]; }},
       {{"its own factor", "another input, x1", 0, [](At a) { return a.dy * a.x[0]; }},
        {"1/n", kFactor, 1, [](At a) { return a.dy * a.x[0] / 4; }},
        {"first element only", kLost, 0,
         [](At a) { return unslice(narrow(a.dy * a.x[1], 0, 0, 1), {4}, 0, 0); }}}},
  };
}

}  // namespace glim::wrongs

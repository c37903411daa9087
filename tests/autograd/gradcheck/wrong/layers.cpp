// Layers of several steps: residual paths, gates, attention, a recurrent step.
#include <cmath>

#include "tests/autograd/gradcheck/wrong/wrong.hpp"

namespace glim::wrongs {
namespace {

// softmax(Q Kᵀ/√d) V and its gradients
struct Attended {
  Var weights, scores;  // A, and ∂L/∂S from dy
  Attended(const At& a) : weights(softmax(matmul(a.x[0], transpose(a.x[1])) / 2)) {
    const Var d = matmul(a.dy, transpose(a.x[2]));
    scores = weights * (d - sum(d * weights, {1}, true));
  }
};

}  // namespace

std::vector<WrongOp> wrong_layers() {
  return {
      {"x + tanh x",
       {{2, 3}},
       [](const Vars& x) { return x[0] + tanh(x[0]); },
       {[](At a) { return a.dy + a.dy * (1 - tanh(a.x[0]) * tanh(a.x[0])); }},
       {{"skip lost", kSkip, 0, [](At a) { return a.dy * (1 - tanh(a.x[0]) * tanh(a.x[0])); }},
        {"skip twice", kTwice, 0,
         [](At a) { return 2 * a.dy + a.dy * (1 - tanh(a.x[0]) * tanh(a.x[0])); }},
        {"branch lost", kPassed, 0, [](At a) { return a.dy + 0; }}}},
      {"x + x W",
       {{3, 3}, {3, 3}},
       [](const Vars& x) { return x[0] + matmul(x[0], x[1]); },
       {[](At a) { return a.dy + matmul(a.dy, transpose(a.x[1])); },
        [](At a) { return matmul(transpose(a.x[0]), a.dy); }},
       {{"skip lost", kSkip, 0, [](At a) { return matmul(a.dy, transpose(a.x[1])); }},
        {"branch lost", "own element alone", 0, [](At a) { return a.dy + 0; }},
        {"W not transposed", kTranspose, 0, [](At a) { return a.dy + matmul(a.dy, a.x[1]); }},
        {"skip twice", kTwice, 0,
         [](At a) { return 2 * a.dy + matmul(a.dy, transpose(a.x[1])); }}}},
      {"x + softmax x",
       {{3, 4}},
       [](const Vars& x) { return x[0] + softmax(x[0]); },
       {[](At a) {
         const Var p = softmax(a.x[0]);
         return a.dy + p * (a.dy - sum(a.dy * p, {1}, true));
       }},
       {{"skip lost", kSkip, 0,
         [](At a) {
           const Var p = softmax(a.x[0]);
           return p * (a.dy - sum(a.dy * p, {1}, true));
         }},
        {"branch lost", "own element alone", 0, [](At a) { return a.dy + 0; }},
        {"minus", "", 0,
         [](At a) {
           const Var p = softmax(a.x[0]);
           return a.dy - p * (a.dy - sum(a.dy * p, {1}, true));
         }}}},
      {"gate σ(a) b",
       {{2, 3}, {2, 3}},
       [](const Vars& x) { return sigmoid(x[0]) * x[1]; },
       {[](At a) { return a.dy * a.y * (1 - sigmoid(a.x[0])); },
        [](At a) { return a.dy * sigmoid(a.x[0]); }},
       {{"b forgotten", "x1 missing", 0,
         [](At a) { return a.dy * sigmoid(a.x[0]) * (1 - sigmoid(a.x[0])); }},
        {"y forgotten", "the output missing", 0, [](At a) { return a.dy * (1 - sigmoid(a.x[0])); }},
        {"σ' forgotten", "", 0, [](At a) { return a.dy * a.x[1]; }},
        {"a for σ(a)", "", 1, [](At a) { return a.dy * a.x[0]; }},
        {"gate forgotten", kPassed, 1, [](At a) { return a.dy + 0; }},
        {"b's gradient for a", "another input, x1", 0,
         [](At a) { return a.dy * sigmoid(a.x[0]); }}}},
      {"cell f c + i g",
       {{3}, {3}, {3}, {3}},
       [](const Vars& x) { return x[0] * x[1] + x[2] * x[3]; },
       {[](At a) { return a.dy * a.x[1]; }, [](At a) { return a.dy * a.x[0]; },
        [](At a) { return a.dy * a.x[3]; }, [](At a) { return a.dy * a.x[2]; }},
       {{"c passed by", kPassed, 1, [](At a) { return a.dy + 0; }},
        {"i and f confused", "another input, x1", 3, [](At a) { return a.dy * a.x[0]; }},
        {"own factor", "another input, x2", 3, [](At a) { return a.dy * a.x[3]; }},
        {"detached", "no gradient reaches", 2, [](At a) { return like(a.x[2], 0); }}}},
      {"mixture z a + (1 - z) b",
       {{3}, {3}, {3}},
       [](const Vars& x) { return x[0] * x[1] + (1 - x[0]) * x[2]; },
       {[](At a) { return a.dy * (a.x[1] - a.x[2]); }, [](At a) { return a.dy * a.x[0]; },
        [](At a) { return a.dy * (1 - a.x[0]); }},
       {{"b - a", "the sign", 0, [](At a) { return a.dy * (a.x[2] - a.x[1]); }},
        {"one path of two", "", 0, [](At a) { return a.dy * a.x[1]; }},
        {"z for 1 - z", "another input, x1", 2, [](At a) { return a.dy * a.x[0]; }},
        {"minus z", kSkip, 2, [](At a) { return -(a.dy * a.x[0]); }}}},
      {"attention",
       {{3, 4}, {3, 4}, {3, 4}},
       [](const Vars& x) { return matmul(softmax(matmul(x[0], transpose(x[1])) / 2), x[2]); },
       {[](At a) { return matmul(Attended(a).scores, a.x[1]) / 2; },
        [](At a) { return matmul(transpose(Attended(a).scores), a.x[0]) / 2; },
        [](At a) { return matmul(transpose(Attended(a).weights), a.dy); }},
       {{"√d forgotten", "constant factor: 2", 0,
         [](At a) { return matmul(Attended(a).scores, a.x[1]); }},
        {"√d twice", "constant factor: 1/2", 1,
         [](At a) { return matmul(transpose(Attended(a).scores), a.x[0]) / 4; }},
        {"A not transposed", kTranspose, 2, [](At a) { return matmul(Attended(a).weights, a.dy); }},
        {"softmax passed over", "", 0,
         [](At a) { return matmul(matmul(a.dy, transpose(a.x[2])), a.x[1]) / 2; }},
        {"value from ones", "dy used as ones", 2,
         [](At a) { return matmul(transpose(Attended(a).weights), like(a.dy, 1)); }},
        {"sign", "the sign", 1,
         [](At a) { return matmul(transpose(Attended(a).scores), a.x[0]) / -2; }},
        {"value's gradient for key", "another input, x2", 1,
         [](At a) { return matmul(transpose(Attended(a).weights), a.dy); }},
        {"query detached", "no gradient reaches", 0, [](At a) { return like(a.x[0], 0); }}}},
      {"pooling over time",
       {{3, 4}},
       [](const Vars& x) { return mean(x[0], {0}); },
       {[](At a) {
         return broadcast_to(a.dy, a.x[0].shape()) / static_cast<double>(a.x[0].size(0));
       }},
       {{"the last step only", kLost, 0,
         [](At a) {
           return unslice(unsqueeze(a.dy / 3, 0), {3, 4}, 0, 2);
         }},
        {"1/T forgotten", kFactor, 0,
         [](At a) {
           return broadcast_to(a.dy, {3, 4}) + 0;
         }},
        {"1/D for 1/T", kFactor, 0,
         [](At a) {
           return broadcast_to(a.dy, {3, 4}) / 4;
         }}}},
      {"recurrence tanh(x + w h), two steps",
       {{4}, {4}},
       [](const Vars& x) { return tanh(x[0] + x[1] * tanh(x[0])); },
       {[](At a) {
          const Var h = tanh(a.x[0]), d = a.dy * (1 - a.y * a.y);
          return d + d * a.x[1] * (1 - h * h);
        },
        [](At a) { return a.dy * (1 - a.y * a.y) * tanh(a.x[0]); }},
       {{"cut after one step", "", 0, [](At a) { return a.dy * (1 - a.y * a.y); }},
        {"outer tanh forgotten", "", 1, [](At a) { return a.dy * tanh(a.x[0]); }}}},
  };
}

}  // namespace glim::wrongs

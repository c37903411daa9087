// Softmax, norms and losses: every output of a row depends on the whole row.
#include <cmath>

#include "tensor/ops/index.hpp"
#include "tests/autograd/gradcheck/wrong/wrong.hpp"

namespace glim::wrongs {
namespace {

Var total(const Var& x) { return sum(x, {1}, true); }
Var average(const Var& x) { return mean(x, {1}, true); }
// √(mean (x - μ)²) of rows
Var deviation(const Var& x) { return sqrt(average((x - average(x)) * (x - average(x)))); }
Var normal(const Var& x) { return (x - average(x)) / deviation(x); }
Var norm_back(const Var& g, const Var& x) {
  const Var n = normal(x);
  return (g - average(g) - n * average(g * n)) / deviation(x);
}
Var length(const Var& x) { return sqrt(total(x * x)); }

const Tensor kCausal = tril(ones({4, 4}, DType::Bool));
const Tensor kTarget = from_vector<std::int64_t>({1, 0, 3}, {3});
Var wanted(const Var& x) { return Var(one_hot(kTarget, 4, x.dtype())); }

}  // namespace

std::vector<WrongOp> wrong_rows() {
  return {
      {"softmax",
       {{4, 4}},
       [](const Vars& x) { return softmax(x[0]); },
       {[](At a) { return a.y * (a.dy - total(a.dy * a.y)); }},
       {{"its diagonal", kOwn, 0, [](At a) { return a.dy * a.y * (1 - a.y); }},
        {"no sum over the row", kOwn, 0, [](At a) { return a.y * a.dy; }},
        {"y forgotten", "the output missing", 0, [](At a) { return a.dy - total(a.dy * a.y); }},
        {"sum of dy alone", kTerm, 0, [](At a) { return a.y * (a.dy - total(a.dy)); }},
        {"mean for sum", kTerm, 0, [](At a) { return a.y * (a.dy - average(a.dy * a.y)); }},
        {"plus for minus", kTerm, 0, [](At a) { return a.y * (a.dy + total(a.dy * a.y)); }},
        {"the other axis", kOtherAxis, 0,
         [](At a) { return a.y * (a.dy - sum(a.dy * a.y, {0}, true)); }},
        {"sign", "the sign", 0, [](At a) { return a.y * (total(a.dy * a.y) - a.dy); }},
        {"dy alone", kOwn, 0, [](At a) { return a.dy + 0; }},
        {"upstream of ones", "no gradient reaches", 0,
         [](At a) { return a.y - a.y * total(a.y); }}}},
      {"softmax at temperature 4",
       {{3, 4}},
       [](const Vars& x) { return softmax(x[0] / 4); },
       {[](At a) { return a.y * (a.dy - total(a.dy * a.y)) / 4; }},
       {{"1/τ forgotten", kFactor, 0, [](At a) { return a.y * (a.dy - total(a.dy * a.y)); }},
        {"τ for 1/τ", kFactor, 0, [](At a) { return 4 * a.y * (a.dy - total(a.dy * a.y)); }}}},
      {"causal softmax",
       {{4, 4}},
       [](const Vars& x) { return masked_softmax(x[0], kCausal); },
       {[](At a) { return a.y * (a.dy - total(a.dy * a.y)); }},
       {{"softmax of all", "", 0,
         [](At a) {
           const Var p = softmax(a.x[0]);
           return p * (a.dy - total(a.dy * p));
         }},
        {"no sum over the row", kTerm, 0, [](At a) { return a.y * a.dy; }}}},
      {"log_softmax",
       {{4, 4}},
       [](const Vars& x) { return log_softmax(x[0]); },
       {[](At a) { return a.dy - exp(a.y) * total(a.dy); }},
       {{"no sum over the row", kOwn, 0, [](At a) { return a.dy - exp(a.y) * a.dy; }},
        {"p forgotten", kTerm, 0, [](At a) { return a.dy - total(a.dy); }},
        {"mean of dy", kTerm, 0, [](At a) { return a.dy - average(a.dy); }},
        {"plus for minus", kTerm, 0, [](At a) { return a.dy + exp(a.y) * total(a.dy); }},
        {"y for p", kTerm, 0, [](At a) { return a.dy - a.y * total(a.dy); }},
        {"dy alone", kOwn, 0, [](At a) { return a.dy + 0; }},
        {"the other axis", kOtherAxis, 0,
         [](At a) { return a.dy - exp(a.y) * sum(a.dy, {0}, true); }},
        {"sign", "the sign", 0, [](At a) { return exp(a.y) * total(a.dy) - a.dy; }}}},
      {"layer norm",
       {{4, 4}},
       [](const Vars& x) { return normal(x[0]); },
       {[](At a) { return norm_back(a.dy, a.x[0]); }},
       {{"mean and deviation as constants", kOwn, 0, [](At a) { return a.dy / deviation(a.x[0]); }},
        {"mean of dy forgotten", kTerm, 0,
         [](At a) { return (a.dy - a.y * average(a.dy * a.y)) / deviation(a.x[0]); }},
        {"mean of dy y forgotten", kTerm, 0,
         [](At a) { return (a.dy - average(a.dy)) / deviation(a.x[0]); }},
        {"1/σ forgotten", kColumn, 0,
         [](At a) { return norm_back(a.dy, a.x[0]) * deviation(a.x[0]); }},
        {"1/σ²", kColumn, 0, [](At a) { return norm_back(a.dy, a.x[0]) / deviation(a.x[0]); }},
        {"sum for mean of dy", kTerm, 0,
         [](At a) { return (a.dy - total(a.dy) - a.y * average(a.dy * a.y)) / deviation(a.x[0]); }},
        {"sum for mean of dy y", kTerm, 0,
         [](At a) { return (a.dy - average(a.dy) - a.y * total(a.dy * a.y)) / deviation(a.x[0]); }},
        {"the other axis", kOtherAxis, 0,
         [](At a) {
           return (a.dy - mean(a.dy, {0}, true) - a.y * mean(a.dy * a.y, {0}, true)) /
                  deviation(a.x[0]);
         }},
        {"x for y", "", 0,
         [](At a) {
           return (a.dy - average(a.dy) - a.x[0] * average(a.dy * a.x[0])) / deviation(a.x[0]);
         }},
        {"sign", "the sign", 0, [](At a) { return -norm_back(a.dy, a.x[0]); }}}},
      {"layer norm with γ and β",
       {{4, 4}, {4}, {4}},
       [](const Vars& x) { return normal(x[0]) * x[1] + x[2]; },
       {[](At a) { return norm_back(a.dy * a.x[1], a.x[0]); },
        [](At a) { return sum(a.dy * normal(a.x[0]), {0}); }, [](At a) { return sum(a.dy, {0}); }},
       {{"γ forgotten", "belongs to the output's element", 0,
         [](At a) { return norm_back(a.dy, a.x[0]); }},
        {"γ after instead of before", kTranspose, 0,
         [](At a) { return norm_back(a.dy, a.x[0]) * a.x[1]; }},
        {"γ from the first row", "contributions lost", 1,
         [](At a) { return select(a.dy * normal(a.x[0]), 0, 0); }},
        {"γ from x", "", 1, [](At a) { return sum(a.dy * a.x[0], {0}); }},
        {"γ from y", "", 1, [](At a) { return sum(a.dy * a.y, {0}); }},
        {"γ without the norm", "another input, x2", 1, [](At a) { return sum(a.dy, {0}); }},
        {"γ as mean", kFactor, 1, [](At a) { return mean(a.dy * normal(a.x[0]), {0}); }},
        {"β summed along features", "dy's axes 0 and 1 exchanged", 2,
         [](At a) { return sum(a.dy, {1}); }},
        {"β as mean", kFactor, 2, [](At a) { return mean(a.dy, {0}); }},
        {"γ and β exchanged", "another input, x1", 2,
         [](At a) { return sum(a.dy * normal(a.x[0]), {0}); }}}},
      {"rms norm",
       {{3, 4}},
       [](const Vars& x) { return x[0] / sqrt(average(x[0] * x[0])); },
       {[](At a) { return (a.dy - a.y * average(a.dy * a.y)) / sqrt(average(a.x[0] * a.x[0])); }},
       {{"root as a constant", kOwn, 0, [](At a) { return a.dy / sqrt(average(a.x[0] * a.x[0])); }},
        {"not divided", kColumn, 0, [](At a) { return a.dy - a.y * average(a.dy * a.y); }},
        {"sum for mean", kTerm, 0,
         [](At a) { return (a.dy - a.y * total(a.dy * a.y)) / sqrt(average(a.x[0] * a.x[0])); }},
        {"plus for minus", kTerm, 0,
         [](At a) { return (a.dy + a.y * average(a.dy * a.y)) / sqrt(average(a.x[0] * a.x[0])); }},
        {"x for y", kTerm, 0,
         [](At a) {
           return (a.dy - a.x[0] * average(a.dy * a.x[0])) / sqrt(average(a.x[0] * a.x[0]));
         }}}},
      {"x/|x|",
       {{3, 4}},
       [](const Vars& x) { return x[0] / length(x[0]); },
       {[](At a) { return (a.dy - a.y * total(a.dy * a.y)) / length(a.x[0]); }},
       {{"length as a constant", kOwn, 0, [](At a) { return a.dy / length(a.x[0]); }},
        {"not divided", kColumn, 0, [](At a) { return a.dy - a.y * total(a.dy * a.y); }},
        {"y forgotten", kTerm, 0, [](At a) { return (a.dy - total(a.dy * a.y)) / length(a.x[0]); }},
        {"the projection itself", "", 0,
         [](At a) { return a.y * total(a.dy * a.y) / length(a.x[0]); }}}},
      {"x - mean",
       {{3, 4}},
       [](const Vars& x) { return x[0] - average(x[0]); },
       {[](At a) { return a.dy - average(a.dy); }},
       {{"mean as a constant", kOwn, 0, [](At a) { return a.dy + 0; }},
        {"sum for mean", kTerm, 0, [](At a) { return a.dy - total(a.dy); }},
        {"plus for minus", kTerm, 0, [](At a) { return a.dy + average(a.dy); }},
        {"mean of x", "dy ignored, or used not linearly", 0,
         [](At a) { return a.dy - average(a.x[0]); }}}},
      {"shares x/Σx",
       {{3, 4}},
       [](const Vars& x) { return x[0] / total(x[0]); },
       {[](At a) { return (a.dy - total(a.dy * a.y)) / total(a.x[0]); }},
       {{"sum as a constant", kOwn, 0, [](At a) { return a.dy / total(a.x[0]); }},
        {"not divided", kColumn, 0, [](At a) { return a.dy - total(a.dy * a.y); }},
        {"sum of dy", kTerm, 0, [](At a) { return (a.dy - total(a.dy)) / total(a.x[0]); }}}},
      {"cross entropy",
       {{3, 4}},
       [](const Vars& x) { return -sum(log_softmax(x[0]) * wanted(x[0])) / 3; },
       {[](At a) { return a.dy * (softmax(a.x[0]) - wanted(a.x[0])) / 3; }},
       {{"q - p", "the sign", 0,
         [](At a) { return a.dy * (wanted(a.x[0]) - softmax(a.x[0])) / 3; }},
        {"1/N forgotten", kFactor, 0,
         [](At a) { return a.dy * (softmax(a.x[0]) - wanted(a.x[0])); }},
        {"1/V for 1/N", kFactor, 0,
         [](At a) { return a.dy * (softmax(a.x[0]) - wanted(a.x[0])) / 4; }},
        {"upstream forgotten", "dy ignored", 0,
         [](At a) { return (softmax(a.x[0]) - wanted(a.x[0])) / 3; }},
        {"p alone", "", 0, [](At a) { return a.dy * softmax(a.x[0]) / 3; }},
        {"-q/p as of NLL", "", 0,
         [](At a) { return -(a.dy * wanted(a.x[0]) / softmax(a.x[0])) / 3; }},
        {"wanted classes only", "contributions lost", 0,
         [](At a) { return a.dy * wanted(a.x[0]) * (softmax(a.x[0]) - 1) / 3; }},
        {"softmax over positions", "", 0,
         [](At a) { return a.dy * (softmax(a.x[0], 0) - wanted(a.x[0])) / 3; }}}},
      {"mean squared error",
       {{3, 4}, {3, 4}},
       [](const Vars& x) { return mean((x[0] - x[1]) * (x[0] - x[1])); },
       {[](At a) { return 2 * a.dy * (a.x[0] - a.x[1]) / a.x[0].numel(); },
        [](At a) { return 2 * a.dy * (a.x[1] - a.x[0]) / a.x[0].numel(); }},
       {{"2 forgotten", kFactor, 0, [](At a) { return a.dy * (a.x[0] - a.x[1]) / 12; }},
        {"1/n forgotten", kFactor, 0, [](At a) { return 2 * a.dy * (a.x[0] - a.x[1]); }},
        {"rows for n", kFactor, 1, [](At a) { return 2 * a.dy * (a.x[1] - a.x[0]) / 3; }},
        {"target minus prediction", "the sign", 0,
         [](At a) { return a.dy * (a.x[1] - a.x[0]) / 6; }},
        {"upstream forgotten", "dy ignored", 0, [](At a) { return (a.x[0] - a.x[1]) / 6; }}}},
      {"mean absolute error",
       {{3, 4}, {3, 4}},
       [](const Vars& x) { return mean(abs(x[0] - x[1])); },
       {[](At a) { return a.dy * (a.x[0] - a.x[1]) / abs(a.x[0] - a.x[1]) / a.x[0].numel(); },
        [](At a) { return a.dy * (a.x[1] - a.x[0]) / abs(a.x[0] - a.x[1]) / a.x[0].numel(); }},
       {{"sign forgotten", "dy passed on", 0,
         [](At a) {
           return broadcast_to(a.dy, {3, 4}) / 12;
         }},
        {"1/n forgotten", kFactor, 1,
         [](At a) { return a.dy * (a.x[1] - a.x[0]) / abs(a.x[0] - a.x[1]); }}}},
      {"logistic loss",
       {{3, 4}},
       [](const Vars& x) { return mean(log(1 + exp(x[0])) - 0.4 * x[0]); },
       {[](At a) { return a.dy * (sigmoid(a.x[0]) - 0.4) / a.x[0].numel(); }},
       {{"target minus probability", "the sign", 0,
         [](At a) { return a.dy * (0.4 - sigmoid(a.x[0])) / 12; }},
        {"sigmoid's derivative once more", "", 0,
         [](At a) {
           const Var s = sigmoid(a.x[0]);
           return a.dy * (s - 0.4) * s * (1 - s) / 12;
         }},
        {"logit for probability", "", 0, [](At a) { return a.dy * (a.x[0] - 0.4) / 12; }},
        {"1/n forgotten", kFactor, 0, [](At a) { return a.dy * (sigmoid(a.x[0]) - 0.4); }}}},
  };
}

}  // namespace glim::wrongs

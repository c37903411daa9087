// Sums, means and what else takes an axis away.
#include "tensor/ops/elementwise.hpp"
#include "tests/autograd/gradcheck/wrong/wrong.hpp"

namespace glim::wrongs {
namespace {

// (B,) of each row to (B, S)
Var rows(const Var& dy, const Var& x) { return broadcast_to(unsqueeze(dy, -1), x.shape()); }

}  // namespace

std::vector<WrongOp> wrong_sums() {
  return {
      {"sum of rows",
       {{4, 4}},
       [](const Vars& x) { return sum(x[0], {1}); },
       {[](At a) { return rows(a.dy, a.x[0]); }},
       {{"divided by n", kFactor, 0, [](At a) { return rows(a.dy, a.x[0]) / 4; }},
        {"along the other axis", "axes 0 and 1 exchanged", 0,
         [](At a) { return broadcast_to(a.dy, a.x[0].shape()); }},
        {"upstream forgotten", kOnes, 0, [](At a) { return like(a.x[0], 1); }},
        {"first element only", kLost, 0,
         [](At a) {
           return unslice(unsqueeze(a.dy, -1), {4, 4}, 1, 0);
         }},
        {"times x", "x0 too many", 0, [](At a) { return rows(a.dy, a.x[0]) * a.x[0]; }},
        {"the sum of dy", "a mask ignored", 0,
         [](At a) { return broadcast_to(sum(a.dy), a.x[0].shape()); }}}},
      {"mean of all",
       {{2, 3}},
       [](const Vars& x) { return mean(x[0]); },
       {[](At a) { return broadcast_to(a.dy, a.x[0].shape()) / a.x[0].numel(); }},
       {{"1/n forgotten", kFactor, 0,
         [](At a) {
           return broadcast_to(a.dy, {2, 3}) + 0;
         }},
        {"1/n twice", kFactor, 0,
         [](At a) {
           return broadcast_to(a.dy, {2, 3}) / 36;
         }},
        {"n of one axis", kFactor, 0,
         [](At a) {
           return broadcast_to(a.dy, {2, 3}) / 3;
         }},
        {"upstream forgotten", "dy ignored", 0, [](At a) { return like(a.x[0], 1.0 / 6); }},
        {"first element only", kLost, 0,
         [](At a) {
           return reshape(unslice(reshape(a.dy / 6, {1}), {6}, 0, 0), {2, 3});
         }}}},
      {"mean of rows",
       {{3, 3}},
       [](const Vars& x) { return mean(x[0], {1}); },
       {[](At a) { return rows(a.dy, a.x[0]) / a.x[0].shape()[1]; }},
       {{"1/n forgotten", kFactor, 0, [](At a) { return rows(a.dy, a.x[0]) + 0; }},
        {"along the other axis", "axes 0 and 1 exchanged", 0,
         [](At a) {
           return broadcast_to(a.dy, {3, 3}) / 3;
         }},
        {"mean of all elements", kFactor, 0, [](At a) { return rows(a.dy, a.x[0]) / 9; }}}},
      {"variance of rows",
       {{3, 4}},
       [](const Vars& x) { return var(x[0], {1}); },
       {[](At a) {
         return 2 * rows(a.dy, a.x[0]) * (a.x[0] - mean(a.x[0], {1}, true)) /
                (a.x[0].shape()[1] - 1);
       }},
       {{"2 forgotten", kFactor, 0,
         [](At a) { return rows(a.dy, a.x[0]) * (a.x[0] - mean(a.x[0], {1}, true)) / 3; }},
        {"n for n - 1", kFactor, 0,
         [](At a) { return rows(a.dy, a.x[0]) * (a.x[0] - mean(a.x[0], {1}, true)) / 2; }},
        {"mean forgotten", "a term along axis 1", 0,
         [](At a) { return rows(a.dy, a.x[0]) * a.x[0] * (2.0 / 3); }},
        {"mean of all", "a term along axis 1", 0,
         [](At a) { return rows(a.dy, a.x[0]) * (a.x[0] - mean(a.x[0])) * (2.0 / 3); }},
        {"sign", "the sign", 0,
         [](At a) {
           return rows(a.dy, a.x[0]) * (mean(a.x[0], {1}, true) - a.x[0]) * (2.0 / 3);
         }}}},
      {"maximum of rows",
       {{3, 4}},
       [](const Vars& x) { return max(x[0], {1}); },
       {[](At a) {
         return only(equal(a.x[0].value(), max(a.x[0], {1}, true).value()), rows(a.dy, a.x[0]));
       }},
       {{"to all", "a mask ignored", 0, [](At a) { return rows(a.dy, a.x[0]) + 0; }},
        {"to the smallest", "", 0,
         [](At a) {
           return only(equal(a.x[0].value(), min(a.x[0], {1}, true).value()), rows(a.dy, a.x[0]));
         }},
        {"times the value", kFactor, 0,
         [](At a) {
           return 2 *
                  only(equal(a.x[0].value(), max(a.x[0], {1}, true).value()), rows(a.dy, a.x[0]));
         }}}},
      {"logsumexp of rows",
       {{3, 4}},
       [](const Vars& x) { return logsumexp(x[0]); },
       {[](At a) { return rows(a.dy, a.x[0]) * softmax(a.x[0]); }},
       {{"chain rule without its factor", kPassed, 0, [](At a) { return rows(a.dy, a.x[0]) + 0; }},
        {"exp without its sum", "belongs to the output's element", 0,
         [](At a) { return rows(a.dy, a.x[0]) * exp(a.x[0]); }},
        {"softmax along the other axis", "", 0,
         [](At a) { return rows(a.dy, a.x[0]) * softmax(a.x[0], 0); }},
        {"log_softmax", "", 0, [](At a) { return rows(a.dy, a.x[0]) * log_softmax(a.x[0]); }},
        {"upstream forgotten", kOnes, 0, [](At a) { return softmax(a.x[0]); }}}},
      {"length of rows",
       {{3, 4}},
       [](const Vars& x) { return sqrt(sum(x[0] * x[0], {1})); },
       {[](At a) { return rows(a.dy / a.y, a.x[0]) * a.x[0]; }},
       {{"2 of x²", kFactor, 0, [](At a) { return 2 * rows(a.dy / a.y, a.x[0]) * a.x[0]; }},
        {"not divided", "the output too many", 0, [](At a) { return rows(a.dy, a.x[0]) * a.x[0]; }},
        {"x forgotten", "x0 missing", 0, [](At a) { return rows(a.dy / a.y, a.x[0]) + 0; }},
        {"divided by y²", "the output missing", 0,
         [](At a) { return rows(a.dy / (a.y * a.y), a.x[0]) * a.x[0]; }}}},
      {"product of rows by logarithms",
       {{3, 3}},
       [](const Vars& x) { return exp(sum(log(x[0]), {1})); },
       {[](At a) { return rows(a.dy * a.y, a.x[0]) / a.x[0]; }},
       {{"y forgotten", "the output missing", 0, [](At a) { return rows(a.dy, a.x[0]) / a.x[0]; }},
        {"not divided", "x0 too many", 0, [](At a) { return rows(a.dy * a.y, a.x[0]) + 0; }}}},
      {"cumulative sum",
       {{5}},
       [](const Vars& x) { return cumsum(x[0], 0); },
       {[](At a) { return sum(a.dy) - cumsum(a.dy, 0) + a.dy; }},
       {{"in forward order", "missing transpose", 0, [](At a) { return cumsum(a.dy, 0); }},
        {"own element only", "own element alone", 0, [](At a) { return a.dy + 0; }},
        {"without the own element", "off by one", 0,
         [](At a) { return sum(a.dy) - cumsum(a.dy, 0); }},
        {"the whole sum", "a mask ignored", 0,
         [](At a) { return broadcast_to(sum(a.dy), {5}) + 0; }}}},
      {"a + b, b broadcast",
       {{3, 3}, {3}},
       [](const Vars& x) { return x[0] + x[1]; },
       {[](At a) { return a.dy; }, [](At a) { return sum(a.dy, {0}); }},
       {{"first row only", kLost, 1, [](At a) { return select(a.dy, 0, 0); }},
        {"mean for sum", kFactor, 1, [](At a) { return mean(a.dy, {0}); }},
        {"the other axis", "dy's axes 0 and 1 exchanged", 1, [](At a) { return sum(a.dy, {1}); }},
        {"the last row overwrites", kLost, 1, [](At a) { return select(a.dy, 0, 2); }},
        {"number of rows", kOnes, 1, [](At a) { return like(a.x[1], 3); }}}},
      {"a b, b broadcast",
       {{3, 3}, {3}},
       [](const Vars& x) { return x[0] * x[1]; },
       {[](At a) { return a.dy * a.x[1]; }, [](At a) { return sum(a.dy * a.x[0], {0}); }},
       {{"a forgotten", kPassed, 1, [](At a) { return sum(a.dy, {0}); }},
        {"first row only", kLost, 1, [](At a) { return select(a.dy * a.x[0], 0, 0); }},
        {"mean for sum", kFactor, 1, [](At a) { return mean(a.dy * a.x[0], {0}); }},
        {"b along the other axis", "axes 0 and 1 exchanged", 0,
         [](At a) { return a.dy * unsqueeze(a.x[1], -1); }},
        {"sum before product", "", 1, [](At a) { return sum(a.dy, {0}) * sum(a.x[0], {0}); }}}},
  };
}

}  // namespace glim::wrongs

// Softmax: every output of a row depends on the whole row. Sums, norms, losses, layers and what moves elements are in the corpus of Python.
#include "tests/autograd/gradcheck/wrong/wrong.hpp"

namespace glim::wrongs {

static Var total(const Var& x) { return sum(x, {1}, true); }

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
        {"mean for sum", kTerm, 0, [](At a) { return a.y * (a.dy - mean(a.dy * a.y, {1}, true)); }},
        {"plus for minus", kTerm, 0, [](At a) { return a.y * (a.dy + total(a.dy * a.y)); }},
        {"the other axis", kOtherAxis, 0,
         [](At a) { return a.y * (a.dy - sum(a.dy * a.y, {0}, true)); }},
        {"sign", "the sign", 0, [](At a) { return a.y * (total(a.dy * a.y) - a.dy); }},
        {"dy alone", kOwn, 0, [](At a) { return a.dy + 0; }},
        {"upstream of ones", "no gradient reaches", 0,
         [](At a) { return a.y - a.y * total(a.y); }}}},
  };
}

}  // namespace glim::wrongs

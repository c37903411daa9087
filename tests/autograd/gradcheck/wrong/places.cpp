// Elements that change their places: slices, indices, masks, windows.
#include <cmath>

#include "tensor/ops/index.hpp"
#include "tests/autograd/gradcheck/wrong/wrong.hpp"

namespace glim::wrongs {
namespace {

const Tensor kKeep = from_vector<bool>({true, false, true, false, false, true}, {2, 3});
const Tensor kRows = from_vector<std::int64_t>({2, 0, 2, 1}, {4});
const Tensor kDistinct = from_vector<std::int64_t>({3, 0, 2}, {3});
constexpr double kDrop = 0.4;
const RandomKey kKey{1, 2}, kOtherKey{1, 3};
const double kWeights[] = {0.5, -1.25, 2};

// The last of equal indices wins.
Var assigned(const Var& dy, const Shape& shape, const Tensor& index) {
  Tensor d = zeros(shape, dy.dtype());
  for (Index i = 0; i < index.numel(); ++i)
    select(d, 0, index.at<std::int64_t>({i})).copy_(select(dy.value(), 0, i));
  return Var(d);
}
Tensor shifted(const Tensor& index, Index rows) {
  Tensor next = index.clone();
  for (Index i = 0; i < index.numel(); ++i)
    narrow(next, 0, i, 1).fill_(static_cast<double>((index.at<std::int64_t>({i}) + 1) % rows));
  return next;
}
Var rolled(const Var& x, Index by) {  // x[i - by]
  const Index n = x.shape()[0], k = (by % n + n) % n;
  return concatenate({narrow(x, 0, n - k, k), narrow(x, 0, 0, n - k)}, 0);
}

}  // namespace

std::vector<WrongOp> wrong_places() {
  return {
      {"slice [1, 4)",
       {{5}},
       [](const Vars& x) { return slice(x[0], 0, 1, 4) + 0; },
       {[](At a) { return unslice(a.dy, {5}, 0, 1); }},
       {{"one too far", kOff, 0, [](At a) { return unslice(a.dy, {5}, 0, 2); }},
        {"from the start", kOff, 0, [](At a) { return unslice(a.dy, {5}, 0, 0); }},
        {"factor", kFactor, 0, [](At a) { return 2 * unslice(a.dy, {5}, 0, 1); }},
        {"detached", "no gradient reaches", 0, [](At a) { return like(a.x[0], 0); }}}},
      {"every second",
       {{6}},
       [](const Vars& x) { return slice(x[0], 0, 0, 6, 2) + 0; },
       {[](At a) { return unslice(a.dy, {6}, 0, 0, 2); }},
       {{"the odd ones", kOff, 0, [](At a) { return unslice(a.dy, {6}, 0, 1, 2); }},
        {"the first ones", "", 0, [](At a) { return unslice(a.dy, {6}, 0, 0); }}}},
      {"padding by 2 and 1",
       {{4}},
       [](const Vars& x) { return unslice(x[0], {x[0].numel() + 3}, 0, 2); },
       {[](At a) { return slice(a.dy, 0, 2, 2 + a.x[0].numel()) + 0; }},
       {{"padding of the other side", "dy's index off by one", 0,
         [](At a) { return slice(a.dy, 0, 1, 5) + 0; }},
        {"from the start", "", 0, [](At a) { return slice(a.dy, 0, 0, 4) + 0; }}}},
      {"roll by 1",
       {{5}},
       [](const Vars& x) { return rolled(x[0], 1); },
       {[](At a) { return rolled(a.dy, -1); }},
       {{"rolled on instead of back", "missing transpose", 0, [](At a) { return rolled(a.dy, 1); }},
        {"not rolled", kOff, 0, [](At a) { return a.dy + 0; }}}},
      {"concatenation",
       {{2, 3}, {2, 3}},
       [](const Vars& x) {
         return concatenate({x[0], x[1]}, 0);
       },
       {[](At a) { return slice(a.dy, 0, 0, a.x[0].shape()[0]) + 0; },
        [](At a) { return slice(a.dy, 0, a.x[0].shape()[0], a.dy.shape()[0]) + 0; }},
       {{"first part for both", "another input, x0", 1,
         [](At a) { return slice(a.dy, 0, 0, 2) + 0; }},
        {"one row early", "dy's index off by one", 1,
         [](At a) { return slice(a.dy, 0, 1, 3) + 0; }}}},
      {"a row repeated",
       {{3}},
       [](const Vars& x) {
         return broadcast_to(x[0], {3, 3}) + 0;
       },
       {[](At a) { return sum(a.dy, {0}); }},
       {{"first row only", kLost, 0, [](At a) { return select(a.dy, 0, 0) + 0; }},
        {"mean", kFactor, 0, [](At a) { return mean(a.dy, {0}); }},
        {"the other axis", "dy's axes 0 and 1 exchanged", 0, [](At a) { return sum(a.dy, {1}); }}}},
      {"where(keep, a, b)",
       {{2, 3}, {2, 3}},
       [](const Vars& x) { return where(kKeep, x[0], x[1]); },
       {[](At a) { return only(kKeep, a.dy); }, [](At a) { return a.dy - only(kKeep, a.dy); }},
       {{"no mask", kIgnored, 0, [](At a) { return a.dy + 0; }},
        {"no mask for b", kIgnored, 1, [](At a) { return a.dy + 0; }},
        {"b's mask", "another input, x1", 0, [](At a) { return a.dy - only(kKeep, a.dy); }}}},
      {"masked fill",
       {{2, 3}},
       [](const Vars& x) { return where(kKeep, x[0], like(x[0], -9)); },
       {[](At a) { return only(kKeep, a.dy); }},
       {{"no mask", kIgnored, 0, [](At a) { return a.dy + 0; }},
        {"the hidden ones", kRound, 0, [](At a) { return a.dy - only(kKeep, a.dy); }},
        {"-9 for 0", "used not linearly", 0,
         [](At a) { return where(kKeep, a.dy, like(a.dy, -9)); }}}},
      {"lower triangle",
       {{4, 4}},
       [](const Vars& x) { return tril(x[0]); },
       {[](At a) { return tril(a.dy); }},
       {{"no mask", kIgnored, 0, [](At a) { return a.dy + 0; }},
        {"one diagonal more", kIgnored, 0, [](At a) { return tril(a.dy, 1); }},
        {"without the diagonal", kLost, 0, [](At a) { return tril(a.dy, -1); }},
        {"strictly upper", kRound, 0, [](At a) { return triu(a.dy, 1); }},
        {"upper", "axes 0 and 1 exchanged", 0, [](At a) { return triu(a.dy); }}}},
      {"dropout",
       {{4, 4}},
       [](const Vars& x) { return dropout(x[0], kDrop, kKey); },
       {[](At a) { return dropout(a.dy, kDrop, kKey); }},
       {{"1/(1 - p) forgotten", "constant factor: 0.6", 0,
         [](At a) { return 0.6 * dropout(a.dy, kDrop, kKey); }},
        {"1/p", kFactor, 0, [](At a) { return 1.5 * dropout(a.dy, kDrop, kKey); }},
        {"scaled twice", kFactor, 0, [](At a) { return dropout(a.dy, kDrop, kKey) / 0.6; }},
        {"no mask", kIgnored, 0, [](At a) { return a.dy / 0.6; }},
        {"another mask", "", 0, [](At a) { return dropout(a.dy, kDrop, kOtherKey); }},
        {"the dropped ones", kRound, 0,
         [](At a) { return a.dy / 0.6 - dropout(a.dy, kDrop, kKey); }},
        {"as if not training", "", 0, [](At a) { return a.dy + 0; }}}},
      {"embedding",
       {{3, 2}},
       [](const Vars& x) { return index_select(x[0], 0, kRows); },
       {[](At a) { return index_add(a.x[0].shape(), 0, kRows, a.dy); }},
       {{"assigned", kLost, 0,
         [](At a) {
           return assigned(a.dy, {3, 2}, kRows);
         }},
        {"next row", kOff, 0,
         [](At a) {
           return index_add({3, 2}, 0, shifted(kRows, 3), a.dy);
         }},
        {"mean over the uses", kColumn, 0,
         [](At a) {
           const Var uses(tensor({1, 1, 2}, {3, 1}, a.dy.dtype()));
           return index_add({3, 2}, 0, kRows, a.dy) / uses;
         }},
        {"scaled as forward was not", "constant factor: √2", 0,
         [](At a) {
           return index_add({3, 2}, 0, kRows, a.dy) * std::sqrt(2.0);
         }},
        {"rows of dy in order", "", 0, [](At a) { return narrow(a.dy, 0, 0, 3) + 0; }}}},
      {"embedding times √d",
       {{4, 8}},
       [](const Vars& x) { return index_select(x[0], 0, kDistinct) * std::sqrt(8.0); },
       {[](At a) { return index_add(a.x[0].shape(), 0, kDistinct, a.dy) * std::sqrt(8.0); }},
       {{"√d forgotten", "1/√8", 0,
         [](At a) {
           return index_add({4, 8}, 0, kDistinct, a.dy);
         }}}},
      {"embedding with padding 0",
       {{4, 3}},
       [](const Vars& x) {
         return index_select(x[0], 0, kDistinct) * Var(tensor({1, 0, 1}, {3, 1}, x[0].dtype()));
       },
       {[](At a) {
         return index_add(a.x[0].shape(), 0, kDistinct,
                          a.dy * Var(tensor({1, 0, 1}, {3, 1}, a.dy.dtype())));
       }},
       {{"padding learns", kIgnored, 0,
         [](At a) {
           return index_add({4, 3}, 0, kDistinct, a.dy);
         }}}},
      {"mean of windows of 2",
       {{6}},
       [](const Vars& x) {
         return mean(reshape(x[0], {3, 2}), {1});
       },
       {[](At a) {
         return reshape(broadcast_to(unsqueeze(a.dy, -1), {3, 2}) / 2, {6});
       }},
       {{"1/2 forgotten", kFactor, 0,
         [](At a) {
           return reshape(broadcast_to(unsqueeze(a.dy, -1), {3, 2}) + 0, {6});
         }},
        {"first of each", kLost, 0, [](At a) { return unslice(a.dy / 2, {6}, 0, 0, 2); }},
        {"windows one late", kOff, 0,
         [](At a) {
           return rolled(reshape(broadcast_to(unsqueeze(a.dy, -1), {3, 2}) / 2, {6}), 1);
         }}}},
      {"convolution y_t = Σ w_k x_{t+k}",
       {{6}},
       [](const Vars& x) {
         Var y = kWeights[0] * slice(x[0], 0, 0, 4);
         for (Index k = 1; k < 3; ++k) y = y + kWeights[k] * slice(x[0], 0, k, k + 4);
         return y;
       },
       {[](At a) {
         Var d = like(a.x[0], 0);
         for (Index k = 0; k < 3; ++k) d = d + unslice(kWeights[k] * a.dy, {6}, 0, k);
         return d;
       }},
       {{"the last tap only", kLost, 0,
         [](At a) { return unslice(kWeights[2] * a.dy, {6}, 0, 2); }},
        {"one late", kOff, 0,
         [](At a) {
           Var d = like(a.x[0], 0);
           for (Index k = 0; k < 3; ++k) d = d + unslice(kWeights[k] * a.dy, {6}, 0, k);
           return rolled(d, 1);
         }},
        {"taps reversed", "", 0,
         [](At a) {
           Var d = like(a.x[0], 0);
           for (Index k = 0; k < 3; ++k) d = d + unslice(kWeights[2 - k] * a.dy, {6}, 0, k);
           return d;
         }},
        {"taps lost", kLost, 0,
         [](At a) {
           return unslice(kWeights[0] * a.dy, {6}, 0, 0) + unslice(kWeights[1] * a.dy, {6}, 0, 1);
         }}}},
  };
}

}  // namespace glim::wrongs

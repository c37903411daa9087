// Shared by the slips and the page about them.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "models/transformer/transformer.hpp"
#include "tools/gradient_cases/ids.hpp"
#include "tools/gradient_cases/sizes.hpp"

namespace glim::seed_errors {

inline Tensor random(const Shape& shape, std::uint64_t stream) {
  return normal(shape, 0, 1, {77, stream}, DType::Float64);
}

// Slip 4: a small Transformer, and logits of one target for a source, right and with the encoder's output
// overwritten by the decoder's input.
class Overwritten {
 public:
  Overwritten() {
    seed(4);
    auto c = sized<TransformerConfig>(9, 8, 2, 16, 1);
    model_ = std::make_unique<Transformer>(c);
    model_->to(DType::Float64);
    model_->eval();
  }
  Tensor right(const Tensor& source) const { return (*model_)(source, target_).value(); }
  Tensor slip(const Tensor& source) const {
    (void)model_->encode(source);
    Var x = model_->encode(target_);  // what the decoder is about to decode
    return model_->generate(model_->decode(target_, x, target_).hidden).value();
  }
  const Tensor one = ids({3, 4}, {1, 2}), other = ids({7, 8}, {1, 2});

 private:
  const Tensor target_ = ids({1, 4, 5}, {1, 3});
  std::unique_ptr<Transformer> model_;
};

// Slip 6: the gradient of six tokens, two of them padding, in parts (start, length). Each is divided by the
// tokens of all, or by its own.
inline Tensor accumulated(const std::vector<std::pair<Index, Index>>& parts, bool divide_by_all) {
  Tensor x = random({6, 5}, 4), target = ids({1, 2, 0, 3, 3, 0}, {6});
  Var w = Var::leaf(random({4, 5}, 5));
  for (auto [start, length] : parts) {
    Tape tape;
    auto [loss, sums] = label_smoothing_loss(linear(Var(narrow(x, 0, start, length)), w, {}),
                                             narrow(target, 0, start, length), 0.1, 0);
    tape.backward(mul(loss, 1.0 / (divide_by_all ? 4.0 : static_cast<double>(sums.tokens))));
  }
  return w.grad();
}

// Slip 7: scores, and which of them may be seen.
inline Tensor some_scores() { return random({3, 4}, 6); }
inline Tensor some_keep() {
  return reshape(tensor({1, 1, 0, 0, 1, 0, 1, 1, 1, 1, 1, 0}, DType::Bool), {3, 4});
}

// Claim 8: the probabilities that a number added to masked scores leaves, in this precision: scores and their sum with
// the number are rounded to it, e^(s - max)/Σ e^(s - max) is not. Glim's softmax gives zeros for a row of -∞.
enum class Precision { Float32, Half };
inline double rounded_to(double x, Precision p) {
  if (p == Precision::Float32) return static_cast<double>(static_cast<float>(x));
  int exponent = 0;
  std::frexp(x, &exponent);
  const double step = std::ldexp(1, std::max(exponent - 11, -24));
  const double nearest = std::nearbyint(x / step) * step;  // ties to even
  return std::abs(nearest) > 65504 ? std::copysign(INFINITY, x) : nearest;
}
inline Tensor added_mask(const std::vector<double>& scores, const std::vector<bool>& keep,
                         double number, Precision p) {
  std::vector<double> sums;
  for (std::size_t i = 0; i < scores.size(); ++i)
    sums.push_back(rounded_to(rounded_to(scores[i], p) + (keep[i] ? 0 : rounded_to(number, p)), p));
  const double highest = *std::max_element(sums.begin(), sums.end());
  double total = 0;
  for (double& s : sums) total += s = std::exp(s - highest);
  for (double& s : sums) s /= total;
  return from_vector(sums, {1, std::ssize(sums)});
}
// How much higher than a score that may be seen a masked score must be for a share of more than `leak`.
inline double gap_of_leak(double number, double leak) {
  double low = 0, high = -2 * number;
  for (int i = 0; i < 100; ++i) {
    const double gap = (low + high) / 2;
    (softmax(tensor({0.0, gap + number}, DType::Float64)).at<double>({1}) > leak ? high : low) =
        gap;
  }
  return high;
}

}  // namespace glim::seed_errors

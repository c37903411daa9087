// What the slips and the page about them compute both.
#pragma once

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

}  // namespace glim::seed_errors

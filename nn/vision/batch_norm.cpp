#include "nn/vision/batch_norm.hpp"

#include "tensor/ops/elementwise.hpp"

namespace glim {

BatchNorm::BatchNorm(Index channels, double eps, double momentum, bool affine)
    : GLIM_NAMED(weight, affine ? ones({channels}) : Tensor()),
      GLIM_NAMED(bias, affine ? zeros({channels}) : Tensor()),
      GLIM_NAMED(running_mean, zeros({channels})),
      GLIM_NAMED(running_var, ones({channels})),
      GLIM_NAMED(num_batches_tracked, scalar(0, DType::Int64)),
      channels_(channels),
      eps_(eps),
      momentum_(momentum) {
  require_eps("batch_norm", eps);
  if (!(momentum >= 0 && momentum <= 1))
    throw ValueError("batch_norm", "momentum must be in [0, 1]");
}

Var BatchNorm::forward(const Var& x) {
  if (x.rank() < 2 || x.size(1) != channels_)
    throw ShapeError("batch_norm", "x must be (B, " + std::to_string(channels_) + ", ...)",
                     {{"x", x}});
  require_eps("batch_norm", eps_, x.dtype());
  Dims others;  // every axis but the channel's
  Shape along = Dims::filled(x.rank(), 1);
  along[1] = channels_;  // (1, C, 1, ...)
  for (int i = 0; i < x.rank(); ++i)
    if (i != 1) others.push_back(i);

  Var centered, variance;
  if (training()) {
    Index count = channels_ > 0 ? x.numel() / channels_ : 0;
    if (count < 2)
      throw ValueError("batch_norm", "training needs more than one value per channel", {{"x", x}});
    Var mean_of = mean(x, others, true);
    centered = x - mean_of;
    variance = mean(centered * centered, others, true);
    auto follow = [&](const Tensor& running, const Tensor& now, double scale) {
      mul_(running, 1 - momentum_);
      add_scaled_(running, reshape(now, {channels_}).to(running.dtype()), momentum_ * scale);
    };
    auto n = static_cast<double>(count);
    follow(running_mean, mean_of.value(), 1);
    follow(running_var, variance.value(), n / (n - 1));
    num_batches_tracked.fill_(num_batches_tracked.item() + 1);
  } else {
    centered = x - reshape(running_mean, along).to(x.dtype());
    variance = Var(reshape(running_var, along).to(x.dtype()));
  }
  Var y = named(centered / sqrt(variance + eps_), "normalized");
  if (weight.defined()) y = y * reshape(weight, along);
  if (bias.defined()) y = y + reshape(bias, along);
  return y;
}

}  // namespace glim

#include "nn/attention/mask.hpp"

#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"

namespace glim {
namespace {

// The shape of rank 4 under which a mask of scores, or of keys alone, broadcasts to the scores.
Shape shape_for(const Shape& scores, const Tensor& m, const char* name, bool of_keys) {
  Index b = scores[0], h = scores[1], t = scores[2], s = scores[3];
  if (of_keys && m.shape() == Shape{b, s}) return {b, 1, 1, s};
  if (!of_keys && m.shape() == Shape{t, s}) return {1, 1, t, s};
  if (!of_keys && m.shape() == Shape{b * h, t, s}) return scores;
  bool fits = !of_keys && m.rank() == 4;
  for (int i = 0; fits && i < 4; ++i) fits = m.size(i) == 1 || m.size(i) == scores[i];
  if (fits) return m.shape();
  std::string expected =
      of_keys ? " must be (B, S) = " + to_string(Shape{b, s})
              : " fits neither (T, S), (B·H, T, S) nor (B, H, T, S) = " + to_string(scores);
  throw ShapeError("attention", name + expected, {{name, m}});
}

}  // namespace

AttentionMask combined(const AttentionRequest& r, const Shape& scores, Index offset,
                       const Var& further) {
  AttentionMask mask{{}, further};
  auto keep = [&](const Tensor& keep_mask) {
    if (keep_mask.dtype() != DType::Bool)
      throw DTypeError("attention", "a keep-mask must be bool", {{"keep", keep_mask}});
    mask.keep = mask.keep.defined() ? logical_and(mask.keep, keep_mask) : keep_mask;
  };
  auto bias = [&](const Var& term) { mask.bias = mask.bias.defined() ? mask.bias + term : term; };
  auto shape = [&](const Tensor& m, const char* name, bool of_keys) {
    return shape_for(scores, m, name, of_keys);
  };
  if (r.keep.defined()) keep(reshape(r.keep, shape(r.keep, "keep", false)));
  if (r.key_keep.defined()) keep(reshape(r.key_keep, shape(r.key_keep, "key_keep", true)));
  // A single query that comes last may attend to all keys.
  if (r.causal && (scores[2] != 1 || scores[3] > offset + 1))
    keep(causal_keep(scores[2], scores[3], offset));
  if (r.bias.defined()) bias(reshape(r.bias, shape(r.bias.value(), "bias", false)));
  if (r.key_bias.defined()) bias(reshape(r.key_bias, shape(r.key_bias.value(), "key_bias", true)));
  return mask;
}

Tensor padding_keep(const Tensor& ids, Index pad) {
  if (ids.rank() != 2 || ids.dtype() != DType::Int64)
    throw ShapeError("padding_keep", "ids must be (B, S) int64", {{"ids", ids}});
  return unsqueeze(unsqueeze(not_equal(ids, static_cast<double>(pad)), 1), 1);
}

Tensor causal_keep(Index queries, Index keys, Index offset) {
  constexpr Index kMost = Index{1} << 53;  // positions are exact in float64
  if (queries < 0 || keys < 0 || queries > kMost || keys > kMost || offset < -kMost ||
      offset > kMost)
    throw ValueError("causal_keep", "needs 0 or more queries and keys, and positions within 2^53");
  Tensor position = arange(static_cast<double>(offset), static_cast<double>(offset + queries));
  Tensor key = arange(0, static_cast<double>(keys));
  return unsqueeze(unsqueeze(less_equal(key, unsqueeze(position, 1)), 0), 0);
}

Tensor decoder_keep(const Tensor& ids, Index pad) {
  return logical_and(padding_keep(ids, pad), causal_keep(ids.size(1)));
}

Var masked_mean(const Var& x, const Tensor& keep) {
  if (x.rank() != 3 || keep.shape() != Shape{x.size(0), x.size(1)})
    throw ShapeError("masked_mean", "x must be (B, S, D) and keep (B, S)",
                     {{"x", x}, {"keep", keep}});
  Tensor weight = keep.to(x.dtype());
  Tensor count = maximum(sum(weight, {1}, true), scalar(1, x.dtype()));  // (B, 1)
  // (B, 1, S) (B, S, D) -> (B, 1, D)
  return squeeze(matmul(Var(unsqueeze(div(weight, count), 1)), x), 1);
}

std::vector<Index> row_lengths(const Tensor& ids, Index pad) {
  if (ids.rank() != 2 || ids.dtype() != DType::Int64)
    throw ShapeError("row_lengths", "ids must be (B, S) int64", {{"ids", ids}});
  auto list = ids.to_vector<Index>();
  Index columns = ids.size(1);
  std::vector<Index> lengths;
  for (Index b = 0; b < ids.size(0); ++b) {
    Index n = columns;
    while (n > 0 && list[b * columns + n - 1] == pad) --n;
    lengths.push_back(n);
  }
  return lengths;
}

}  // namespace glim

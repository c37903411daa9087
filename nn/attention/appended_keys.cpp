#include "nn/attention/appended_keys.hpp"

namespace glim {
namespace {

// `last` as one column more of a mask that broadcasts to (B, H, T, S): S + 1 columns.
Var one_column_more(const Var& mask, Index keys, const Tensor& last) {
  Shape wide = mask.shape(), column = mask.shape();
  wide[3] = keys;
  column[3] = 1;
  return concatenate(
      {mask.shape() == wide ? mask : broadcast_to(mask, wide), Var(broadcast_to(last, column))}, 3);
}

}  // namespace

KeysAndMask appended(const KeysAndMask& all, const Var& key, const Var& value) {
  Shape row = all.key.shape();
  Index keys = row[2];
  row[2] = 1;
  auto joined = [&](const Var& x, const Var& more) {
    return concatenate({x, more.shape() == row ? more : broadcast_to(more, row)}, 2);
  };
  KeysAndMask longer{joined(all.key, key), joined(all.value, value), {}};
  const AttentionMask& m = all.mask;
  if (m.keep.defined())
    longer.mask.keep = one_column_more(Var(m.keep), keys, ones({1, 1, 1, 1}, DType::Bool)).value();
  if (m.bias.defined())
    longer.mask.bias = one_column_more(m.bias, keys, zeros({1, 1, 1, 1}, m.bias.dtype()));
  return longer;
}

}  // namespace glim

#include "tools/convert/marian.hpp"

#include <algorithm>
#include <cmath>

#include "models/tokenizers/vocabulary.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"

namespace glim {
namespace {

// The axis of the residual stream in a weight of ours, by the end of its name.
struct ResidualAxis {
  const char* ending;
  Index axis;
};
constexpr ResidualAxis kResidual[] = {
    {"embed.weight", 1},  {"generator.weight", 1}, {"in_proj_weight", 1}, {"out_proj.weight", 0},
    {"out_proj.bias", 0}, {"linear1.weight", 1},   {"linear2.weight", 0}, {"linear2.bias", 0},
    {"norm1.weight", 0},  {"norm1.bias", 0},       {"norm2.weight", 0},   {"norm2.bias", 0},
    {"norm3.weight", 0},  {"norm3.bias", 0}};

Tensor tensor_of(const std::vector<Index>& list) {
  return from_vector(list, {static_cast<Index>(list.size())});
}

// 0, D/2, 1, D/2 + 1, ...: the place that each column comes from.
std::vector<Index> interleaved(Index d) {
  std::vector<Index> order;
  for (Index c = 0; c < d; ++c) order.push_back(c % 2 == 0 ? c / 2 : (d + 1) / 2 + c / 2);
  return order;
}

}  // namespace

std::vector<Index> marian_ids(const Settings& s, Index vocab, Index unk) {
  Index eos = static_cast<Index>(s.count("eos_token_id").value_or(0));
  Index pad = static_cast<Index>(s.count("pad_token_id").value_or(vocab - 1));
  Index begin = static_cast<Index>(s.count("decoder_start_token_id").value_or(pad));
  for (Index id : {eos, pad, begin})
    if (id >= vocab)
      s.refuse("pad_token_id, eos_token_id or decoder_start_token_id", "an id of its vocabulary");
  std::vector<Index> ids = {pad, begin, eos, unk};
  for (Index i = 0; i < vocab; ++i)
    if (std::find(ids.begin(), ids.begin() + kSpecialTokens, i) == ids.begin() + kSpecialTokens)
      ids.push_back(i);
  return ids;
}

void from_marian(StateDict& weights, const std::vector<Index>& ids, bool scaled) {
  Tensor rows = tensor_of(ids);
  for (const char* name :
       {"src_embed.weight", "tgt_embed.weight", "generator.weight", "generator.bias"})
    weights[name] = index_select(weights.at(name), 0, rows);
  for (const char* name : {"src_embed.weight", "tgt_embed.weight"})
    if (Tensor& table = weights[name]; !scaled)
      table = mul(table, 1 / std::sqrt(static_cast<double>(table.size(1))));
  for (Index special = 0; special < kSpecialTokens; ++special)
    if (std::find(ids.begin(), ids.begin() + special, ids[static_cast<std::size_t>(special)]) !=
        ids.begin() + special)
      narrow(weights.at("generator.bias"), 0, special, 1).fill_(-1000);  // e^-1000 is 0
  for (auto& [name, tensor] : weights)
    for (const ResidualAxis& r : kResidual)
      if (name.ends_with(r.ending))
        tensor = index_select(tensor, r.axis, tensor_of(interleaved(tensor.size(r.axis))));
}

}  // namespace glim

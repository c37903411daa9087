#include "nn/attention/cache.hpp"

#include <algorithm>

#include "tensor/error.hpp"
#include "tensor/parallel.hpp"

namespace glim {
namespace {

// True if each of `rows` rows stays or becomes a copy of one that does.
bool copies_of_what_stays(const std::vector<Index>& picked, Index rows) {
  return static_cast<Index>(picked.size()) == rows &&
         std::all_of(picked.begin(), picked.end(),
                     [&](Index origin) { return picked[origin] == origin; });
}

}  // namespace

void KeyValueCache::append(const Var& key_var, const Var& value_var) {
  if (key_var.requires_grad() || value_var.requires_grad())
    throw StateError("attention", "a cache keeps no gradient: decode under NoGrad",
                     {{"key", key_var}, {"value", value_var}});
  const Tensor &more_key = key_var.value(), &more_value = value_var.value();
  Index count = more_key.size(2), capacity = key.defined() ? key.size(2) : 0;
  if (length + count > capacity) {
    Index room = length == 0 ? count : std::max<Index>(16, 2 * (length + count));
    auto grow = [&](Tensor& t, const Tensor& like) {
      Tensor bigger = empty({like.size(0), like.size(1), room, like.size(3)}, like.dtype());
      if (length > 0) narrow(bigger, 2, 0, length).copy_(narrow(t, 2, 0, length));
      t = bigger;
    };
    grow(key, more_key);
    grow(value, more_value);
  }
  narrow(key, 2, length, count).copy_(more_key);
  narrow(value, 2, length, count).copy_(more_value);
  length += count;
}

void KeyValueCache::select_rows(const Tensor& rows) {
  if (length == 0) return;
  auto picked = rows.to_vector<Index>();
  for (Index row : picked)
    if (row < 0 || row >= key.size(0))
      throw IndexError("attention", "the cache has no row " + std::to_string(row) + " among " +
                                        std::to_string(key.size(0)));
  bool others_are_copies = copies_of_what_stays(picked, key.size(0));
  for (Tensor* cached : {&key, &value}) {
    // Rows that stay are not copied if the others become copies of them and nobody else reads the
    // memory: in a beam most prefixes continue in their rows.
    bool in_place = others_are_copies && cached->storage().exclusive();
    Index heads = cached->size(1), capacity = cached->size(2), width = cached->size(3);
    Tensor input = *cached, output = input;
    if (!in_place)
      output = empty({static_cast<Index>(picked.size()), heads, capacity, width}, input.dtype());
    // Only the filled part is copied: `length` of `capacity` positions of each (row, head).
    visit_dtype(input.dtype(), [&]<class T>() {
      const T* source = input.data<T>();
      T* target = output.data<T>();
      parallel_for(output.size(0) * heads, std::max<Index>(1, 16384 / (length * width)),
                   [&](Index begin, Index end) {
                     for (Index i = begin; i < end; ++i) {
                       Index row = i / heads, origin = picked[row];
                       if (in_place && origin == row) continue;
                       std::copy_n(source + (origin * heads + i % heads) * capacity * width,
                                   length * width, target + i * capacity * width);
                     }
                   });
    });
    *cached = output;
  }
}

}  // namespace glim

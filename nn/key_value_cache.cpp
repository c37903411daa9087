#include "nn/key_value_cache.hpp"

#include <algorithm>

#include "tensor/error.hpp"
#include "tensor/parallel.hpp"

namespace glim {

void KeyValueCache::append(const Tensor& more_key, const Tensor& more_value) {
  Index more = more_key.size(2), capacity = key.defined() ? key.size(2) : 0;
  if (length + more > capacity) {
    Index room = length == 0 ? more : std::max<Index>(16, 2 * (length + more));
    auto grow = [&](Tensor& t, const Tensor& like) {
      Tensor bigger = empty({like.size(0), like.size(1), room, like.size(3)}, like.dtype());
      if (length > 0) bigger.narrow(2, 0, length).copy_(t.narrow(2, 0, length));
      t = bigger;
    };
    grow(key, more_key);
    grow(value, more_value);
  }
  key.narrow(2, length, more).copy_(more_key);
  value.narrow(2, length, more).copy_(more_value);
  length += more;
}

void KeyValueCache::select_rows(const Tensor& rows) {
  if (length == 0) return;
  auto picked = rows.to_vector<Index>();
  for (Index row : picked)
    if (row < 0 || row >= key.size(0))
      throw IndexError("attention", "the cache has no row " + std::to_string(row) + " among " +
                                        std::to_string(key.size(0)));
  // Only what is filled is copied: `length` of `capacity` positions of each (row, head).
  for (Tensor* cached : {&key, &value}) {
    Tensor from = *cached;
    Index heads = from.size(1), capacity = from.size(2), width = from.size(3);
    Tensor to = empty({static_cast<Index>(picked.size()), heads, capacity, width}, from.dtype());
    visit_dtype(from.dtype(), [&]<class T>() {
      const T* source = from.data<T>();
      T* target = to.data<T>();
      parallel_for(to.size(0) * heads, std::max<Index>(1, 16384 / (length * width)),
                   [&](Index begin, Index end) {
                     for (Index i = begin; i < end; ++i) {
                       Index matrix =
                           picked[static_cast<std::size_t>(i / heads)] * heads + i % heads;
                       std::copy_n(source + matrix * capacity * width, length * width,
                                   target + i * capacity * width);
                     }
                   });
    });
    *cached = to;
  }
}

}  // namespace glim

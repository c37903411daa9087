// Shared by the tests of convolutions, pooling and relative positions.
#pragma once

#include <cmath>
#include <memory>

#include "nn/vision/conv.hpp"
#include "nn/vision/pooling.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tests/catch.hpp"
#include "tests/nn/check_case.hpp"

namespace glim {

inline const Reference& vision() { return stored("vision"); }

// torch's options of a case: one number, or one for rows and columns.
inline Extent2 extents(const nlohmann::json& c, const char* key, Index otherwise) {
  if (!c.contains(key)) return otherwise;
  const auto& v = c.at(key);
  return v.is_array() ? Extent2(v[0].get<Index>(), v[1].get<Index>()) : Extent2(v.get<Index>());
}

inline Tensor draw(const Shape& shape, std::uint64_t stream) {
  return normal(shape, 0, 1, {61, stream}, DType::Float64);
}

}  // namespace glim

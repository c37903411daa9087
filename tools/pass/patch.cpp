#include "tools/pass/patch.hpp"

#include <charconv>
#include <cmath>

#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tools/common/number.hpp"

namespace glim {
namespace {

constexpr std::string_view kHead = "head ";

std::string shortest(double x) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, x).ptr};
}

// Numbers may be negative: from the end.
Tensor along(const Tensor& x, int axis, const std::string& text) {
  const Index extent = x.size(axis);
  auto fail = [&] {
    throw ValueError("part", "'" + text + "' is neither a number nor a range such as 1:3");
  };
  auto colon = text.find(':');
  auto number = [&](const std::string& part, Index otherwise) {
    if (part.empty() && colon != std::string::npos) return otherwise;
    const auto n = number_in<Index>(part);
    if (!n) fail();
    return *n;
  };
  const bool one = colon == std::string::npos;
  Index first = number(text.substr(0, colon), 0);
  if (first < 0) first += extent;
  Index last = one ? first + 1 : number(text.substr(colon + 1), extent);
  if (!one && last < 0) last += extent;
  if (first < 0 || last > extent || first > last)
    throw IndexError("part",
                     text + " is outside an axis of " + std::to_string(extent) + " elements");
  return one ? select(x, axis, first) : narrow(x, axis, first, last - first);
}

}  // namespace

NodeName split_part(const std::string& text) {
  if (auto open = text.find('['); open != std::string::npos) {
    if (text.back() != ']') throw ValueError("part", "'" + text + "' does not end in ]");
    return {text.substr(0, open), text.substr(open + 1, text.size() - open - 2)};
  }
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) return {text, ""};
  const std::string head = text.substr(colon + 1);
  if (number_in<Index>(head).value_or(-1) < 0)
    throw ValueError("part", "'" + text + "': a head is a whole number after ':', from 0 on");
  return {text.substr(0, colon), std::string(kHead) + head};
}

Tensor part_of(const Tensor& x, const std::string& part) {
  if (part.empty()) return x;
  if (part.starts_with(kHead)) {
    const Index head = *number_in<Index>(std::string_view(part).substr(kHead.size()));
    if (x.rank() != 4)
      throw ValueError("part", "has no heads: its shape is " + to_string(x.shape()));
    if (head >= x.size(1))
      throw IndexError("part", "has the heads 0 to " + std::to_string(x.size(1) - 1));
    return select(x, 1, head);
  }
  Tensor y = x;
  std::size_t begin = 0;
  int axis = 0;
  while (begin <= part.size()) {
    std::size_t end = std::min(part.find(',', begin), part.size());
    std::string text = part.substr(begin, end - begin);
    if (axis >= y.rank())
      throw IndexError("part", "[" + part + "] has more places than the shape " +
                                   to_string(x.shape()) + " has axes");
    int before = y.rank();
    y = along(y, axis, text);
    if (y.rank() == before) ++axis;
    begin = end + 1;
  }
  return y;
}

void require_factor(double factor, DType dtype) {
  const double rounded = dtype == DType::Float32 ? static_cast<float>(factor) : factor;
  if (std::isinf(rounded) || (rounded == 0 && factor != 0))
    throw ValueError("factor", shortest(factor) + " is " + shortest(rounded) + " in " +
                                   std::string(name_of(dtype)));
}

Tensor patched(const Patch& patch, const Tensor& x) {
  if (!patch.factor) return {};
  require_factor(*patch.factor, x.dtype());
  const Tensor y = x.clone(), scaled = part_of(y, patch.part);
  if (*patch.factor == 0)
    scaled.fill_(0);
  else
    scaled.copy_(mul(scaled, *patch.factor));
  return y;
}

}  // namespace glim

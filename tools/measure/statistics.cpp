#include "tools/measure/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace glim {

Statistics statistics(const Tensor& x) {
  Statistics s;
  s.count = x.numel();
  double squares = 0, sum = 0;
  Index zeros = 0, finite = 0;
  const Tensor all = x.contiguous();
  visit_dtype(all.dtype(), [&]<class T>() {
    const T* values = all.data<T>();
    for (Index i = 0; i < s.count; ++i) {
      const double v = static_cast<double>(values[i]);
      if (!std::isfinite(v)) continue;
      s.low = finite ? std::min(s.low, v) : v;
      s.high = finite ? std::max(s.high, v) : v;
      squares += v * v;
      sum += v;
      zeros += v == 0;
      ++finite;
    }
  });
  s.not_finite = s.count - finite;
  if (finite == 0) return s;
  s.norm = std::sqrt(squares);
  s.mean = sum / static_cast<double>(finite);
  s.zeros = static_cast<double>(zeros) / static_cast<double>(finite);
  return s;
}

}  // namespace glim

#include "tools/data/images/augment.hpp"

#include <cmath>

#include "tensor/parallel.hpp"
#include "tensor/portable.hpp"

namespace glim {

Tensor augment(const Tensor& images, const Augmentation& o, RandomKey key) {
  Tensor x = images.contiguous(), y = empty(x.shape());
  Index channels = x.size(1), height = x.size(2), width = x.size(3), plane = height * width;
  constexpr double kPi = 3.14159265358979323846;
  parallel_for(x.size(0), 16, [&](Index begin, Index end) {
    for (Index b = begin; b < end; ++b) {
      auto draw = [&](std::uint64_t i) {  // in ±1
        return 2 * uniform_at(key, static_cast<std::uint64_t>(b) * 4 + i) - 1;
      };
      double angle = draw(0) * o.rotation * kPi / 180, c = portable::cos(angle),
             s = portable::sin(angle);
      double down = draw(1) * o.shift, right = draw(2) * o.shift;
      double middle_h = static_cast<double>(height - 1) / 2,
             middle_w = static_cast<double>(width - 1) / 2;
      for (Index h = 0; h < height; ++h)
        for (Index w = 0; w < width; ++w) {
          double u = static_cast<double>(h) - middle_h - down,
                 v = static_cast<double>(w) - middle_w - right;
          double row = c * u + s * v + middle_h, column = -s * u + c * v + middle_w;
          auto top = static_cast<Index>(std::floor(row)),
               left = static_cast<Index>(std::floor(column));
          auto fh = static_cast<float>(row - static_cast<double>(top)),
               fw = static_cast<float>(column - static_cast<double>(left));
          for (Index k = 0; k < channels; ++k) {
            const float* pixels = x.data<float>() + (b * channels + k) * plane;
            auto pixel = [&](Index i, Index j) {
              bool inside = i >= 0 && i < height && j >= 0 && j < width;
              return inside ? pixels[i * width + j] : 0.0f;
            };
            y.data<float>()[(b * channels + k) * plane + h * width + w] =
                (1 - fh) * ((1 - fw) * pixel(top, left) + fw * pixel(top, left + 1)) +
                fh * ((1 - fw) * pixel(top + 1, left) + fw * pixel(top + 1, left + 1));
          }
        }
    }
  });
  return y;
}

}  // namespace glim

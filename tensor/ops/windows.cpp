#include "tensor/ops/windows.hpp"

#include <algorithm>

#include "tensor/error.hpp"
#include "tensor/parallel.hpp"

namespace glim {
namespace {

constexpr Index kLargest = Index{1} << 30;  // sums and products of a few of them fit into int64

// The windows' positions that are within [0, extent): first and last of kernel offsets 0 … k - 1
// for the window that starts at `start`, as a half-open range.
struct Columns {
  Index begin, end;
  // How many of them are adjacent.
  Index run(const Window& w) const { return w.dilation == 1 ? end - begin : 1; }
};
Columns inside(const Window& w, Index start, Index extent) {
  Index begin = start < 0 ? (-start + w.dilation - 1) / w.dilation : 0;
  Index end = start < extent ? (extent - start - 1) / w.dilation + 1 : 0;
  begin = std::min(begin, w.kernel);
  return {begin, std::clamp(end, begin, w.kernel)};
}

// Elements of one piece of work.
Index pieces_of(Index elements) { return std::max<Index>(1, 16384 / std::max<Index>(1, elements)); }

void require_image(const Tensor& x, int rank, std::string_view op) {
  require_floating(x, op);
  if (x.rank() != rank)
    throw ShapeError(op, rank == 4 ? "x must be (B, H, W, C)" : "y must be (B, H', W', kh, kw, C)",
                     {{rank == 4 ? "x" : "y", x}});
}

}  // namespace

void require_sound(const Window& w, std::string_view op) {
  auto in_range = [&](Index v, Index least, const char* name) {
    if (v < least || v > kLargest)
      throw ValueError(op, std::string(name) + " " + std::to_string(v) + " is outside " +
                               std::to_string(least) + " to " + std::to_string(kLargest));
  };
  in_range(w.kernel, 1, "the kernel size");
  in_range(w.stride, 1, "the stride");
  in_range(w.dilation, 1, "the dilation");
  in_range(w.before, 0, "the padding");
  in_range(w.after, 0, "the padding");
}

void require_windows(const Window& w, const Tensor& x, Index axis, std::string_view op) {
  require_sound(w, op);
  if (x.size(axis) > kLargest || x.size(axis) + w.before + w.after < w.span())
    throw ShapeError(op,
                     "no window of " + std::to_string(w.span()) + " fits into " +
                         std::to_string(x.size(axis)) + " positions with " +
                         std::to_string(w.before + w.after) + " of padding",
                     {{"x", x}});
}

Tensor unfold(const Tensor& x, const Window& rows, const Window& columns, double fill) {
  require_image(x, 4, "unfold");
  require_windows(rows, x, 1, "unfold");
  require_windows(columns, x, 2, "unfold");
  Index height = x.size(1), width = x.size(2), c = x.size(3);
  Index h_out = rows.count(height), w_out = columns.count(width);
  Tensor y = empty({x.size(0), h_out, w_out, rows.kernel, columns.kernel, c}, x.dtype());
  if (y.numel() == 0) return y;
  Tensor input = x.contiguous();
  visit_floating(x.dtype(), [&]<class T>() {
    auto blank = static_cast<T>(fill);
    Index line = w_out * rows.kernel * columns.kernel * c;  // one row of windows
    parallel_for(x.size(0) * h_out, pieces_of(line), [&](Index begin, Index end) {
      for (Index r = begin; r < end; ++r) {
        Index top = r % h_out * rows.stride - rows.before;
        const T* image = input.data<T>() + r / h_out * height * width * c;
        T* target = y.data<T>() + r * line;
        for (Index q = 0; q < w_out; ++q) {
          Index left = q * columns.stride - columns.before;
          Columns valid = inside(columns, left, width);
          for (Index i = 0; i < rows.kernel; ++i, target += columns.kernel * c) {
            Index h = top + i * rows.dilation;
            if (h < 0 || h >= height || valid.begin == valid.end) {
              std::fill_n(target, columns.kernel * c, blank);
              continue;
            }
            const T* line_of_x = image + h * width * c;
            std::fill_n(target, valid.begin * c, blank);
            const Index run = valid.run(columns);
            for (Index j = valid.begin; j < valid.end; j += run)
              std::copy_n(line_of_x + (left + j * columns.dilation) * c, run * c, target + j * c);
            std::fill_n(target + valid.end * c, (columns.kernel - valid.end) * c, blank);
          }
        }
      }
    });
  });
  return y;
}

Tensor fold(const Tensor& y, Index height, Index width, const Window& rows, const Window& columns) {
  require_image(y, 6, "fold");
  require_sound(rows, "fold");
  require_sound(columns, "fold");
  Index h_out = y.size(1), w_out = y.size(2), c = y.size(5);
  auto fits = [](const Window& w, Index extent, Index count, Index kernel) {
    return extent >= 0 && extent <= kLargest && extent + w.before + w.after >= w.span() &&
           w.count(extent) == count && w.kernel == kernel;
  };
  if (!fits(rows, height, h_out, y.size(3)) || !fits(columns, width, w_out, y.size(4)))
    throw ShapeError("fold",
                     "y does not hold the windows of an image of " + std::to_string(height) +
                         " x " + std::to_string(width),
                     {{"y", y}});
  Tensor x = empty({y.size(0), height, width, c}, y.dtype());
  if (x.numel() == 0) return x;
  Tensor input = y.contiguous();
  visit_floating(y.dtype(), [&]<class T>() {
    Index window = rows.kernel * columns.kernel * c, line = w_out * window;
    parallel_for(y.size(0) * height, pieces_of(width * c * rows.kernel), [&](Index b, Index e) {
      for (Index r = b; r < e; ++r) {
        T* target = x.data<T>() + r * width * c;
        std::fill_n(target, width * c, T(0));
        for (Index i = 0; i < rows.kernel; ++i) {
          Index top = r % height + rows.before - i * rows.dilation;  // p·stride of the window
          if (top < 0 || top % rows.stride != 0 || top / rows.stride >= h_out) continue;
          const T* windows = input.data<T>() + (r / height * h_out + top / rows.stride) * line +
                             i * columns.kernel * c;
          for (Index q = 0; q < w_out; ++q) {
            Index left = q * columns.stride - columns.before;
            Columns valid = inside(columns, left, width);
            if (valid.begin == valid.end) continue;
            const T* term = windows + q * window;
            const Index run = valid.run(columns);
            for (Index j = valid.begin; j < valid.end; j += run) {
              T* sum = target + (left + j * columns.dilation) * c;
              for (Index k = 0; k < run * c; ++k) sum[k] += term[j * c + k];
            }
          }
        }
      }
    });
  });
  return x;
}

}  // namespace glim

#include "tests/models/conv/quadratic_attention.hpp"

#include <algorithm>

#include "nn/init.hpp"

namespace glim {
namespace {

// r_δ of every query pixel of an image and every key pixel of the image with its margin, as
// (3, T, S), T = H·W, S = (H + 2m)·(W + 2m').
Tensor relative_encoding(Index height, Index width, Extent2 margin, DType dtype) {
  Index h = height + 2 * margin.rows, w = width + 2 * margin.columns;
  Tensor r = empty({3, height * width, h * w}, DType::Float64);
  double *square = r.data<double>(), *down = square + height * width * h * w,
         *right = down + height * width * h * w;
  for (Index q = 0; q < height * width; ++q)
    for (Index k = 0; k < h * w; ++k) {
      auto d1 = static_cast<double>(k / w - margin.rows - q / width);
      auto d2 = static_cast<double>(k % w - margin.columns - q % width);
      *square++ = d1 * d1 + d2 * d2;
      *down++ = d1;
      *right++ = d2;
    }
  return r.to(dtype);
}

}  // namespace

QuadraticAttention::QuadraticAttention(Index in, Index out, Index heads, Index head_width,
                                       Extent2 margin)
    : GLIM_NAMED(centers, empty({heads, 2})),
      GLIM_NAMED(width_parameter, ones({heads})),
      GLIM_NAMED(value_proj, in, heads * head_width, false),
      GLIM_NAMED(out_proj, heads * head_width, out),
      in_(in),
      heads_(heads),
      head_width_(head_width),
      margin_(margin) {
  normal_(centers.value(), 0, 1);
}

Var QuadraticAttention::forward(const Var& x) {
  Index b = x.size(0), height = x.size(2), width = x.size(3), t = height * width;
  Index h = height + 2 * margin_.rows, w = width + 2 * margin_.columns, s = h * w;
  // Zeros around the image, then pixels as rows: (B, C, H, W) -> (B, h, w, C) -> (B, S, C)
  Var image = permute(x, {0, 2, 3, 1});
  image = unslice(image, {b, h, width, in_}, 1, margin_.rows);
  image = unslice(image, {b, h, w, in_}, 2, margin_.columns);
  Var value = value_proj(reshape(image, {b, s, in_}));  // (B, S, heads·D_h)
  value = permute(reshape(value, {b, s, heads_, head_width_}), {0, 2, 1, 3});

  // v_h = -α (1, -2Δ): (heads, 3), times r_δ (3, T·S)
  Var direction = concatenate({Var(ones({heads_, 1}, x.dtype())), -2 * centers}, 1);
  Var encoding = named(-(unsqueeze(width_parameter, 1) * direction), "encoding");
  Tensor r = relative_encoding(height, width, margin_, x.dtype());
  Var scores = reshape(matmul(encoding, Var(reshape(r, {3, t * s}))), {1, heads_, t, s});

  // W_qry = W_key = 0: the scores do not depend on the content.
  Var query(zeros({b, heads_, t, 1}, x.dtype())), key(zeros({b, heads_, s, 1}, x.dtype()));
  Var context = scaled_dot_product_attention(query, key, value, {{}, scores}).context;
  // (B, heads, T, D_h) -> (B, T, heads·D_h) -> (B, T, D_out) -> (B, D_out, H, W)
  Var joined = reshape(permute(context, {0, 2, 1, 3}), {b, t, heads_ * head_width_});
  Var y = out_proj(joined);
  return permute(reshape(y, {b, height, width, y.size(-1)}), {0, 3, 1, 2});
}

std::unique_ptr<QuadraticAttention> attention_from(const Conv2d& conv, double alpha) {
  auto fail = [](const std::string& problem) { throw ValueError("attention_from", problem); };
  const Window &rows = conv.rows(), &columns = conv.columns();
  for (const Window* w : {&rows, &columns}) {
    if (w->kernel % 2 == 0) fail("an even kernel has no pixel in its centre");
    if (w->stride != 1) fail("attention has as many outputs as queries: the stride must be 1");
    if (2 * w->before != w->span() - 1)
      fail("the padding must be " + std::to_string((w->span() - 1) / 2) + ", not " +
           std::to_string(w->before));
  }
  if (conv.groups() != 1) fail("a convolution in groups has a kernel for a part of the channels");
  if (!(alpha > 0)) fail("α must be above 0");
  Index out = conv.weight.size(0), in = conv.weight.size(1), width = std::min(in, out);
  Index heads = rows.kernel * columns.kernel;
  DType dtype = conv.weight.dtype();
  auto layer = std::make_unique<QuadraticAttention>(in, out, heads, width,
                                                    Extent2(rows.before, columns.before));
  layer->to(dtype);
  layer->width_parameter.value().fill_(alpha);
  Tensor identity = eye(width, dtype);
  for (Index i = 0; i < rows.kernel; ++i)
    for (Index j = 0; j < columns.kernel; ++j) {
      Index head = i * columns.kernel + j;
      Tensor center = select(layer->centers.value(), 0, head);
      select(center, 0, 0).fill_(static_cast<double>(i * rows.dilation - rows.before));
      select(center, 0, 1).fill_(static_cast<double>(j * columns.dilation - columns.before));
      // The kernel's matrix (D_out, D_in) at this offset, as out · value, one of them the identity.
      Tensor kernel = select(select(conv.weight.value(), 3, j), 2, i);
      narrow(layer->value_proj.weight.value(), 0, head * width, width)
          .copy_(out <= in ? kernel : identity);
      narrow(layer->out_proj.weight.value(), 1, head * width, width)
          .copy_(out <= in ? identity : kernel);
    }
  layer->out_proj.bias = conv.bias.defined() ? conv.bias.value() : zeros({out});
  return layer;
}

}  // namespace glim

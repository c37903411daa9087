#include "autograd/kernels/label_smoothing.hpp"

#include "autograd/kernels/rows.hpp"
#include "tensor/matmul/matmul.hpp"

namespace glim::kernels {
namespace {

// Logits of one chunk: 2²² numbers, 16 MiB in float32.
Index rows_per_chunk(Index classes) {
  return std::max<Index>(64, (Index{1} << 22) / std::max<Index>(1, classes));
}

}  // namespace

CrossEntropyRows::CrossEntropyRows(Index count)
    : cross(empty({count}, DType::Float64)), nll(empty({count}, DType::Float64)) {}

LossSums CrossEntropyRows::sum(const Tensor& target, const Smoothing& s, Index classes) const {
  LossSums total;
  const Index* t = target.data<Index>();
  for (Index r = 0; r < target.numel(); ++r) {
    total.tokens += t[r] != s.pad;
    total.smoothed_ce += cross.data<double>()[r];
    total.nll += nll.data<double>()[r];
  }
  total.kl = total.smoothed_ce - s.entropy(total.tokens, classes);
  return total;
}

void cross_entropy(const Tensor& logits, const Tensor& target, Index begin, const Smoothing& s,
                   const Tensor& stats, const CrossEntropyRows& out) {
  Rows in = rows_of(logits);
  SmoothedTarget q = s.distribution(in.columns);
  each_rows(in, [&]<class T>(Index first, Index end) {
    dispatch<simd::cross_entropy<T>>(
        q, end - first, in.columns, in.at<T>(first), in.ld, target.data<Index>() + begin + first,
        stats.data<T>() + 2 * first, out.cross.data<double>() + begin + first,
        out.nll.data<double>() + begin + first);
  });
}

void cross_entropy_grad(const Tensor& logits, const Tensor& target, Index begin, const Smoothing& s,
                        const Tensor& stats, double dy, const Tensor& dx) {
  Rows in = rows_of(logits);
  SmoothedTarget q = s.distribution(in.columns);
  each_rows(in, [&]<class T>(Index first, Index end) {
    dispatch<simd::cross_entropy_grad<T>>(q, end - first, in.columns, in.at<T>(first), in.ld,
                                          target.data<Index>() + begin + first,
                                          stats.data<T>() + 2 * first, static_cast<T>(dy),
                                          dx.data<T>() + first * in.columns, in.columns);
  });
}

CrossEntropyRows LinearCrossEntropy::run(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                         const Tensor& target, const Smoothing& s,
                                         const Gradients& d) {
  const Index count = x.size(0), chunk = rows_per_chunk(weight.size(0));
  CrossEntropyRows out(count);
  if (d.weight.defined() && count == 0) d.weight.fill_(0);  // no chunk writes it
  if (d.bias.defined()) d.bias.fill_(0);
  for (Index begin = 0; begin < count; begin += chunk) {
    Tensor part = narrow(x, 0, begin, std::min(chunk, count - begin));
    Tensor u = matmul_then(part, transpose(weight), {bias, false, nullptr});  // (rows, V)
    Tensor stats = empty({u.size(0), 2}, x.dtype());
    cross_entropy(u, target, begin, s, stats, out);
    if (!d.x.defined() && !d.weight.defined() && !d.bias.defined()) continue;
    cross_entropy_grad(u, target, begin, s, stats, 1, u);
    if (d.x.defined()) matmul_into(narrow(d.x, 0, begin, u.size(0)), u, weight, 1, 0);
    if (d.weight.defined()) matmul_into(d.weight, transpose(u), part, 1, begin > 0 ? 1 : 0);
    if (d.bias.defined()) add_(d.bias, sum_of_rows(u));
  }
  return out;
}

}  // namespace glim::kernels

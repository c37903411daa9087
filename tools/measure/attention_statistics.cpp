#include "tools/measure/attention_statistics.hpp"

#include <algorithm>
#include <cmath>

#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/portable.hpp"

namespace glim {

HeadStatistics head_statistics(const Tensor& probs, const Tensor& keep) {
  require_floating(probs, "head_statistics");
  if (probs.rank() != 2)
    throw with_operands(ShapeError("head_statistics", "probs must be (T, S)"),
                        NamedOperand{"probs", probs});
  if (keep.defined() && keep.shape() != probs.shape())
    throw with_operands(ShapeError("head_statistics", "keep must have the shape of probs"),
                        NamedOperand{"probs", probs}, NamedOperand{"keep", keep});
  Index rows = probs.size(0), columns = probs.size(1);
  std::vector<double> p = probs.to(DType::Float64).to_vector<double>();
  std::vector<bool> may(p.size(), true);
  if (keep.defined()) may = keep.to_vector<bool>();
  HeadStatistics out;
  double entropies = 0, left = 0, distances = 0;
  Index with_keys = 0, with_choice = 0;
  for (Index i = 0; i < rows; ++i) {
    double h = 0, trace = 0;
    Index n = 0;
    for (Index j = 0; j < columns; ++j) {
      auto index = static_cast<std::size_t>(i * columns + j);
      if (!may[index]) continue;
      ++n;
      if (p[index] > 0) h -= p[index] * portable::log(p[index]);
      trace += p[index] * (1 - p[index]);
      distances += p[index] * static_cast<double>(std::abs(i - j));
    }
    out.row_entropy.push_back(n > 0 ? h : kNan);
    if (n > 0) entropies += h, ++with_keys;
    if (n > 1) left += trace / (1 - 1 / static_cast<double>(n)), ++with_choice;
  }
  out.entropy = with_keys > 0 ? entropies / static_cast<double>(with_keys) : kNan;
  out.distance = with_keys > 0 ? distances / static_cast<double>(with_keys) : kNan;
  out.saturation = with_choice > 0 ? 1 - left / static_cast<double>(with_choice) : kNan;
  return out;
}

double largest_score(const Tensor& scores, const Tensor& keep) {
  const auto s = scores.to(DType::Float64).to_vector<double>();
  const std::vector<bool> may = keep.to_vector<bool>();
  double largest = kNan;
  for (std::size_t i = 0; i < s.size(); ++i)
    if (may[i] && !(std::abs(s[i]) <= largest)) largest = std::abs(s[i]);
  return largest;
}

bool is_attention(std::string_view op, std::string_view label) {
  return label == "probs" && (op == "softmax" || op == "masked_softmax");
}

Tensor keep_of(const Tensor& probs, const RunAgain& run) {
  const Tensor even = run({zeros(probs.shape(), probs.dtype())}).value();
  return not_equal(select(reshape(even, {-1, even.size(-2), even.size(-1)}), 0, 0), 0).contiguous();
}

std::string without_step(const std::string& scope) {
  std::string kept;
  for (std::size_t begin = 0; begin < scope.size();) {
    std::size_t end = std::min(scope.find('.', begin), scope.size());
    std::string part = scope.substr(begin, end - begin);
    bool step = part.size() > 1 && part[0] == 't' &&
                part.find_first_not_of("0123456789", 1) == std::string::npos;
    if (!step) kept += (kept.empty() ? "" : ".") + part;
    begin = end + 1;
  }
  return kept;
}

}  // namespace glim

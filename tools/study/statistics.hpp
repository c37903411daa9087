// The statistics that studies measure with.
//
//   line             y ≈ a + b x by least squares; R² = 1 - Σ(y - a - b x)²/Σ(y - ȳ)²
//   power law        y ≈ c x^b: the line through (ln x, ln y); b is what "grows as" means
//   Spearman         Pearson's correlation of the ranks, equal values sharing their mean rank
//                    (Spearman 1904)
//   spectral norm    ‖A‖₂ = max ‖A v‖/‖v‖, by power iteration on AᵀA
//   residual         res(X) = X - 1 x̄ᵀ, x̄ the mean row: the rank-one part nearest in ‖·‖_F is
//                    taken away (Dong et al. 2021, section 2)
//
// Two lists have the same size. A result that the values do not define, as the slope of one point, is not finite.
#pragma once

#include <vector>

#include "tensor/tensor.hpp"

namespace glim {

double mean_of(const std::vector<double>& x);       // NaN of nothing
double deviation_of(const std::vector<double>& x);  // of the sample, by n - 1; 0 for one value

struct Line {
  double intercept = 0, slope = 0, r2 = 0;  // r2: 1 when y is constant
};
Line fit_line(const std::vector<double>& x, const std::vector<double>& y);
Line fit_power_law(const std::vector<double>& x, const std::vector<double>& y);

// From 1; equal values have the mean of their ranks.
std::vector<double> ranks_of(const std::vector<double>& x);
double pearson(const std::vector<double>& x, const std::vector<double>& y);  // NaN: one is constant
double spearman(const std::vector<double>& x, const std::vector<double>& y);

// Fresh draws of N(0, 1).
Tensor gaussian(const Shape& shape, DType dtype = DType::Float32);
// The norms of the rows of x (..., D).
std::vector<double> row_norms(const Tensor& x);
// (M, N). Stops when the estimate moves by less than 1e-12 of itself, after 10,000 rounds at most.
double spectral_norm(const Tensor& a);
// (..., T, D) -> the same shape.
Tensor token_residual(const Tensor& x);
// ‖res(X)‖_F/‖X‖_F: 0 when all tokens are equal, near 1 when they point anywhere.
double relative_residual(const Tensor& x);

}  // namespace glim

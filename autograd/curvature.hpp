// Curvature: eigenvalues of the Hessian H of a loss, by Lanczos' method on Hessian-vector products. H is never formed.
//
//   q₁ random, ‖q₁‖ = 1; for j = 1, 2, ..., m:
//     w = H q_j                                  one product: a backward pass over the recorded gradient
//     α_j = q_jᵀ w;  w ← w - Q Qᵀ w, twice       full reorthogonalisation, Q = [q₁ ... q_j]
//     β_j = ‖w‖;  q_{j+1} = w/β_j
//   T = tridiagonal (α, β) = S Θ Sᵀ              Ritz values θ_i approach eigenvalues, the outermost first
//   ‖H y_i - θ_i y_i‖ = β_m |S_mi|               the residual: some eigenvalue is no farther from θ_i
//
// With a preconditioner P (one positive number a weight) the matrix is P^-½ H P^-½, whose eigenvalues are those of P⁻¹H.
// Adam's P is √v̂ + ε: its steps are stable below a largest eigenvalue of threshold/η (Optimizer::stability).
//
// Density (Lin, Saad & Yang 2016; Ghorbani et al. 2019, arXiv 1901.10159), of width σ, from random starts q₁:
//
//   φ(t) = 1/n Σ_i N(t; λ_i, σ²)  ≈  mean over the starts of Σ_i S_1i² N(t; θ_i, σ²)
//
// An eigenvalue that occurs several times is found once. H is what the rules of the ops say: at a kink (relu, abs, max)
// it takes the slope as constant, so that what the kinks add to the curvature is not in it. kinks() names them, but for those that are made by `where`, as leaky_relu.
// Products of float32 are right to about 1e-4 of the largest eigenvalue, those of float64 to 1e-13.
//
// Lanczos 1950; Pearlmutter 1994; Golub & Welsch 1969. The same bits for any number of threads.
#pragma once

#include <functional>
#include <optional>

#include "autograd/tape.hpp"
#include "tensor/random.hpp"

namespace glim {

struct Ritz {
  std::vector<double> values;     // ascending
  std::vector<double> residuals;  // of each
  std::vector<double> weights;    // S_1i²
  Index products() const { return static_cast<Index>(values.size()); }
};

struct LanczosOptions {
  Index largest = 1;  // the largest eigenvalues by value, and as many by size, that are to converge
  Index lowest = 0;   // and the lowest
  double tolerance = 1e-8;  // of residuals, relative to the largest value by size; 0: all steps
  Index steps = 300;        // at most
  RandomKey start = {};     // of q₁
};
// Ritz values of a symmetric n × n matrix. `product` multiplies it by a vector (n,) of float64.
Ritz lanczos(Index n, const std::function<Tensor(const Tensor&)>& product,
             const LanczosOptions& options);

struct Density {
  std::vector<double> points, density, error;  // error: of the mean over the starts
  double distance;  // the integral of the error, of a density whose integral is 1
};
// On 200 points, with σ = 2 % of the range.
Density density_of(const std::vector<Ritz>& starts);

// The Hessian of a loss of one element, with regard to leaves of the tape. Its gradient is recorded once.
class Hessian {
 public:
  // With P: a tensor for each x, of its shape and dtype. ValueError naming a leaf that the loss does not read, a loss made
  // of kinks whose gradient is constant, and elements of P that are not positive.
  Hessian(Tape& tape, const Var& loss, std::vector<Var> xs, const std::vector<Tensor>& p = {});
  // Takes another P.
  void precondition(const std::vector<Tensor>& p);
  // Elements of all leaves; of leaf `block` alone.
  Index size(std::optional<std::size_t> block = {}) const;
  // H v, v (size,) float64. NonFiniteError naming the op at which a derivative is not finite.
  Tensor operator()(const Tensor& v, std::optional<std::size_t> block = {}) const;
  Ritz lanczos(LanczosOptions options, std::optional<std::size_t> block = {}) const;
  // "relu at encoder.linear1.relu", each op with a kink.
  const std::vector<std::string>& kinks() const { return kinks_; }
  bool float32() const;

 private:
  std::string name_of(std::size_t k) const;
  Tape& tape_;
  std::vector<Var> xs_, gradients_;
  std::vector<Tensor> scales_;  // P^-½
  std::vector<std::string> kinks_;
};

}  // namespace glim

// Muon (Jordan et al. 2024, https://kellerjordan.github.io/posts/muon), as torch.optim.Muon: momentum whose singular values
// are all made about 1. For the matrices of hidden layers; AdamW updates all other parameters. Of a matrix θ (A, B):
//
//   m ← μ m + (1 - μ) g                the state exp_avg, torch's momentum_buffer
//   u = μ m + (1 - μ) g                with nesterov, else m
//   X = u/max(‖u‖, ε), transposed if A > B;  five times:
//     X ← a X + (b X Xᵀ + c (X Xᵀ)²) X               Newton-Schulz, (a, b, c) = (3.4445, -4.7750, 2.0315)
//   θ ← θ - η λ θ - η s X              s = √max(1, A/B), or 0.2 √max(A, B), about the size of AdamW's updates (Liu et al.
//                                      2025, arXiv 2502.16982), so that rate and decay of AdamW fit
//
// X = U S Vᵀ ends with singular values of about 0.7 to 1.2 in the place of u's. torch computes it in bfloat16, and here it
// is computed in the parameter's dtype. exp_avg_sq of matrices stays 0.
//
// Its transpose, with G = X Xᵀ and P = b G + c G² of each of the five steps, from the last to the first:
//
//   dX = -η s dθ;   dP = dX Xᵀ,  dG = b dP + c (dP G + G dP),  dX ← a dX + P dX + (dG + dGᵀ) X
//   du = (dX - X ⟨X, dX⟩)/‖u‖          of the first X
//   dm ← dm + μ du,  dg = (1 - μ)(dm + du)     with nesterov; else dm ← dm + du,  dg = (1 - μ) dm
//   dm ← μ dm,  dθ ← (1 - η λ) dθ
//
// ValueError for a matrix of another rank than 2, momentum outside [0, 1), a negative ε, or steps outside 0 to 99.
#pragma once

#include <array>
#include <set>

#include "optim/adam.hpp"

namespace glim {

struct MuonOptions {
  double rate = 1e-3, weight_decay = 0.1, momentum = 0.95;
  bool nesterov = true;
  std::array<double, 3> coefficients{3.4445, -4.7750, 2.0315};
  double eps = 1e-7;
  Index steps = 5;
  bool match_rms_adamw = false;  // s = 0.2 √max(A, B)
};

class Muon final : public Adam {
 public:
  // `others`: parameters of AdamW, with its betas and eps, and the rate and decay of Muon; the decay is of matrices only.
  explicit Muon(const NamedParameters& matrices, MuonOptions options = {},
                const NamedParameters& others = {}, AdamOptions adam = {});

  // u with singular values of about 1, u (A, B).
  static Tensor orthogonal(const Tensor& u, const MuonOptions& options = {});

 private:
  bool update_whole(const Slot& slot) const override;
  Adjoint transposed(const Slot& slot, const Adjoint& after) const override;
  Tensor divisor(const Slot& slot) const override { return Optimizer::divisor(slot); }
  double threshold() const override { return Optimizer::threshold(); }
  double size_of(const Shape& shape) const;  // s
  MuonOptions options_;
  std::set<std::string> matrices_;
};

}  // namespace glim

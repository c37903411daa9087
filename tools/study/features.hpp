// Features of examples (the activations before the logits), and how they cluster by class.
#pragma once

#include <string>
#include <vector>

#include "tensor/tensor.hpp"
#include "tools/study/study.hpp"

namespace glim {

struct Features {
  Tensor rows;                 // (N, D) float64
  std::vector<Index> classes;  // N
};

// x (N, D) and indices -> (n, D).
Tensor rows_of(const Tensor& x, const std::vector<Index>& rows);

// How tightly rows h cluster about the mean of their class:
//   Σ_n ‖h_n - μ_c(n)‖² / Σ_n ‖μ_c(n) - μ‖²      0 where each class is a point
// Classes with fewer than `least` rows are left out. ValueError when fewer than two are left.
double cluster_spread(const Features& f, Index least);

// The picture of Müller et al. 2019: the three most frequent classes, up to 100 rows of each, on the
// plane through their means.
void draw_plane(const Features& f, const std::string& plot, Measurement& m);

}  // namespace glim

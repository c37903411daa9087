// Predictions of what leaving examples out of a training does, beside trainings without them.
//
// A method gives each example a score, which stands for ∂q/∂w_i. Leaving out the examples S changes q by -Σ_{i in S} score_i,
// it predicts. ρ is Spearman's correlation of predicted and measured changes over random S, the mean over the queries
// (the linear datamodeling score of Park et al. 2023, arXiv 2303.14186).
//
//   exact         ∂q/∂w_i through the training                                   optim/trace.hpp
//   dot product   -∇q · ∇ℓ_i, at the end of the training
//   TracIn        -Σ_t η_t ∇q · ∇ℓ_i, at the states that the trace keeps          Pruthi et al. 2020, arXiv 2002.08484
//   BM25          -score of the example's words for those of the query           Robertson & Zaragoza 2009
#pragma once

#include <string>
#include <vector>

#include "optim/trace.hpp"

namespace glim {

using Scores = std::vector<std::vector<double>>;  // of each query, of each example

Scores exact_scores(TrainingTrace& trace, const TrainingTrace::Query& query);
Scores dot_scores(TrainingTrace& trace, const TrainingTrace::Query& query);
Scores tracin_scores(TrainingTrace& trace, const TrainingTrace::Query& query);
// k₁ = 1.2, b = 0.75.
Scores bm25_scores(const std::vector<std::vector<std::string>>& queries,
                   const std::vector<std::vector<std::string>>& examples);

struct Removals {
  std::vector<std::vector<Index>> left_out;   // of each training
  std::vector<std::vector<double>> measured;  // of each training, of each query
  // ρ of each query. It is NaN where all predicted or all measured changes are one number.
  std::vector<double> correlations(const Scores& scores) const;
};
// `times` trainings, each without a random share of the examples. ValueError for a share outside (0, 1) or that is no example.
Removals removals(TrainingTrace& trace, const TrainingTrace::Query& query, double share, int times,
                  std::uint64_t seed);

}  // namespace glim

// Learning rates by step. Steps count from 1; step 0 is read as 1.
//
//   noam          factor · d^-½ · min(s^-½, s · warmup^-3/2)         Vaswani et al. 2017, eq. 3
//   inverse_sqrt  s < warmup: start + s (peak - start)/warmup        fairseq's schedule
//                 then        peak · √(warmup/s)
//   cosine        s ≤ warmup: peak · s/warmup                        Loshchilov & Hutter 2017
//                 s ≤ total:  floor + ½(peak - floor)(1 + cos(π (s - warmup)/(total - warmup)))
//                 then        floor
//   constant      rate
//
// ValueError for rates or factors that are negative or not finite, a negative warmup or step, and
// cosine unless warmup < total. noam and inverse_sqrt read a warmup of 0 as 1.
#pragma once

#include <functional>
#include <string>

#include "tensor/shape.hpp"

namespace glim {

struct Schedule {
  std::string options;                  // "noam: factor 1, d_model 512, warmup 4000"
  Index peak_step;                      // with the largest rate of all steps
  std::function<double(double)> curve;  // the rate of a step from 1 on

  double rate(Index step) const;
  double peak() const { return rate(peak_step); }
  // "noam: factor 1, d_model 512, warmup 4000; peak rate 0.0006988 at step 4000"
  std::string describe() const;
};

Schedule noam_schedule(Index d_model, Index warmup, double factor = 1);
Schedule inverse_sqrt_schedule(double peak, Index warmup, double start = 0);  // start <= peak
Schedule cosine_schedule(double peak, Index warmup, Index total,
                         double floor = 0);  // floor <= peak
Schedule constant_schedule(double rate);

}  // namespace glim

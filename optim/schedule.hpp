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

#include <string>

#include "tensor/shape.hpp"

namespace glim {

class Schedule {
 public:
  virtual ~Schedule() = default;
  double rate(Index step) const;
  // The largest rate of all steps, and when.
  double peak() const { return rate(peak_step()); }
  virtual Index peak_step() const = 0;
  // "noam: factor 1, d_model 512, warmup 4000; peak rate 0.0006988 at step 4000"
  std::string describe() const;

 protected:
  virtual double at(Index step) const = 0;  // step >= 1
  virtual std::string options() const = 0;  // "noam: factor 1, d_model 512, warmup 4000"
};

class NoamSchedule final : public Schedule {
 public:
  NoamSchedule(Index d_model, Index warmup, double factor = 1);
  Index peak_step() const override { return warmup_; }

 private:
  double at(Index step) const override;
  std::string options() const override;
  Index d_model_, warmup_;
  double factor_;
};

class InverseSqrtSchedule final : public Schedule {
 public:
  InverseSqrtSchedule(double peak, Index warmup, double start = 0);  // start <= peak
  Index peak_step() const override { return warmup_; }

 private:
  double at(Index step) const override;
  std::string options() const override;
  double peak_;
  Index warmup_;
  double start_;
};

class CosineSchedule final : public Schedule {
 public:
  CosineSchedule(double peak, Index warmup, Index total, double floor = 0);  // floor <= peak
  Index peak_step() const override { return warmup_ > 0 ? warmup_ : 1; }

 private:
  double at(Index step) const override;
  std::string options() const override;
  double peak_;
  Index warmup_, total_;
  double floor_;
};

class ConstantSchedule final : public Schedule {
 public:
  explicit ConstantSchedule(double rate);
  Index peak_step() const override { return 1; }

 private:
  double at(Index) const override { return rate_; }
  std::string options() const override { return "constant"; }
  double rate_;
};

}  // namespace glim

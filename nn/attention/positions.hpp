// Positions are added to a sequence along its time axis, whatever the batch.
//
//   y[b, t] = Dropout(x[b, t] + PE(offset + t))      x, y: (..., T, D)
//
// Sinusoidal (Vaswani et al. 2017, section 3.5), a table that is neither trained nor saved:
//   PE(p, 2i) = sin(p / base^(2i/D))      PE(p, 2i+1) = cos(p / base^(2i/D))
// so PE(p + k) is PE(p) rotated by the angles k / base^(2i/D). The table grows when a sequence
// reaches beyond it, and is exact in the dtype of x.
//
// Learned (Gehring et al. 2017, section 3.1): PE(p) is row p of a trained weight (max_len, D),
// at first N(0, 1). A position beyond the table is an IndexError.
//
// `offset` is the position of the first element, for decoding step by step. ShapeError where
// x is not (..., T, D); ValueError for a negative offset.
#pragma once

#include "nn/dropout.hpp"

namespace glim {

// Rows [first, first + length) of the sinusoidal table: (length, D). ValueError for base <= 0.
Tensor sinusoidal_positions(Index first, Index length, Index d_model, double base = 10000,
                            DType dtype = DType::Float32);

class PositionalEncoding : public Callable<PositionalEncoding> {
 public:
  Child<Dropout> dropout;

 protected:
  PositionalEncoding(Index d_model, double dropout_p);
  void check(const Var& x, Index offset) const;  // shape and offset
  Index d_model_;

 private:
  friend Callable;
  virtual Var forward(const Var& x, Index offset = 0) = 0;
};

class SinusoidalPositionalEncoding : public PositionalEncoding {
 public:
  explicit SinusoidalPositionalEncoding(Index d_model, double dropout = 0.1, Index max_len = 5000,
                                        double base = 10000);

  Buffer table;  // (rows so far, D)

 private:
  Var forward(const Var& x, Index offset = 0) override;
  double base_;
  DType computed_in_ = DType::Float32;  // a table converted from float32 is not exact in float64
};

class LearnedPositionalEmbedding : public PositionalEncoding {
 public:
  explicit LearnedPositionalEmbedding(Index d_model, double dropout = 0.1, Index max_len = 5000);

  Param weight;  // (max_len, D)

 private:
  Var forward(const Var& x, Index offset = 0) override;
};

// For models whose positions are attention's part (nn/attention/relative_positions.hpp): Dropout(x).
class NoPositionalEncoding : public PositionalEncoding {
 public:
  explicit NoPositionalEncoding(Index d_model, double dropout_p = 0.1)
      : PositionalEncoding(d_model, dropout_p) {}

 private:
  Var forward(const Var& x, Index offset = 0) override;
};

}  // namespace glim

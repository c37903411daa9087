// Positions that are added to a sequence along its time axis, whatever the batch.
//
//   y[b, t] = Dropout(x[b, t] + PE(offset + t))      x, y: (..., T, D)
//
// Sinusoidal (Vaswani et al. 2017, section 3.5), a table that is neither trained nor saved:
//   PE(p, 2i) = sin(p / base^(2i/D))      PE(p, 2i+1) = cos(p / base^(2i/D))
// so PE(p + k) is PE(p) rotated by the angles k / base^(2i/D). The table grows with the sequence, and is exact in
// the dtype of x.
//
// Learned (Gehring et al. 2017, section 3.1): PE(p) is row p of a trained weight (max_len, D),
// at first N(0, 1). A position beyond the table is an IndexError.
//
// The others add nothing: Dropout(x). Rotary and ALiBi are a part of attention (nn/attention/relative_positions.hpp).
//
// `offset` is the position of the first element, for decoding step by step. ShapeError where
// x is not (..., T, D); ValueError for a negative offset.
#pragma once

#include "nn/choice.hpp"
#include "nn/dropout.hpp"

namespace glim {

enum class Positions { Sinusoidal, Learned, Rotary, Alibi, None };
template <>
inline const ChoiceNames<Positions> kNames<Positions>{{{"sinusoidal", Positions::Sinusoidal},
                                                       {"learned", Positions::Learned},
                                                       {"rotary", Positions::Rotary},
                                                       {"alibi", Positions::Alibi},
                                                       {"none", Positions::None}}};
// True if attention has the positions, and nothing is added to the embeddings.
inline bool is_relative(Positions p) { return p == Positions::Rotary || p == Positions::Alibi; }

// Rows [first, first + length) of the sinusoidal table: (length, D). ValueError for base <= 0.
Tensor sinusoidal_positions(Index first, Index length, Index d_model, double base = 10000,
                            DType dtype = DType::Float32);

// A sinusoidal table that keeps all rows up to the last one asked for.
class SinusoidalTable {
 public:
  SinusoidalTable(Index width, double base)
      : base_(base), table_(sinusoidal_positions(0, 0, width, base)) {}
  Tensor rows(Index first, Index length, DType dtype);

 private:
  double base_;
  Tensor table_;
};

// ShapeError unless x is (..., T, width), ValueError unless the offset is in [0, 2^53].
void require_sequence(std::string_view op, const Var& x, Index width, Index offset);

class PositionalEncoding : public Callable<PositionalEncoding> {
 public:
  // max_len: of learned positions; base: of sinusoidal ones.
  PositionalEncoding(Positions kind, Index d_model, double dropout = 0.1, Index max_len = 5000,
                     double base = 10000);

  Positions kind() const { return kind_; }
  double base() const { return base_; }
  // PE(0) … PE(length - 1), of a shorter learned table all of it: (., D) float64. Undefined where nothing is added.
  Tensor table(Index length) const;

  Child<Dropout> dropout;
  Param weight;  // learned positions (max_len, D)

  Var forward(const Var& x, Index offset = 0);

 private:
  Positions kind_;
  Index d_model_;
  double base_;
  SinusoidalTable table_;
};

}  // namespace glim

// The vector of a whole sequence: that of its first position (of an image: the class token), or the mean.
#pragma once

#include "nn/choice.hpp"

namespace glim {

enum class Pooling { First, Mean };
template <>
inline const ChoiceNames<Pooling> kNames<Pooling>{
    {{"first", Pooling::First}, {"mean", Pooling::Mean}}};

}  // namespace glim

// Choices that layers and models take as words. Most are those of options and files (nn/choice.hpp).
#pragma once

#include <string>

#include "nn/choice.hpp"
#include "nn/loss.hpp"
#include "nn/recurrent/cell.hpp"
#include "nn/vision/conv.hpp"
#include "nn/vision/pooling.hpp"

namespace glim::python {

template <class E>
inline const ChoiceNames<E>& kWords = kNames<E>;  // a copy could be made before the names are there
template <>
inline const ChoiceNames<CellKind> kWords<CellKind>{{{"gru", CellKind::Gru},
                                                     {"lstm", CellKind::Lstm},
                                                     {"tanh", CellKind::Tanh},
                                                     {"relu", CellKind::Relu}}};
template <>
inline const ChoiceNames<Reduction> kWords<Reduction>{
    {{"none", Reduction::None}, {"mean", Reduction::Mean}, {"sum", Reduction::Sum}}};
template <>
inline const ChoiceNames<GeluForm> kWords<GeluForm>{
    {{"erf", GeluForm::Erf}, {"tanh", GeluForm::Tanh}}};
template <>
inline const ChoiceNames<Pool> kWords<Pool>{{{"max", Pool::Max}, {"average", Pool::Average}}};
template <>
inline const ChoiceNames<ConvPadding> kWords<ConvPadding>{
    {{"given", ConvPadding::Given}, {"same", ConvPadding::Same}, {"causal", ConvPadding::Causal}}};

}  // namespace glim::python

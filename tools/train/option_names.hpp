// The options that name the choices of a model (models/pipeline/choices.hpp), or of its training.
#pragma once

#include <initializer_list>
#include <string>

#include "models/decoding/scheduled_sampling.hpp"
#include "models/pipeline/choices.hpp"
#include "tools/common/nearest.hpp"

namespace glim {

template <>
inline const ChoiceNames<SamplingSchedule> kNames<SamplingSchedule>{
    {{"constant", SamplingSchedule::Constant},
     {"linear", SamplingSchedule::Linear},
     {"exponential", SamplingSchedule::Exponential},
     {"inverse-sigmoid", SamplingSchedule::InverseSigmoid}}};

// ValueError naming the option and its choices.
template <class E>
E parse_choice(const std::string& option, const std::string& name,
               const ChoiceNames<E>& choices = kNames<E>) {
  return choices.parse("--" + option, name, did_you_mean(name, choices.names()));
}

inline void one_of(const std::string& option, const std::string& value,
                   std::initializer_list<const char*> known) {
  ChoiceNames<int> names;
  for (const char* k : known) names.list.emplace_back(k, 0);
  parse_choice(option, value, names);
}

}  // namespace glim

// What a mutated source calls at each point (build.py): is this the mutant to be?
//
// GLIM_MUTANT in the environment names one. Every point that is passed leaves a mark.
#pragma once

#include <type_traits>

extern "C" {
extern int glim_mutant_chosen;
extern unsigned char glim_mutants_passed[];
}

[[gnu::always_inline]] static inline bool glim_mutant(int number) {
  __atomic_store_n(&glim_mutants_passed[number], 1, __ATOMIC_RELAXED);
  return glim_mutant_chosen == number;
}

// x in the type of what it replaces; a number as a vector of it.
template <class R, class X>
requires std::is_convertible_v<const X&, R> || requires(const X& x) { R(x - R{}); }
[[gnu::always_inline]] static inline R glim_as(const X& x) {
  if constexpr (std::is_convertible_v<const X&, R>)
    return x;
  else
    return x - R{};
}

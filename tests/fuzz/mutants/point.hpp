// A mutated source calls this at each point (build.py): is this the mutant to be?
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

// x in place of an expression of type R (an lvalue's is a reference): an object in place of an object, so that what is
// done to it is not done to a copy; else a value in the type of what it replaces; a number as a vector of it.
template <class R>
concept GlimObject = std::is_lvalue_reference_v<R> && std::is_class_v<std::remove_cvref_t<R>>;
template <class R, class X, class V = std::remove_cvref_t<R>>
requires(GlimObject<R> ? std::is_convertible_v<X, R>&& std::is_lvalue_reference_v<X>
                       : std::is_convertible_v<const X&, V> || requires(const X& x) { V(x - V{}); })
    [[gnu::always_inline]] static inline std::conditional_t<GlimObject<R>, R, V> glim_as(X&& x) {
  if constexpr (GlimObject<R> || std::is_convertible_v<const X&, V>)
    return x;
  else
    return x - V{};
}

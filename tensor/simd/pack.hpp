// Several vectors in step, for the formulas of tensor/portable_formulas.hpp: V is Pack<Vec<double>, N>.
//
// Each step of a formula waits for the step before. A pack has N independent chains of steps, so the CPU computes
// another vector's step instead of waiting. Each lane has the bits of a formula for one vector.
#pragma once

#include "tensor/portable_angles.hpp"

namespace glim::portable {

template <class V, int N>
struct Pack {
  V part[N];
};

// y.part[i] = f(x.part[i]...)
template <class F, class V, int N, class... P>
GLIM_INLINE auto by_parts(const F& f, const Pack<V, N>& x, const P&... further) {
  Pack<decltype(f(x.part[0], further.part[0]...)), N> y;
#pragma GCC unroll 4
  for (int i = 0; i < N; ++i) y.part[i] = f(x.part[i], further.part[i]...);
  return y;
}

// clang-format off
#define GLIM_LAMBDA(value, ...) [&](__VA_ARGS__) __attribute__((always_inline)) { return value; }
#define GLIM_PACK_OPERATOR(op)                                               \
  template <class V, class W, int N>                                         \
  GLIM_INLINE auto operator op(const Pack<V, N>& x, const Pack<W, N>& y) {   \
    return by_parts(GLIM_LAMBDA(a op b, auto a, auto b), x, y);              \
  }                                                                          \
  template <class V, int N, class S>                                         \
  GLIM_INLINE auto operator op(const Pack<V, N>& x, S c) {                   \
    return by_parts(GLIM_LAMBDA(a op c, auto a), x);                         \
  }                                                                          \
  template <class S, class V, int N>                                         \
  GLIM_INLINE auto operator op(S c, const Pack<V, N>& x) {                   \
    return by_parts(GLIM_LAMBDA(c op a, auto a), x);                         \
  }
GLIM_PACK_OPERATOR(+) GLIM_PACK_OPERATOR(-) GLIM_PACK_OPERATOR(*) GLIM_PACK_OPERATOR(/)
GLIM_PACK_OPERATOR(<) GLIM_PACK_OPERATOR(<=) GLIM_PACK_OPERATOR(>) GLIM_PACK_OPERATOR(>=) GLIM_PACK_OPERATOR(==)
GLIM_PACK_OPERATOR(&) GLIM_PACK_OPERATOR(|) GLIM_PACK_OPERATOR(^) GLIM_PACK_OPERATOR(<<) GLIM_PACK_OPERATOR(>>)
#undef GLIM_PACK_OPERATOR
#define GLIM_PACK_FUNCTION(name, value)       \
  template <class V, int N>                   \
  GLIM_INLINE auto name(const Pack<V, N>& x) { \
    return by_parts(GLIM_LAMBDA(value, auto a), x); \
  }
GLIM_PACK_FUNCTION(operator-, -a)
GLIM_PACK_FUNCTION(bits_of, bits_of(a))
GLIM_PACK_FUNCTION(number_of, number_of(a))
#undef GLIM_PACK_FUNCTION
    // clang-format on

    template <class C, class V, int N>
    GLIM_INLINE auto choose(const Pack<C, N>& c, const Pack<V, N>& x, const Pack<V, N>& y) {
  return by_parts(GLIM_LAMBDA(choose(k, a, b), auto k, auto a, auto b), c, x, y);
}
template <class C, int N>
GLIM_INLINE bool every(const Pack<C, N>& c) {
  C all = c.part[0];
  for (int i = 1; i < N; ++i) all = all & c.part[i];
  return every(all);
}

}  // namespace glim::portable

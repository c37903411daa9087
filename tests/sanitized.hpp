// The sanitizers look at memory, which the variations of one thing use alike, and are slow: there tests take each
// third of the variations.
#pragma once

#include <cstddef>

#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

inline constexpr std::size_t kEvery = kSanitized ? 3 : 1;

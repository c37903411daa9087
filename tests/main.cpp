// Catch2 2.x needs a translation unit with its main; 3.x brings one in its library.
#if !__has_include(<catch2/catch_all.hpp>)
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#endif

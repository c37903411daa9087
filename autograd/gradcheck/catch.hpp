// A Catch2 matcher for gradient checks, for 2.13 and for 3.x:
//
//   REQUIRE_THAT(gradcheck(f, {x, w}), PassesGradcheck());
//
// A failure prints the whole report. This is the only header of the library that includes Catch2;
// including it is the user's choice.
#pragma once

#if __has_include(<catch2/matchers/catch_matchers.hpp>)
#include <catch2/catch_test_macros.hpp>
#include <catch2/catch_tostring.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include "autograd/gradcheck/gradcheck.hpp"

namespace glim {

#if __has_include(<catch2/matchers/catch_matchers.hpp>)
using GradcheckMatcher = Catch::Matchers::MatcherBase<GradcheckReport>;
#else
using GradcheckMatcher = Catch::MatcherBase<GradcheckReport>;
#endif

class PassesGradcheck final : public GradcheckMatcher {
 public:
  // At most this many derivatives may be undecidable; -1: any number.
  explicit PassesGradcheck(Index undecidable_at_most = -1) : most_(undecidable_at_most) {}
  bool match(const GradcheckReport& report) const override {
    return static_cast<bool>(report) && (most_ < 0 || report.undecidable() <= most_);
  }
  std::string describe() const override {
    return most_ < 0 ? "passes the gradient check"
                     : "passes the gradient check with at most " + std::to_string(most_) +
                           " derivatives undecidable";
  }

 private:
  Index most_;
};

}  // namespace glim

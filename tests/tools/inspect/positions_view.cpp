// The tables of positions that an inspection shows: what they hold, and which models have one.
#include "tools/inspect/positions_view.hpp"

#include <cmath>

#include "models/conv/conv_seq2seq.hpp"
#include "models/transformer/transformer.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tests/catch.hpp"
#include "tools/gradient_cases/sizes.hpp"

namespace test_positions_view {

using namespace glim;

TEST_CASE("sinusoids: products depend on the distance alone, and wavelengths grow to 2π base") {
  auto c = sized<TransformerConfig>(9, 16, 2, 24, 1);
  c.position_base = 100;
  const auto views = positions_views(Transformer(c));
  REQUIRE(views.size() == 1);  // both sides have the same
  const PositionsView& v = views[0];
  CHECK(v.module == "src_positions");
  CHECK(v.kind == "sinusoidal, base 100");
  REQUIRE(v.table.shape() == Shape{50, 16});
  CHECK(v.table.at<double>({3, 0}) == Approx(std::sin(3.0)));
  CHECK(v.table.at<double>({3, 3}) == Approx(std::cos(3 * std::pow(100, -2.0 / 16))));
  REQUIRE(v.products.shape() == Shape{50, 50});
  for (Index p = 0; p < 43; ++p) {
    CHECK(v.products.at<double>({p, p}) == Approx(8));
    CHECK(v.products.at<double>({p, p + 7}) == Approx(v.products.at<double>({0, 7})));
  }
  REQUIRE(v.wavelengths.size() == 8);
  CHECK(v.wavelengths[0] == Approx(2 * std::acos(-1)));
  CHECK(v.wavelengths[4] == Approx(20 * std::acos(-1)));
}

TEST_CASE("learned positions are each their own, and a model without has no view") {
  auto c = sized_convolution<ConvSeq2SeqConfig>(9, 9, 8, 3);
  c.max_len = 12;
  const auto views = positions_views(ConvSeq2Seq(c));
  REQUIRE(views.size() == 2);
  CHECK(views[1].module == "tgt_positions");
  CHECK(views[1].kind == "learned");
  CHECK(views[1].table.shape() == Shape{12, 8});
  CHECK(views[1].wavelengths.empty());
  for (Positions positions : {Positions::None, Positions::Rotary}) {
    auto t = sized<TransformerConfig>(9, 16, 2, 24, 1);
    t.positions = positions;
    CHECK(positions_views(Transformer(t)).empty());
  }
}

}  // namespace test_positions_view

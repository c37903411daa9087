// The gradient of a matrix is the sum of its products, whose shares add up to 1, and the generator asks for the target.
#include "tools/inspect/lens.hpp"

#include <set>

#include "tests/tools/inspect/common.hpp"

namespace test_lens {

using namespace glim;

namespace {

std::vector<LensMatrix> lens_of(Example& example) {
  return backward_lens(pass_of(example), example);
}

const LensMatrix& named(const std::vector<LensMatrix>& lens, const std::string& name) {
  for (const LensMatrix& m : lens)
    if (m.matrix == name) return m;
  FAIL(name);
  return lens[0];
}

}  // namespace

TEST_CASE("products of inputs and deltas add up to each matrix's gradient", "[lens]") {
  for (const char* norm : {"pre", "post"}) {
    ExampleOptions o = small_options();
    o.fresh.set("norm", norm);
    o.fresh.set("layers", 2);
    o.float64 = true;
    const auto made = make_example(o);
    Example& example = *made;
    std::vector<LensMatrix> lens = lens_of(example);
    // A layer of the encoder has 4 matrices of attention and 2 of its network, of the decoder 8 and 2.
    CHECK(lens.size() == 2 * 6 + 2 * 10 + 1);
    std::set<std::string> names;
    for (const LensMatrix& m : lens) {
      INFO(m.matrix);
      CHECK(names.insert(m.matrix).second);
      CHECK(m.error < 1e-12);
      double shares = 0, last = 2;
      for (const LensTerm& t : m.terms) {
        shares += t.share;
        CHECK(t.share <= last);
        last = t.share;
      }
      CHECK(shares == Approx(1).margin(1e-10));
    }
  }
}

TEST_CASE("factors of the model's width are read as tokens, others are not", "[lens]") {
  const auto made = make_example(small_options());
  Example& example = *made;
  std::vector<LensMatrix> lens = lens_of(example);
  auto reads = [&](const std::string& name, bool input, bool delta) {
    INFO(name);
    for (const LensTerm& t : named(lens, name).terms) {
      CHECK(t.input.size() == (input ? 4u : 0u));
      CHECK(t.delta.size() == (delta ? 4u : 0u));
      for (std::size_t i = 1; i < t.delta.size(); ++i)
        CHECK(t.delta[i - 1].product >= t.delta[i].product);
    }
  };
  for (const char* part : {"query", "key", "value"})
    reads(std::string("encoder.layers.0.self_attn.in_proj_weight, ") + part, true, false);
  reads("encoder.layers.0.self_attn.out_proj.weight", false, true);
  reads("decoder.layers.0.multihead_attn.in_proj_weight, key", true, false);
  reads("decoder.layers.0.linear1.weight", true, false);
  reads("decoder.layers.0.linear2.weight", false, true);
  // Cross-attention's keys come from the source, its queries from the target.
  CHECK(named(lens, "decoder.layers.0.multihead_attn.in_proj_weight, key").terms.size() ==
        example.source.size());
  CHECK(named(lens, "decoder.layers.0.multihead_attn.in_proj_weight, query").terms.size() ==
        example.target_in.size());
}

TEST_CASE("at the generator, minus delta is q - p: it asks for the target first", "[lens]") {
  const auto made = make_example(small_options());
  Example& example = *made;
  const LensMatrix generator = named(lens_of(example), "generator.weight");
  REQUIRE(generator.terms.size() == example.target_out.size());
  for (const LensTerm& t : generator.terms) {
    const auto& in = example.target_in;
    bool follows = false;  // the first token asked for is one that follows a token of this name
    for (std::size_t i = 0; i < in.size(); ++i)
      follows = follows || (in[i] == t.position && example.target_out[i] == t.delta.at(0).token);
    INFO(t.position);
    CHECK(follows);
  }
}

}  // namespace test_lens

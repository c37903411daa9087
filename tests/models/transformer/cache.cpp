// Decoding with what steps share kept.
#include "tests/models/transformer/common.hpp"

namespace test_cache {

using namespace glim;
using namespace glim::small_transformer;

TEST_CASE("cached decoding equals decoding the whole prefix", "[transformer][cache]") {
  seed(3);
  for (Positions positions : {Positions::Sinusoidal, Positions::Learned, Positions::Rotary,
                              Positions::Alibi, Positions::None}) {
    NormPlacement norm = positions == Positions::Learned || positions == Positions::Alibi
                             ? NormPlacement::Post
                             : NormPlacement::Pre;
    TransformerConfig c = small_config();
    c.norm = norm;
    c.positions = positions;
    c.position_base = 50;
    c.share_qk = positions != Positions::Sinusoidal;
    c.attention_scale = positions == Positions::None ? 1.5 : 0;
    c.norm_kind = positions == Positions::Alibi ? NormKind::None : NormKind::Layer;
    c.dropout = 0.3;  // off in eval
    Transformer model(c);
    evaluate_in_float64(model);
    check_cached(model, kSource, 12, 40, 5e-13);
  }
}

TEST_CASE("prefixes of one sentence share its memory", "[transformer][cache]") {
  seed(8);
  Transformer model(small_config());
  evaluate_in_float64(model);
  std::unique_ptr<StepDecoder> cached = model.decoder_for(kSource),
                               plain = std::make_unique<PrefixDecoder>(model, kSource),
                               unseen = model.decoder_for(kSource);
  unseen->keep_attention(false);
  std::vector<Index> tokens{1, 1};
  // Sentences 0 0 0 1 1 1, then turned about, as many rows each, unevenly, 1 alone, 1 once.
  for (const std::vector<Index>& rows : std::vector<std::vector<Index>>{{0, 0, 0, 1, 1, 1},
                                                                        {3, 4, 5, 2, 1, 0},
                                                                        {0, 3, 1, 4},
                                                                        {0, 2, 1},
                                                                        {0, 1, 0, 2},
                                                                        {3, 3, 3},
                                                                        {1}}) {
    Tensor a = cached->step(tokens), b = plain->step(tokens), c = unseen->step(tokens);
    CHECK(norm_of(sub(a, b)) < 1e-11);
    CHECK(norm_of(sub(c, b)) < 1e-11);
    CHECK(norm_of(sub(cached->attention(), plain->attention())) < 1e-11);
    CHECK_FALSE(unseen->attention().defined());
    tokens.clear();
    for (auto* decoder : {&cached, &plain, &unseen}) (*decoder)->select_rows(rows);
    for (std::size_t i = 0; i < rows.size(); ++i) tokens.push_back(3 + static_cast<Index>(i));
  }
  CHECK(norm_of(sub(cached->step(tokens), plain->step(tokens))) < 1e-11);
}

}  // namespace test_cache

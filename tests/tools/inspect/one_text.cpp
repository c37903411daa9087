// A look at models that read one text: its loss, whose tokens attend to whom, a gradient against a difference.
#include <cmath>

#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tests/tools/inspect/common.hpp"
#include "tests/tools/pictures.hpp"
#include "tools/inspect/inspection.hpp"
#include "tools/inspect/pictures.hpp"
#include "tools/kinds/presets.hpp"

namespace test_inspection_of_one_text {

using namespace glim;

TEST_CASE("a language model is looked at with one text") {
  ExampleOptions o;
  o.init = true;
  o.float64 = true;
  o.fresh.kind = "gpt";
  apply_preset(o.fresh, [](const std::string&) { return false; });
  o.fresh.set("layers", 2);
  o.fresh.set("d_model", 16);
  o.fresh.set("heads", 2);
  o.fresh.set("d_ff", 32);
  o.source = "I have a cat";
  const auto made = make_example(o);
  Example& example = *made;
  const auto T = std::ssize(example.target_out);
  REQUIRE(T == std::ssize(example.target_in));
  CHECK(example.source.empty());
  for (std::size_t t = 1; t < example.target_in.size(); ++t)
    CHECK(example.target_in[t] == example.target_out[t - 1]);

  Inspection look = inspect(example);
  // The loss is the mean of -ln p of each next token.
  const Tensor log_probs = look.pass[look.pass.find("log_probs")].value;
  double nll = 0;
  for (Index t = 0; t < T; ++t)
    nll -= select(select(log_probs, 0, t), 0, example.target_out_ids[static_cast<std::size_t>(t)])
               .item();
  CHECK(look.pass.loss_value() == Approx(nll / static_cast<double>(T)).epsilon(1e-12));
  REQUIRE(look.attention.size() == 2);
  for (const AttentionView& v : look.attention) {
    CHECK(v.side == AttentionSide::DecoderSelf);
    CHECK(v.queries == example.target_in);
    CHECK(v.keys == example.target_in);
    for (Index i = 0; i < T; ++i)
      for (Index k = 0; k < T; ++k)
        CHECK((select(select(v.keep, 0, i), 0, k).item() != 0) == (k <= i));  // causal
  }
  for (const Block& b : look.blocks) CHECK(b.side == "decoder");
  CHECK(look.junctions.size() == 4);
  CHECK(look.lens.size() == 2 * 6 + 1);
  for (const LensMatrix& m : look.lens) CHECK(m.error < 1e-12);
  // An analytic gradient of the loss against a difference, by one weight.
  auto parameters = example.model().named_parameters();
  Var weight = parameters.at(0).second;
  const Tensor g = look.pass[look.pass.find(parameters.at(0).first)].gradient;
  Tensor flat = reshape(weight.value(), {-1});
  const Index at = example.target_out_ids[0] * 16 + 3;
  const double was = select(flat, 0, at).item(), h = 1e-5;
  auto loss_at = [&](double x) {
    select(flat, 0, at).fill_(x);
    return example.loss().item();
  };
  const double slope = (loss_at(was + h) - loss_at(was - h)) / (2 * h);
  select(flat, 0, at).fill_(was);
  CHECK(select(reshape(g, {-1}), 0, at).item() == Approx(slope).epsilon(1e-6));

  auto refused = [&](const std::string& text, const std::string& translation) {
    ExampleOptions bad = o;
    bad.source = text;
    bad.target = translation;
    try {
      make_example(bad);
    } catch (const Error& e) {
      return e.one_line();
    }
    return std::string();
  };
  CHECK(refused("I", "我").find("--translation: a model of kind gpt takes --sentence") !=
        std::string::npos);
  CHECK(refused(" ", "").find("--sentence: the sentence is empty") != std::string::npos);
  CHECK(refused(std::string(999, 'a'), "").find("--sentence: the sentence has") !=
        std::string::npos);
}

TEST_CASE("a bert is looked at with a sentence of which some tokens are hidden") {
  ExampleOptions o;
  o.init = true;
  o.float64 = true;
  o.fresh.kind = "bert";
  apply_preset(o.fresh, [](const std::string&) { return false; });
  o.fresh.set("layers", 2);
  o.fresh.set("d_model", 16);
  o.fresh.set("heads", 2);
  o.fresh.set("d_ff", 32);
  o.source = "I have a cat";
  using Tokens = std::vector<std::string>;
  CHECK(make_example(o)->source == Tokens{"<s>", "I", "[MASK]", "a", "cat", "</s>"});
  o.hide = {"4", "1", "4"};
  const auto made = make_example(o);
  Example& example = *made;
  CHECK(example.source == Tokens{"<s>", "[MASK]", "have", "a", "[MASK]", "</s>"});
  CHECK(example.target_out == Tokens{"I", "cat"});
  CHECK(example.target_in.empty());

  Inspection look = inspect(example);
  // The loss is the mean of -ln p of the hidden tokens.
  const Tensor log_probs = look.pass[look.pass.find("log_probs")].value;
  REQUIRE(log_probs.size(0) == 2);
  double nll = 0;
  for (Index m = 0; m < 2; ++m)
    nll -= select(select(log_probs, 0, m), 0, example.target_out_ids[static_cast<std::size_t>(m)])
               .item();
  CHECK(look.pass.loss_value() == Approx(nll / 2).epsilon(1e-12));
  REQUIRE(look.attention.size() == 2);
  for (const AttentionView& v : look.attention) {
    CHECK(v.side == AttentionSide::EncoderSelf);
    CHECK(v.keys == example.source);
  }
  for (const Block& b : look.blocks) CHECK(b.side == "encoder");
  CHECK(look.rollout.encoder.shape() == Shape{6, 6});
  CHECK(look.attribution.to_source.shape() == Shape{2, 6});
  CHECK_FALSE(look.attribution.to_target.defined());
  double sum = 0;
  for (double g : look.attribution.integrated_source) sum += g;
  CHECK(sum ==
        Approx(look.attribution.log_prob - look.attribution.baseline + look.attribution.gap));
  CHECK(look.lens.size() == 2 * 6 + 2);  // transform and generator besides
  for (const LensMatrix& m : look.lens) CHECK(m.error < 1e-12);
  CHECK(picture_svg(look, "rollout").find("[MASK]") != std::string::npos);

  for (const char* wrong : {"0", "5", "-1", "x", "", "1.5"}) {
    o.hide = {wrong};
    try {
      make_example(o);
      FAIL(wrong);
    } catch (const ValueError& e) {
      CHECK(e.one_line().find("--hide: the sentence has the tokens 1 to 4, not") !=
            std::string::npos);
    }
  }
}

}  // namespace test_inspection_of_one_text

// The ways that a gradient came add up to it, for every parameter of every kind of model that can be made fresh.
#include "tools/inspect/debugger/why.hpp"

#include "tests/catch.hpp"
#include "tools/inspect/example.hpp"
#include "tools/train/presets.hpp"

namespace test_why {

using namespace glim;
using namespace glim::step;

TEST_CASE("the ways to a parameter add up to its gradient, in every kind of model") {
  for (const char* kind : {"transformer", "rnn", "conv", "non-autoregressive", "gpt", "bert"}) {
    INFO(kind);
    ExampleOptions o;
    o.init = true;
    o.float64 = true;
    o.fresh.kind = kind;
    apply_preset(o.fresh, [](const char*) { return false; });
    o.fresh.layers = 1;
    o.fresh.d_model = 16;
    if (kind != std::string("rnn") && kind != std::string("conv")) {
      o.fresh.heads = 2;
      o.fresh.d_ff = 24;
    }
    o.source = "I have a cat";
    if (kind == std::string("transformer")) o.target = "我有一只猫";
    Example example(o);
    Session session([&] { return example.loss(); });
    while (session.current() >= 0) session.advance();
    int parameters = 0;
    for (int i = 0; i < session.size(); ++i) {
      if (!session.node(i).leaf || !session.gradient(i).defined()) continue;
      const Ways ways = ways_to(session, i);
      INFO(session.tape().path(i));
      double shares = 0;
      for (const Way& way : ways.all) shares += way.share;
      CHECK(ways.gap < 1e-6);
      if (ways.norm > 1e-12) CHECK(shares == Approx(1).margin(1e-6));
      ++parameters;
    }
    CHECK(parameters > 5);
  }
}

}  // namespace test_why

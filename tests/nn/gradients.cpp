// Every layer and loss of nn/ against central differences.
#include <set>

#include "nn/module.hpp"
#include "tests/catch.hpp"
#include "tests/sanitized.hpp"
#include "tools/gradient_cases/op_specs.hpp"

namespace test_gradients {

using namespace glim;

TEST_CASE("every layer and loss passes its gradient checks", "[nn][gradcheck]") {
  auto cases = layer_cases();
  std::set<std::string> names;
  Index derivatives = 0;
  for (std::size_t i = 0; i < cases.size(); i += kEvery) {
    CaseResult r = run(cases[i]);
    INFO(r.op + ", " + r.name);
    INFO(r.detail);
    CHECK(r.status == CaseStatus::Pass);
    CHECK(r.undecidable == 0);
    CHECK(r.checked > 0);
    CHECK(names.insert(r.op + ", " + r.name).second);
    derivatives += r.checked;
  }
  CHECK(cases.size() >= 150);
  CHECK(derivatives >= 10000 / Index{kEvery});
}

TEST_CASE("a layer with a wrong gradient is caught", "[nn][gradcheck]") {
  // A layer that forgets its residual branch on the way back.
  struct Forgetful final : Layer {
    Var forward(const Var& x) override { return add(tanh(x), x.detach()); }
  } layer;
  Var x = Var::leaf(uniform({3}, -1, 1, {1, 1}, DType::Float64));
  CHECK_FALSE(gradcheck([&] { return layer(x); }, {{"x", x}}));
}

}  // namespace test_gradients

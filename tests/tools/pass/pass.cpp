// A pass that was recorded on any tape: it steps, goes back, is changed, and outlives its tape.
#include "tools/pass/pass.hpp"

#include <cmath>

#include "autograd/ops.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tests/catch.hpp"

namespace test_pass {

using namespace glim;

namespace {

struct Recorded {
  Var x = Var::leaf(tensor({1, 2, 3}), "x");
  Tape tape{{.replay = true}};
  Var h = named(exp(x), "h");
  Var y = named(sum(h * x + h), "y");
};

void run(Pass& pass) {
  while (pass.current() >= 0) pass.step();
}

}  // namespace

TEST_CASE("a pass has the gradients of backward, and leaves the leaves alone") {
  Recorded r;
  r.x.leaf().grad = tensor({7, 7, 7});
  Pass pass(r.tape, r.y);
  run(pass);
  CHECK(same_bits(r.x.grad(), tensor({7, 7, 7})));
  r.x.leaf().grad = {};
  r.tape.backward(r.y);
  const int x = pass.find("x"), h = pass.find("h");
  CHECK(same_bits(pass[x].gradient, r.x.grad()));
  CHECK(pass[h].readers.size() == 2);
  CHECK(same_bits(add(pass.flow(pass[h].readers[0].node, h), pass.flow(pass[h].readers[1].node, h)),
                  pass[h].gradient));
  CHECK(pass.order().front() == pass.loss());
  CHECK(pass[x].turn == pass.taken() - 1);
  CHECK(changed_nodes(pass).empty());
  CHECK_THROWS_AS(pass.step(), StateError);
}

TEST_CASE("a pass stays when its tape has ended, its ops with it") {
  Pass pass;
  {
    Recorded r;
    pass = Pass(r.tape, r.h, tensor({1, 0, 0}));
    run(pass);
    pass.end();
  }
  const int h = pass.find("h");
  CHECK(pass.loss() == h);
  CHECK(pass.loss_value() == Approx(std::exp(1.0)));
  CHECK(same_bits(pass[h].run({Var(pass[h].operands[0])}).value(), pass[h].value));
  CHECK(pass.state(pass.find("y")) == GradientState::PassedOver);
  CHECK_THROWS_AS(pass.tape(), StateError);
}

}  // namespace test_pass

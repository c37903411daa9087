// A whole small Transformer under the debugger.
#pragma once

#include "autograd/op_form.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tests/catch.hpp"
#include "tests/small_transformer.hpp"
#include "tools/inspect/debugger/debugger.hpp"

namespace glim::step {

struct SmallExample : SmallTransformer {
  SmallExample() : SmallTransformer(Tie::Decoder, 0) { model->eval(); }
  Var loss() const {
    UseForm use(OpForm::Explicit);
    Var logits = reshape((*model)(ids({3, 4, 5, 6}, {1, 4}), ids({1, 3, 3}, {1, 3})), {3, 11});
    return mul(label_smoothing_loss(logits, ids({3, 3, 2}, {3}), 0.1, 0), 1.0 / 3);
  }
  std::map<std::string, Tensor> ordinary() const {
    Tape tape;
    tape.backward(loss());
    return gradients();
  }
};

// A pass of it, and what the debugger has said since it was last asked.
struct Driven {
  Driven() : pass([this] { return example.loss(); }) {}
  std::string operator()(const std::string& script) {
    said.clear();
    std::size_t begin = 0;
    while (begin < script.size()) {
      std::size_t end = std::min(script.find('\n', begin), script.size());
      go_on = debugger.run(script.substr(begin, end - begin));
      begin = end + 1;
    }
    return said;
  }
  SmallExample example;
  Pass pass;
  std::string said;
  bool go_on = true;
  Debugger debugger{pass, [this](const std::string& text) { said += text; }};
};

}  // namespace glim::step

// A whole small Transformer under the debugger.
#pragma once

#include <map>
#include <memory>

#include "autograd/magnification.hpp"
#include "models/transformer.hpp"
#include "tensor/elementwise.hpp"
#include "tests/catch.hpp"
#include "tools/step/debugger.hpp"

namespace glim::step {

struct Example {
  Example() {
    TransformerConfig c;
    c.src_vocab = c.tgt_vocab = 11;
    c.d_model = 16;
    c.heads = 2;
    c.d_ff = 24;
    c.encoder_layers = c.decoder_layers = 2;
    c.tie = Tie::Decoder;
    seed(3);
    model = std::make_unique<Transformer>(c);
    model->eval();
  }
  Var loss() const {
    auto ids = [](std::initializer_list<double> list, const Shape& shape) {
      return tensor(list, DType::Int64).reshape(shape);
    };
    Magnify magnify(Magnification::Explicit);
    Var logits =
        reshape(model->forward(ids({3, 4, 5, 6}, {1, 4}), ids({1, 3, 3}, {1, 3})), {3, 11});
    return mul(label_smoothing_loss(logits, ids({3, 3, 2}, {3}), 0.1, 0), 1.0 / 3);
  }
  // The gradients by parameter, which are then dropped.
  std::map<std::string, Tensor> gradients() const {
    std::map<std::string, Tensor> found;
    for (auto& [name, v] : model->named_parameters()) {
      if (v.grad().defined()) found[name] = v.grad().clone();
      v.zero_grad();
    }
    return found;
  }
  std::map<std::string, Tensor> ordinary() const {
    Tape tape;
    tape.backward(loss());
    return gradients();
  }
  std::unique_ptr<Transformer> model;
};

// A session on it, and what the debugger has said since it was last asked.
struct Driven {
  Driven() : session([this] { return example.loss(); }) {}
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
  Example example;
  Session session;
  std::string said;
  bool go_on = true;
  Debugger debugger{session, [this](const std::string& text) { said += text; }};
};

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace glim::step

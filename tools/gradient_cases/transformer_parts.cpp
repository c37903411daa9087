// The ops that are a kernel when fused and a composition when explicit.
#include "tools/gradient_cases/spec.hpp"

namespace glim::specs {
namespace {

// The k-th input, if there are so many.
Var at(const Vars& x, std::size_t k) { return k < x.size() ? x[k] : Var(); }

void linear_specs(Family& family) {
  auto f = [](const Vars& x) { return linear(x[0], x[1], at(x, 2)); };
  family.add("linear", "with bias", {{2, 3}, {4, 3}, {4}}, f).with_explicit();
  family.add("linear", "without bias", {{2, 3}, {4, 3}}, f).with_explicit();
  family.add("linear", "batches", {{2, 2, 3}, {2, 3}, {2}}, f).with_explicit();
  family.add("linear", "one row", {{3}, {2, 3}, {2}}, f).with_explicit();
  family.add_empty("linear", "no rows", {{0, 3}, {4, 3}, {4}}, {0, 4}, f);
  family.add_empty("linear", "batches of no rows", {{2, 0, 3}, {4, 3}, {4}}, {2, 0, 4}, f);
}

void hidden_layer_specs(Family& family) {
  auto with = [](double p) {
    return [=](const Vars& x) { return linear_relu(x[0], x[1], at(x, 2), p, {3, 5}); };
  };
  auto add = [&](const char* name, std::vector<Shape> shapes, double p) {
    family.add("linear_relu", name, shapes, with(p)).with_kinks().with_explicit();
  };
  add("with bias", {{2, 3}, {4, 3}, {4}}, 0);
  add("without bias", {{2, 3}, {4, 3}}, 0);
  add("dropout", {{3, 3}, {4, 3}, {4}}, 0.4);
  family.add_empty("linear_relu", "no rows", {{0, 3}, {4, 3}, {4}}, {0, 4}, with(0.4));
}

void norm_specs(Family& family) {
  auto layer = [](double eps) {
    return [=](const Vars& x) { return layer_norm(x[0], at(x, 1), at(x, 2), eps); };
  };
  family.add("layer_norm", "with gain and bias", {{2, 4}, {4}, {4}}, layer(1e-5)).with_explicit();
  family.add("layer_norm", "with gain", {{3, 3}, {3}}, layer(1e-5)).with_explicit();
  family.add("layer_norm", "plain", {{2, 2, 4}}, layer(1e-5)).with_explicit();
  family
      .add("layer_norm", "two axes", {{2, 2, 3}, {2, 3}, {2, 3}},
           [](const Vars& x) {
             return layer_norm(x[0], {2, 3}, x[1], x[2]);
           })
      .with_explicit();
  family.add("layer_norm", "large eps", {{2, 4}, {4}, {4}}, layer(0.5)).with_explicit();
  family.add_empty("layer_norm", "no rows", {{0, 4}, {4}, {4}}, {0, 4}, layer(1e-5));
  auto rms = [](double eps) {
    return [=](const Vars& x) { return rms_norm(x[0], at(x, 1), eps); };
  };
  family.add("rms_norm", "with gain", {{2, 4}, {4}}, rms(1e-5)).with_explicit();
  family.add("rms_norm", "plain", {{2, 2, 5}}, rms(1e-5)).with_explicit();
  family
      .add("rms_norm", "two axes", {{2, 2, 3}, {2, 3}},
           [](const Vars& x) {
             return rms_norm(x[0], {2, 3}, x[1], 1e-5);
           })
      .with_explicit();
  family.add("rms_norm", "large eps", {{3, 3}, {3}}, rms(0.5)).with_explicit();
  family.add_empty("rms_norm", "no rows", {{0, 4}, {4}}, {0, 4}, rms(1e-5));
}

void rotation_specs(Family& family) {
  // A rotation is linear: the product with x makes its gradient depend on x.
  auto turned = [](Index length, Index pairs) {
    return [=](const Var& x) {
      Var angles(uniform({length, pairs}, -3, 3, {4, 9}, DType::Float64).to(x.dtype()));
      Var y = rotate_pairs(x, cos(angles).value(), sin(angles).value());
      return mul(mul(y, y), x);
    };
  };
  family.add("rotate_pairs", "one sequence", {{3, 4}}, turned(3, 2));
  family.add("rotate_pairs", "heads", {{2, 2, 3, 2}}, turned(3, 1));
  family.add_empty("rotate_pairs", "no positions", {{2, 0, 4}}, {2, 0, 4}, [](const Var& x) {
    Tensor angle = empty({0, 2}, x.dtype());
    return rotate_pairs(x, angle, angle);
  });
}

Tensor causal() {
  return from_vector<bool>({true, false, false, true, true, false, true, true, true}, {3, 3});
}
// The first query may attend to nothing.
Tensor padded() {
  return from_vector<bool>({false, false, false, true, true, false, true, false, true}, {3, 3});
}

void attention_specs(Family& family) {
  auto attention = [](const Tensor& keep = {}, double p = 0, double scale = 0,
                      AttentionForm form = AttentionForm::Softmax) {
    return [=](const Vars& x) {
      AttentionMask m{keep, at(x, 3), scale, form};
      return scaled_dot_product_attention(x[0], x[1], x[2], m, p, {3, 4}).context;
    };
  };
  const char* op = "scaled_dot_product_attention";
  std::vector<Shape> square{{3, 2}, {3, 2}, {3, 4}};
  family.add(op, "plain", square, attention()).with_explicit();
  family.add(op, "causal", square, attention(causal())).with_explicit();
  family.add(op, "a query with nothing to attend to", square, attention(padded())).with_explicit();
  family.add(op, "heads", {{2, 2, 2, 3}, {2, 2, 3, 3}, {2, 2, 3, 2}}, attention()).with_explicit();
  family.add(op, "bias", {{3, 2}, {3, 2}, {3, 4}, {3, 3}}, attention()).with_explicit();
  family.add(op, "bias and mask", {{2, 3, 2}, {2, 3, 2}, {2, 3, 2}, {3, 3}}, attention(padded()))
      .with_explicit();
  family.add(op, "dropout", square, attention(causal(), 0.4)).with_explicit();
  family.add(op, "another factor of Q Kᵀ", square, attention(causal(), 0, 1.5)).with_explicit();
  auto with_probs = [](const Var& q, const Var& k, const Var& v) {
    AttentionResult a = scaled_dot_product_attention(q, k, v, {causal(), {}}, 0, {}, true);
    return concatenate({a.context, mul(a.probs, a.probs)}, 1);
  };
  family.add("attention with probabilities", "a composition", square, with_probs).with_explicit();
  auto form = [&](AttentionForm f, const Tensor& keep, double p = 0) {
    return attention(keep, p, 0, f);
  };
  const char* composed = "attention of another form";
  // The bias keeps some scores above 0 where all queries are one.
  const std::vector<Shape> biased{{3, 2}, {3, 2}, {3, 4}, {3, 3}};
  family.add(composed, "relu", biased, form(AttentionForm::Relu, {}));
  family.add(composed, "relu, a query with nothing to attend to, dropout", biased,
             form(AttentionForm::Relu, padded(), 0.4));
  family.add(composed, "linear", square, form(AttentionForm::Linear, {}));
  family.add(composed, "linear, dropout", square, form(AttentionForm::Linear, causal(), 0.4));
  family.add_empty(op, "no queries", {{2, 0, 3}, {2, 4, 3}, {2, 4, 5}}, {2, 0, 5}, attention());
  family.add_empty(op, "no batch", {{0, 2, 3}, {0, 4, 3}, {0, 4, 5}}, {0, 2, 5}, attention());
}

void packed_attention_specs(Family& family) {
  // Inputs: projections, those of a memory if there is one, a bias if there is one.
  auto attention = [](bool memory, Index heads, const Tensor& keep = {}, double p = 0,
                      double scale = 0, AttentionForm form = AttentionForm::Softmax) {
    return [=](const Vars& x) {
      AttentionMask m{keep, at(x, memory ? 2 : 1), scale, form};
      return packed_attention(x[0], memory ? x[1] : Var(), heads, m, p, {3, 4}).context;
    };
  };
  const char* op = "packed_attention";
  auto add = [&](const char* name, std::vector<Shape> shapes, auto f) {
    family.add(op, name, shapes, f).with_explicit();
  };
  add("to itself", {{2, 3, 12}}, attention(false, 2));
  add("one head, causal", {{2, 3, 6}}, attention(false, 1, causal()));
  add("heads of one column, nothing to attend to", {{1, 3, 9}}, attention(false, 3, padded()));
  add("bias and dropout", {{2, 3, 12}, {3, 3}}, attention(false, 2, {}, 0.4));
  add("to a memory", {{2, 2, 4}, {2, 3, 8}}, attention(true, 2));
  add("to a memory, bias of each head, mask", {{2, 3, 4}, {2, 3, 8}, {2, 1, 3}},
      attention(true, 2, padded()));
  add("another factor of Q Kᵀ", {{2, 3, 12}}, attention(false, 2, causal(), 0, 1.5));
  add("to a memory, dropout", {{1, 2, 4}, {1, 3, 8}}, attention(true, 2, {}, 0.3));
  auto with_probs = [](const Var& x) {
    AttentionResult a = packed_attention(x, {}, 2, {causal(), {}}, 0, {}, true);
    return concatenate({reshape(a.context, {-1}), reshape(mul(a.probs, a.probs), {-1})}, 0);
  };
  family.add("packed attention of another form", "relu", {{2, 3, 12}},
             attention(false, 2, causal(), 0, 0, AttentionForm::Relu));
  family.add("packed attention with probabilities", "a composition", {{1, 3, 12}}, with_probs)
      .with_explicit();
  family.add_empty(op, "no positions", {{2, 0, 12}}, {2, 0, 4}, attention(false, 2));
  family.add_empty(op, "no queries", {{2, 0, 4}, {2, 3, 8}}, {2, 0, 4}, attention(true, 2));
  family.add_empty(op, "no batch", {{0, 2, 4}, {0, 3, 8}}, {0, 2, 4}, attention(true, 2));
}

void label_smoothing_specs(Family& family) {
  Tensor target = from_vector<std::int64_t>({2, 0, 4, 1}, {4});  // one of them is pad
  Tensor none = empty({0}, DType::Int64);
  auto loss = [](const Tensor& labels, double smoothing, Index pad) {
    return [=](const Var& x) -> Var { return label_smoothing_loss(x, labels, smoothing, pad); };
  };
  const char* op = "label_smoothing_loss";
  family.add(op, "ε = 0", {{4, 5}}, loss(target, 0, 0)).with_explicit();
  family.add(op, "ε = 0.1", {{4, 5}}, loss(target, 0.1, 0)).with_explicit();
  family.add(op, "no pad", {{4, 5}}, loss(target, 0.2, -1)).with_explicit();
  family.add_empty(op, "no tokens", {{0, 5}}, {}, loss(none, 0.1, 0));
  auto of_linear = [](const Tensor& labels, double smoothing) {
    return [=](const Vars& x) -> Var {
      return linear_label_smoothing_loss(x[0], x[1], at(x, 2), labels, smoothing, 0);
    };
  };
  op = "linear_label_smoothing_loss";
  for (double smoothing : {0.0, 0.1}) {
    std::string name = smoothing > 0 ? "ε = 0.1" : "ε = 0";
    family.add(op, name, {{4, 3}, {5, 3}, {5}}, of_linear(target, smoothing)).with_explicit();
    family.add(op, name + ", no bias", {{4, 3}, {5, 3}}, of_linear(target, smoothing))
        .with_explicit();
  }
  family.add_empty(op, "no tokens", {{0, 3}, {5, 3}, {5}}, {}, of_linear(none, 0.1));
}

}  // namespace

Family transformer_parts() {
  Family family{"transformer"};
  linear_specs(family);
  hidden_layer_specs(family);
  norm_specs(family);
  rotation_specs(family);
  attention_specs(family);
  packed_attention_specs(family);
  label_smoothing_specs(family);
  return family;
}

}  // namespace glim::specs

// The ops that are a kernel when fused and a composition when explicit.
#include "tools/gradient_cases/spec.hpp"

namespace glim::specs {
namespace {

void linear_specs(Family& family) {
  auto f = [](const Vars& x) { return linear(x[0], x[1], x.size() > 2 ? x[2] : Var()); };
  family.add({"linear", "with bias", in({{2, 3}, {4, 3}, {4}}), f, false, 0, true});
  family.add({"linear", "without bias", in({{2, 3}, {4, 3}}), f, false, 0, true});
  family.add({"linear", "batches", in({{2, 2, 3}, {2, 3}, {2}}), f, false, 0, true});
  family.add({"linear", "one row", in({{3}, {2, 3}, {2}}), f, false, 0, true});
  family.add_empty({"linear", "no rows", {{0, 3}, {4, 3}, {4}}, {0, 4}, f});
  family.add_empty({"linear", "batches of no rows", {{2, 0, 3}, {4, 3}, {4}}, {2, 0, 4}, f});
}

void hidden_layer_specs(Family& family) {
  auto with = [](double p) {
    return [=](const Vars& x) {
      return linear_relu(x[0], x[1], x.size() > 2 ? x[2] : Var(), p, {3, 5});
    };
  };
  family.add({"linear_relu", "with bias", in({{2, 3}, {4, 3}, {4}}), with(0), true, 0, true});
  family.add({"linear_relu", "without bias", in({{2, 3}, {4, 3}}), with(0), true, 0, true});
  family.add({"linear_relu", "dropout", in({{3, 3}, {4, 3}, {4}}), with(0.4), true, 0, true});
  family.add_empty({"linear_relu", "no rows", {{0, 3}, {4, 3}, {4}}, {0, 4}, with(0.4)});
}

void layer_norm_specs(Family& family) {
  auto f = [](const Vars& x) {
    return layer_norm(x[0], x.size() > 1 ? x[1] : Var(), x.size() > 2 ? x[2] : Var());
  };
  family.add({"layer_norm", "with gain and bias", in({{2, 4}, {4}, {4}}), f, false, 0, true});
  family.add({"layer_norm", "with gain", in({{3, 3}, {3}}), f, false, 0, true});
  family.add({"layer_norm", "plain", in({{2, 2, 4}}), f, false, 0, true});
  family.add({"layer_norm", "large eps", in({{2, 4}, {4}, {4}}),
              [](const Vars& x) { return layer_norm(x[0], x[1], x[2], 0.5); }, false, 0, true});
  family.add_empty({"layer_norm", "no rows", {{0, 4}, {4}, {4}}, {0, 4}, f});
}

void rms_norm_specs(Family& family) {
  auto f = [](const Vars& x) { return rms_norm(x[0], x.size() > 1 ? x[1] : Var(), 1e-5); };
  family.add({"rms_norm", "with gain", in({{2, 4}, {4}}), f, false, 0, true});
  family.add({"rms_norm", "plain", in({{2, 2, 5}}), f, false, 0, true});
  family.add({"rms_norm", "large eps", in({{3, 3}, {3}}),
              [](const Vars& x) { return rms_norm(x[0], x[1], 0.5); }, false, 0, true});
  family.add_empty({"rms_norm", "no rows", {{0, 4}, {4}}, {0, 4}, f});
}

void rotation_specs(Family& family) {
  // A rotation is linear: it is squared, so that its gradient depends on x.
  auto turn = [](Index length, Index pairs) {
    return [=](const Vars& x) {
      Var angles(uniform({length, pairs}, -3, 3, {4, 9}, DType::Float64).to(x[0].dtype()));
      Var y = rotate_pairs(x[0], cos(angles).value(), sin(angles).value());
      return mul(y, y);
    };
  };
  auto unturned = [](const Vars& x) {
    Tensor angle = empty({0, 2}, x[0].dtype());
    return rotate_pairs(x[0], angle, angle);
  };
  family.add({"rotate_pairs", "one sequence", in({{3, 4}}),
              [=](const Vars& x) { return mul(turn(3, 2)(x), x[0]); }});
  family.add({"rotate_pairs", "heads", in({{2, 2, 3, 2}}),
              [=](const Vars& x) { return mul(turn(3, 1)(x), x[0]); }});
  family.add_empty({"rotate_pairs", "no positions", {{2, 0, 4}}, {2, 0, 4}, unturned});
}

void attention_specs(Family& family) {
  Tensor causal =
      from_vector<bool>({true, false, false, true, true, false, true, true, true}, {3, 3});
  // The first query may attend to nothing.
  Tensor padded =
      from_vector<bool>({false, false, false, true, true, false, true, false, true}, {3, 3});
  auto with = [](AttentionMask mask, double p = 0) {
    return [=](const Vars& x) {
      AttentionMask m = mask;
      if (x.size() > 3) m.bias = x[3];
      return scaled_dot_product_attention(x[0], x[1], x[2], m, p, {3, 4}).context;
    };
  };
  const char* op = "scaled_dot_product_attention";
  std::vector<Shape> square{{3, 2}, {3, 2}, {3, 4}};
  family.add({op, "plain", in(square), with({}), false, 0, true});
  family.add({op, "causal", in(square), with({causal, {}}), false, 0, true});
  family.add(
      {op, "a query with nothing to attend to", in(square), with({padded, {}}), false, 0, true});
  family.add(
      {op, "heads", in({{2, 2, 2, 3}, {2, 2, 3, 3}, {2, 2, 3, 2}}), with({}), false, 0, true});
  family.add({op, "bias", in({{3, 2}, {3, 2}, {3, 4}, {3, 3}}), with({}), false, 0, true});
  family.add({op, "bias and mask", in({{2, 3, 2}, {2, 3, 2}, {2, 3, 2}, {3, 3}}),
              with({padded, {}}), false, 0, true});
  family.add({op, "dropout", in(square), with({causal, {}}, 0.4), false, 0, true});
  family.add({"attention with probabilities", "a composition", in(square),
              [=](const Vars& x) {
                AttentionResult a =
                    scaled_dot_product_attention(x[0], x[1], x[2], {causal, {}}, 0, {}, true);
                return concatenate({a.context, mul(a.probs, a.probs)}, 1);
              },
              false, 0, true});
  family.add_empty({op, "no queries", {{2, 0, 3}, {2, 4, 3}, {2, 4, 5}}, {2, 0, 5}, with({})});
  family.add_empty({op, "no batch", {{0, 2, 3}, {0, 4, 3}, {0, 4, 5}}, {0, 2, 5}, with({})});
}

void packed_attention_specs(Family& family) {
  Tensor causal =
      from_vector<bool>({true, false, false, true, true, false, true, true, true}, {3, 3});
  Tensor padded =  // the first query may attend to nothing
      from_vector<bool>({false, false, false, true, true, false, true, false, true}, {3, 3});
  auto to_itself = [](Index heads, AttentionMask mask, double p = 0) {
    return [=](const Vars& x) {
      AttentionMask m = mask;
      if (x.size() > 1) m.bias = x[1];
      return packed_attention(x[0], {}, heads, m, p, {3, 4}).context;
    };
  };
  auto to_memory = [](Index heads, AttentionMask mask, double p = 0) {
    return [=](const Vars& x) {
      AttentionMask m = mask;
      if (x.size() > 2) m.bias = x[2];
      return packed_attention(x[0], x[1], heads, m, p, {3, 4}).context;
    };
  };
  const char* op = "packed_attention";
  family.add({op, "to itself", in({{2, 3, 12}}), to_itself(2, {}), false, 0, true});
  family.add({op, "one head, causal", in({{2, 3, 6}}), to_itself(1, {causal, {}}), false, 0, true});
  family.add({op, "heads of one column, nothing to attend to", in({{1, 3, 9}}),
              to_itself(3, {padded, {}}), false, 0, true});
  family.add(
      {op, "bias and dropout", in({{2, 3, 12}, {3, 3}}), to_itself(2, {}, 0.4), false, 0, true});
  family.add({op, "to a memory", in({{2, 2, 4}, {2, 3, 8}}), to_memory(2, {}), false, 0, true});
  family.add({op, "to a memory, bias of each head, mask", in({{2, 3, 4}, {2, 3, 8}, {2, 1, 3}}),
              to_memory(2, {padded, {}}), false, 0, true});
  family.add({op, "to a memory, dropout", in({{1, 2, 4}, {1, 3, 8}}), to_memory(2, {}, 0.3), false,
              0, true});
  family.add(
      {"packed attention with probabilities", "a composition", in({{1, 3, 12}}),
       [=](const Vars& x) {
         AttentionResult a = packed_attention(x[0], {}, 2, {causal, {}}, 0, {}, true);
         return concatenate({reshape(a.context, {-1}), reshape(mul(a.probs, a.probs), {-1})}, 0);
       },
       false, 0, true});
  family.add_empty({op, "no positions", {{2, 0, 12}}, {2, 0, 4}, to_itself(2, {})});
  family.add_empty({op, "no queries", {{2, 0, 4}, {2, 3, 8}}, {2, 0, 4}, to_memory(2, {})});
  family.add_empty({op, "no batch", {{0, 2, 4}, {0, 3, 8}}, {0, 2, 4}, to_memory(2, {})});
}

void label_smoothing_specs(Family& family) {
  Tensor target = from_vector<std::int64_t>({2, 0, 4, 1}, {4});  // one of them is pad
  for (double smoothing : {0.0, 0.1}) {
    auto f = [=](const Vars& x) { return label_smoothing_loss(x[0], target, smoothing, 0); };
    family.add({"label_smoothing_loss", smoothing > 0 ? "ε = 0.1" : "ε = 0", in({{4, 5}}), f, false,
                0, true});
  }
  family.add({"label_smoothing_loss", "no pad", in({{4, 5}}),
              [=](const Vars& x) { return label_smoothing_loss(x[0], target, 0.2, -1); }, false, 0,
              true});
  family.add_empty({"label_smoothing_loss", "no tokens", {{0, 5}}, {}, [](const Vars& x) {
                      return label_smoothing_loss(x[0], empty({0}, DType::Int64), 0.1, 0);
                    }});
  for (double smoothing : {0.0, 0.1}) {
    auto f = [=](const Vars& x) {
      return linear_label_smoothing_loss(x[0], x[1], x.size() > 2 ? x[2] : Var(), target, smoothing,
                                         0);
    };
    const char* op = "linear_label_smoothing_loss";
    family.add(
        {op, smoothing > 0 ? "ε = 0.1" : "ε = 0", in({{4, 3}, {5, 3}, {5}}), f, false, 0, true});
    family.add({op, smoothing > 0 ? "ε = 0.1, no bias" : "ε = 0, no bias", in({{4, 3}, {5, 3}}), f,
                false, 0, true});
  }
  family.add_empty(
      {"linear_label_smoothing_loss", "no tokens", {{0, 3}, {5, 3}, {5}}, {}, [](const Vars& x) {
         return linear_label_smoothing_loss(x[0], x[1], x[2], empty({0}, DType::Int64), 0.1, 0);
       }});
}

}  // namespace

Family transformer_parts() {
  Family family{"transformer", {}, {}};
  linear_specs(family);
  hidden_layer_specs(family);
  layer_norm_specs(family);
  rms_norm_specs(family);
  rotation_specs(family);
  attention_specs(family);
  packed_attention_specs(family);
  label_smoothing_specs(family);
  return family;
}

}  // namespace glim::specs

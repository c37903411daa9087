// Gradient checks of recurrent layers, and of their attention.
#include "nn/attention/scored.hpp"
#include "nn/recurrent/rnn.hpp"
#include "tools/gradient_cases/module_cases.hpp"

namespace glim::specs {
namespace {

struct Variant {
  std::string name;
  RecurrentOptions options;
  bool initial = false;
  std::vector<Index> lengths;
};

void add_layers(std::vector<Case>& c, CellKind kind, const std::string& suffix) {
  const std::string cell = std::string(name_of(kind)) + ", ";
  std::vector<Variant> variants;
  variants.push_back({"one layer", {}, false, {}});
  variants.push_back({"initial state, no bias", {.bias = false}, true, {}});
  variants.push_back({"lengths", {}, false, {1, 3, 2}});
  variants.push_back({"two layers, both ways, dropout, lengths",
                      {.layers = 2, .bidirectional = true, .dropout = 0.3},
                      true,
                      {2, 3, 1}});
  variants.push_back({"both ways", {.bidirectional = true}, false, {}});
  for (const Variant& v : variants)
    add_module<Recurrent>(
        c, of_layer("Recurrent", cell + v.name + suffix, {3, 3, 2}),
        [=](Recurrent& called, const Var& x) {
          Index many = called.layers() * called.directions();
          Var start;
          if (v.initial)
            start = Var(uniform({many, 3, 2 * parts_of(kind)}, -1, 1, {4, 3}, kDouble));
          Tensor lengths = v.lengths.empty() ? Tensor() : from_vector(v.lengths, {3});
          RecurrentOutput out = called(x, start, lengths);
          // The outputs and the final state, as one vector.
          return concatenate({reshape(out.y, {-1}), reshape(out.state, {-1})}, 0);
        },
        kind, 2, 2, v.options);
}

void add_attention(std::vector<Case>& c) {
  Tensor keep = ids({1, 0, 1, 1, 0, 0, 0, 1}, {2, 4}).to(DType::Bool);
  auto add_one = [&](const std::string& name, AttentionScore score, Index query, Index key,
                     Index width = 0) {
    for (bool masked : {false, true})
      add_module<ScoredAttention>(
          c, of_layer("ScoredAttention", name + (masked ? ", keep" : ""), {2, 3, query}),
          [=](ScoredAttention& a, const Var& x) {
            Var keys(uniform({2, 4, key}, -1, 1, {5, 1}, kDouble));
            AttentionResult out =
                a.attend(x, a.project(keys), tanh(keys), masked ? keep : Tensor());
            return concatenate({out.context, out.probs}, -1);
          },
          score, query, key, width);
  };
  add_one("additive", AttentionScore::Additive, 3, 2, 4);
  add_one("dot", AttentionScore::Dot, 3, 3);
  add_one("general", AttentionScore::General, 3, 2);
  add_one("concat", AttentionScore::Concat, 3, 2, 4);
}

}  // namespace

void add_recurrent_layers(std::vector<Case>& c) {
  for (CellKind kind : {CellKind::Tanh, CellKind::Relu, CellKind::Gru, CellKind::Lstm})
    add_layers(c, kind, kind == CellKind::Relu ? ", ReLU" : "");
  add_attention(c);
}

}  // namespace glim::specs

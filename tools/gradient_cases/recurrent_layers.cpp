// Gradient checks of recurrent layers, and of their attention.
#include "nn/attention/scored.hpp"
#include "nn/recurrent/rnn.hpp"
#include "tools/gradient_cases/layer_cases.hpp"

namespace glim::specs {
namespace {

const char* const kFamily = "layers";

struct Variant {
  std::string name;
  RecurrentOptions options;
  bool initial = false;
  std::vector<Index> lengths;
};

void add_layer(LayerCases& c, CellKind kind, const std::string& suffix) {
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
    c.add(kFamily, "Recurrent", std::string(name_of(kind)) + ", " + v.name + suffix, Shape{3, 3, 2},
          [=] {
            return subject(std::make_shared<Recurrent>(kind, 2, 2, v.options), [=](Recurrent& layer,
                                                                                   const Var& x) {
              Index many = layer.layers() * layer.directions();
              Var start;
              if (v.initial)
                start = Var(uniform({many, 3, 2 * parts_of(kind)}, -1, 1, {4, 3}, kDouble));
              Tensor lengths = v.lengths.empty() ? Tensor() : from_vector(v.lengths, {3});
              RecurrentOutput out = layer(x, start, lengths);
              // The outputs and the final state, as one vector.
              return concatenate({reshape(out.y, {-1}), reshape(out.state, {-1})}, 0);
            });
          });
}

void add_attention(LayerCases& c) {
  Tensor keep = reshape(tensor({1, 0, 1, 1, 0, 0, 0, 1}, DType::Int64).to(DType::Bool), {2, 4});
  auto add_one = [&](const std::string& name, AttentionScore score, Index query, Index key,
                     Index width = 0) {
    for (bool masked : {false, true})
      c.add(kFamily, "ScoredAttention", name + (masked ? ", keep" : ""), Shape{2, 3, query}, [=] {
        return subject(std::make_shared<ScoredAttention>(score, query, key, width),
                       [=](ScoredAttention& a, const Var& x) {
                         Var keys(uniform({2, 4, key}, -1, 1, {5, 1}, kDouble));
                         AttentionResult out =
                             a.attend(x, a.project(keys), tanh(keys), masked ? keep : Tensor());
                         return concatenate({out.context, out.probs}, -1);
                       });
      });
  };
  add_one("additive", AttentionScore::Additive, 3, 2, 4);
  add_one("dot", AttentionScore::Dot, 3, 3);
  add_one("general", AttentionScore::General, 3, 2);
  add_one("concat", AttentionScore::Concat, 3, 2, 4);
}

}  // namespace

void add_recurrent_layers(LayerCases& c) {
  for (CellKind kind : {CellKind::Tanh, CellKind::Relu, CellKind::Gru, CellKind::Lstm})
    add_layer(c, kind, kind == CellKind::Relu ? ", ReLU" : "");
  add_attention(c);
}

}  // namespace glim::specs

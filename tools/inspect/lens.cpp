#include "tools/inspect/lens.hpp"

#include <algorithm>

#include "tensor/matmul/matmul.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"

namespace glim {
namespace {

constexpr Index kLikest = 4;  // that are shown of a vector

// A table with a row for each token, in which a side's vectors are read.
struct TokenRows {
  Tensor rows;  // (V, D)
  const Tokenizer* tokenizer = nullptr;
};

// The matrix of the module with this role. It is undefined if no module has the role.
Tensor matrix_of(const Pass& pass, Role role) {
  for (const PassNode& n : pass.nodes())
    if (n.op == "leaf" && n.value.rank() == 2 && pass.roles().of(n.scope) == role)
      return n.value.to(DType::Float64);
  return {};
}

std::vector<LensToken> largest(const Tensor& products, const Tokenizer& tokenizer) {
  const Ordered likest = top_k(products, std::min(kLikest, products.numel()));
  const auto ids = likest.indices.to_vector<Index>();
  const auto values = likest.values.to_vector<double>();
  std::vector<LensToken> list;
  for (std::size_t i = 0; i < ids.size(); ++i)
    list.push_back({ids[i] < tokenizer.size() ? tokenizer.piece(ids[i])
                                              : "[MASK]",  // bert's, after those of its tokenizer
                    values[i]});
  return list;
}

struct Lens {
  const Pass& pass;
  const Example& example;
  TokenRows source, target;
  std::vector<LensMatrix> found;

  const TokenRows& of(const std::string& module) const {
    return pass.roles().within(module, Role::Encoder) ? source : target;
  }

  // y = x Wᵀ, of whose `out` columns those of one matrix; x (T, in), delta (T, out), g (out, in).
  void read(const std::string& name, const Tensor& x, const Tensor& delta, const Tensor& g,
            const TokenRows* of_x, const TokenRows* of_delta, bool is_generator) {
    LensMatrix m;
    m.matrix = name;
    m.norm = norm(g);
    if (m.norm == 0) return;
    m.error = norm(sub(matmul(transpose(delta, 0, 1), x), g)) / m.norm;
    Tensor shares = div(sum(mul(matmul(delta, g), x), {1}), m.norm * m.norm);      // (T)
    Tensor x_products = of_x ? matmul(x, transpose(of_x->rows, 0, 1)) : Tensor();  // (T, V)
    Tensor descent = neg(delta);
    if (of_delta && !is_generator) descent = matmul(descent, transpose(of_delta->rows, 0, 1));
    const auto& names = positions(x.size(0), of_x == &source || (!of_x && of_delta == &source));
    for (Index t = 0; t < x.size(0); ++t) {
      LensTerm term;
      term.position = names.at(static_cast<std::size_t>(t));
      term.share = select(shares, 0, t).item();
      term.input_norm = norm(select(x, 0, t));
      term.delta_norm = norm(select(delta, 0, t));
      if (of_x) term.input = largest(select(x_products, 0, t), *of_x->tokenizer);
      if (of_delta) term.delta = largest(select(descent, 0, t), *of_delta->tokenizer);
      m.terms.push_back(std::move(term));
    }
    std::stable_sort(m.terms.begin(), m.terms.end(),
                     [](const LensTerm& a, const LensTerm& b) { return a.share > b.share; });
    found.push_back(std::move(m));
  }

  const std::vector<std::string>& positions(Index count, bool of_source) const {
    if (of_source && count == std::ssize(example.source)) return example.source;
    for (const auto* names : {&example.target_in, &example.source})
      if (count == std::ssize(*names)) return *names;
    return example.target_out;
  }
};

// (..., D) -> (T, D) in float64
Tensor rows_of(const Tensor& x) { return reshape(x, {-1, x.size(-1)}).to(DType::Float64); }

}  // namespace

std::vector<LensMatrix> backward_lens(const Pass& pass, const Example& example) {
  const TokenizerPair& both = example.tokenizers;
  Lens lens{pass,
            example,
            {matrix_of(pass, Role::Source), both.source.get()},
            {matrix_of(pass, Role::Output), both.target.get()},
            {}};
  for (Role role : {Role::Target, Role::Source})
    if (!lens.target.rows.defined()) lens.target.rows = matrix_of(pass, role);
  if (!lens.source.rows.defined()) lens.source.rows = lens.target.rows;
  if (!lens.target.rows.defined() || !lens.source.rows.defined()) return {};
  const Index width = lens.target.rows.size(1);
  for (const PassNode& n : pass.nodes()) {
    // x Wᵀ: a matmul whose second factor is a transposed matrix, whole or rows of a larger one.
    if (n.op != "matmul" || n.inputs.size() != 2 || n.inputs[0] < 0 || n.inputs[1] < 0) continue;
    if (!n.gradient.defined() || pass[n.inputs[1]].op != "permute") continue;
    const PassNode& matrix = pass[pass[n.inputs[1]].inputs.at(0)];
    int leaf = matrix.number;
    while (pass[leaf].op == "slice") leaf = pass[leaf].inputs.at(0);
    if (pass[leaf].op != "leaf" || matrix.value.rank() != 2) continue;
    const Tensor flow = pass.flow(n.inputs[1], matrix.number);  // a tied matrix has others, too
    if (!flow.defined()) continue;
    const std::string& name = pass[leaf].name;
    Tensor x = rows_of(pass[n.inputs[0]].value), delta = rows_of(n.gradient), g = rows_of(flow);
    if (x.size(0) != delta.size(0)) continue;
    const Role role = pass.roles().of(pass[leaf].scope);
    const bool generator = delta.size(1) == lens.target.rows.size(0) &&
                           !pass.roles().within(name, Role::Encoder) &&
                           !pass.roles().within(name, Role::Decoder);
    if (generator) {
      lens.read(name, x, delta, g, x.size(1) == width ? &lens.target : nullptr, &lens.target, true);
      continue;
    }
    // The encoder's output, read by the decoder's cross-attention, is of the source.
    const bool memory =
        role == Role::CrossAttention && pass.roles().within(pass[n.inputs[0]].scope, Role::Encoder);
    const TokenRows* of_x = x.size(1) == width ? (memory ? &lens.source : &lens.of(name)) : nullptr;
    if (role == Role::SelfAttention || role == Role::CrossAttention) {
      // Queries, keys and values, or those of them that this x has.
      const Index parts = delta.size(1) / width;
      const auto names = parts == 3   ? std::vector<const char*>{"query", "key", "value"}
                         : parts == 2 ? std::vector<const char*>{"key", "value"}
                                      : std::vector<const char*>{"query"};
      for (std::size_t i = 0; i < names.size(); ++i) {
        Index begin = static_cast<Index>(i) * width;
        lens.read(name + ", " + names[i], x, narrow(delta, 1, begin, width),
                  narrow(g, 0, begin, width), of_x, nullptr, false);
      }
    } else {
      // Only what is added to the residual stream is read: the outputs of a sublayer.
      lens.read(name, x, delta, g, role == Role::Reads ? of_x : nullptr,
                role == Role::Adds ? &lens.of(name) : nullptr, false);
    }
  }
  return lens.found;
}

}  // namespace glim

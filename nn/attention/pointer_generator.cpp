#include "nn/attention/pointer_generator.hpp"

#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"

namespace glim {

constexpr double kFloor = 1e-12;

Var copy_mixture(const Var& logits, const Var& p_gen, const Var& attention, const Tensor& copy_ids,
                 Index extra) {
  Scope scope("copy_mixture");
  auto fail = [&](const char* problem) {
    throw ShapeError(
        "copy_mixture", problem,
        {{"logits", logits}, {"p_gen", p_gen}, {"attention", attention}, {"copy_ids", copy_ids}});
  };
  if (!copy_ids.defined())
    throw ValueError("copy_mixture", "a model that copies needs the source's copy_ids");
  if (copy_ids.dtype() != DType::Int64)
    throw DTypeError("copy_mixture", "copy_ids must be int64", {{"copy_ids", copy_ids}});
  if (extra < 0) throw ValueError("copy_mixture", "the number of further columns is negative");
  if (logits.rank() != 3 || attention.rank() != 3 || copy_ids.rank() != 2)
    fail("logits must be (B, T, V), attention (B, T, S) and copy_ids (B, S)");
  Index b = logits.size(0), t = logits.size(1), s = copy_ids.size(1);
  if (p_gen.shape() != Shape{b, t, 1}) fail("p_gen must be (B, T, 1)");
  if (attention.shape() != Shape{b, t, s} || copy_ids.size(0) != b)
    fail("attention must be (B, T, S), copy_ids (B, S)");
  Var generated = p_gen * softmax(logits, -1);
  if (extra > 0)
    generated =
        concatenate(std::vector<Var>{generated, Var(zeros({b, t, extra}, logits.dtype()))}, -1);
  Var copied = (1 - p_gen) * attention;
  Tensor index = broadcast_to(unsqueeze(copy_ids, 1), {b, t, s});  // (B, S) -> (B, T, S)
  Var probs = named(scatter_add(generated, -1, index, copied), "probs");
  return log(probs + kFloor);
}

PointerGenerator::PointerGenerator(Index context, Index state, Index input)
    : GLIM_NAMED(p_gen, context + state + input, 1) {}

Var PointerGenerator::forward(const Var& logits, const Var& attention, const Var& context,
                              const Var& state, const Var& input, const Tensor& copy_ids,
                              Index extra) {
  if (logits.rank() == 2) {  // one position: (B, ·) -> (B, 1, ·)
    auto one = [](const Var& v) { return unsqueeze(v, 1); };
    const Var v[] = {one(input), one(state), one(context), one(attention), one(logits)};
    return squeeze(forward(v[4], v[3], v[2], v[1], v[0], copy_ids, extra), 1);
  }
  Var gate = sigmoid(p_gen(concatenate({context, state, input}, -1)));
  return copy_mixture(logits, gate, attention, copy_ids, extra);
}

Tensor embeddable(const Tensor& ids, Index vocabulary, Index unknown) {
  return where(less(ids, static_cast<double>(vocabulary)), ids,
               scalar(static_cast<double>(unknown), DType::Int64));
}

}  // namespace glim

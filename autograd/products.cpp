#include "autograd/products.hpp"

#include "tensor/error.hpp"

namespace glim {
namespace {

void require_directions(const char* op, const std::vector<Var>& xs, const std::vector<Var>& vs) {
  if (xs.size() != vs.size())
    throw ShapeError(op, "there are " + std::to_string(xs.size()) + " inputs and " +
                             std::to_string(vs.size()) + " directions");
  for (std::size_t k = 0; k < xs.size(); ++k)
    if (!vs[k].defined() || xs[k].shape() != vs[k].shape() || xs[k].dtype() != vs[k].dtype())
      throw ShapeError(op, "a direction must have its input's shape and dtype",
                       {{"x", xs[k].value()}, {"v", vs[k].value()}});
}

}  // namespace

std::vector<Var> jvp(Tape& tape, const std::vector<Var>& ys, const std::vector<Var>& xs,
                     const std::vector<Var>& vs, bool create_graph) {
  require_directions("jvp", xs, vs);
  std::vector<Var> us;
  for (const Var& y : ys) us.push_back(Var::leaf(zeros(y.shape(), y.dtype()), "u"));
  const std::vector<Var> transposed = tape.grad(ys, xs, us, {.create_graph = true});
  return tape.grad(transposed, us, vs, {.retain = true, .create_graph = create_graph});
}

std::vector<Var> hvp(Tape& tape, const Var& loss, const std::vector<Var>& xs,
                     const std::vector<Var>& vs, bool create_graph) {
  require_directions("hvp", xs, vs);
  const std::vector<Var> gradients = tape.grad(loss, xs, {}, {.create_graph = true});
  return tape.grad(gradients, xs, vs, {.retain = true, .create_graph = create_graph});
}

void each_gradient(Tape& tape, const Var& losses, const std::vector<Var>& xs,
                   const std::function<void(Index, const std::vector<Var>&)>& f) {
  for (Index i = 0; i < losses.numel(); ++i) {
    Tensor one = zeros(losses.shape(), losses.dtype());
    select(reshape(one, {-1}), 0, i).fill_(1);
    f(i, tape.grad(losses, xs, one, {.retain = true}));
  }
}

}  // namespace glim

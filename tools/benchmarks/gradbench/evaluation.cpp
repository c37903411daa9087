#include "tools/benchmarks/gradbench/evaluation.hpp"

namespace glim::gradbench {

Tensor tensor_of(const Json& lists) {
  Shape shape;
  const Json* first = &lists;
  for (; first->is_array() && !first->empty(); first = &first->front())
    shape.push_back(first->size());
  if (first->is_array()) shape.push_back(0);
  std::vector<double> numbers;
  auto read = [&](auto& self, const Json& part) -> void {
    if (!part.is_array())
      numbers.push_back(part.get<double>());
    else
      for (const Json& inner : part) self(self, inner);
  };
  read(read, lists);
  return from_vector(numbers, shape);
}

Var leaf_of(const Json& lists) { return Var::leaf(tensor_of(lists)); }

Json lists_of(const Tensor& x) {
  if (x.rank() == 0) return x.item();
  if (x.rank() == 1) return x.to_vector<double>();
  Json lists = Json::array();
  for (Index i = 0; i < x.size(0); ++i) lists.push_back(lists_of(select(x, 0, i)));
  return lists;
}

Json first(const Tensors& result, const Json&) { return lists_of(result.front()); }

TimedFunction value(const std::string& name, const Read& read) {
  auto prepare = [read](const Json& input) {
    return [problem = read(input)] { return Tensors{problem.y().value()}; };
  };
  return {name, prepare, first};
}

TimedFunction gradient(const std::string& name, const Read& read, const Write& write) {
  auto prepare = [read](const Json& input) {
    return [problem = read(input)] {
      Tape tape;
      Tensors result;
      for (const Var& g : tape.grad(problem.y(), problem.x)) result.push_back(g.value());
      return result;
    };
  };
  return {name, prepare, write};
}

Vars forward_products(Tape& tape, const Var& y, const Var& x, const Vars& vs, bool create_graph) {
  Var u = Var::leaf(zeros(y.shape(), y.dtype()));
  Var g = tape.grad(y, {x}, u, {.create_graph = true})[0];
  Vars products;
  for (const Var& v : vs)
    products.push_back(tape.grad(g, {u}, v, {.retain = true, .create_graph = create_graph})[0]);
  return products;
}

}  // namespace glim::gradbench

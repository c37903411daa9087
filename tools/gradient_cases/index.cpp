#include "tools/gradient_cases/spec.hpp"

namespace glim::specs {

Family index() {
  Family family{"index"};
  Tensor rows = from_vector<std::int64_t>({2, 0, 0, 1, 2}, {5});  // some twice
  Tensor grid = from_vector<std::int64_t>({2, 0, 1, 1}, {2, 2});
  Tensor places = from_vector<std::int64_t>({0, 2, 2, 3, 0, 1}, {2, 3});
  Tensor nothing = from_vector<std::int64_t>({}, {0}), none = empty({2, 0}, DType::Int64);

  auto gathered = [](Index axis, const Tensor& index) {
    return [=](const Var& x) { return gather(x, axis, index); };
  };
  auto scattered = [](Index axis, const Tensor& index) {
    return [=](const Var& x, const Var& y) { return scatter_add(x, axis, index, y); };
  };
  auto selected = [](Index axis, const Tensor& index) {
    return [=](const Var& x) { return index_select(x, axis, index); };
  };
  auto added = [](const Shape& shape, Index axis, const Tensor& index) {
    return [=](const Var& x) { return index_add(shape, axis, index, x); };
  };
  family.add("gather", "rows", {{2, 4}}, squared(gathered(1, places)));
  family.add("gather", "columns", {{4, 3}}, squared(gathered(0, places)));
  family.add("scatter_add", "rows", {{2, 4}, {2, 3}}, squared(scattered(1, places)));
  family.add("scatter_add", "columns", {{4, 3}, {2, 3}}, squared(scattered(0, places)));
  family.add("index_select", "rows", {{3, 2}}, squared(selected(0, rows)));
  family.add("index_select", "columns", {{2, 3}}, squared(selected(-1, rows)));
  family.add("index_select", "grid of rows, as an embedding", {{3, 2}}, squared(selected(0, grid)));
  family.add("index_add", "rows", {{5, 2}}, squared(added({3, 2}, 0, rows)));
  family.add("index_add", "columns", {{2, 5}}, squared(added({2, 4}, 1, rows)));
  family.add("index_add", "grid of rows", {{2, 2, 2}}, squared(added({3, 2}, 0, grid)));
  family.add("sort", "ascending", {{2, 4}}, [](const Var& x) {
    Var first = sort(x).values;
    return mul(first, cumsum(sort(x).values, 1));
  });
  family
      .add("sort", "descending, columns", {{4, 2}},
           squared([](const Var& x) { return sort(x, 0, true).values; }))
      .with_expanded(1);
  Tensor mask = from_vector<bool>({true, false, true, true, false, true}, {2, 3});
  Tensor backwards = from_vector<std::int64_t>({-1, 0, -1}, {3}), column = reshape(rows, {5, 1});
  auto f = [](const std::vector<Tensor>& list) {
    return [=](const Var& x) { return index(x, list); };
  };
  family.add("index", "ids, some twice", {{3, 2}}, squared(f({rows})));
  family.add("index", "from the end", {{2, 4}}, squared(f({Tensor(), backwards})));
  family.add("index", "a mask of two axes", {{2, 3, 2}}, squared(f({mask})));
  family.add("index", "two arrays that broadcast", {{3, 4}}, squared(f({column, backwards})));
  family.add("index", "arrays apart", {{3, 2, 3}}, squared(f({backwards, Tensor(), backwards})));
  auto two = [](const Var& x) { return top_k(x, 2).values; };
  family.add("top_k", "two of four", {{2, 4}}, squared(two));
  family.add_drawn("sort", "ties", exactly({1, 0, 1, 2}), squared(two))
      .with_kinks()
      .with_expanded(-1);

  family.add_empty("gather", "nothing", {{2, 4}}, {2, 0}, gathered(1, none));
  family.add_empty("scatter_add", "nothing", {{2, 4}, {2, 0}}, {2, 4}, scattered(1, none));
  family.add_empty("index_select", "nothing", {{3, 2}}, {0, 2}, selected(0, nothing));
  family.add_empty("index_add", "nothing", {{0, 2}}, {3, 2}, added({3, 2}, 0, nothing));
  family.add_empty("index", "nothing", {{3, 2}}, {0, 2}, f({nothing}));
  family.add_empty("index", "a mask of nothing", {{0, 2}}, {0}, f({empty({0, 2}, DType::Bool)}));
  family.add_empty("sort", "nothing", {{2, 0}}, {2, 0},
                   [](const Var& x) { return sort(x).values; });
  family.add_empty("top_k", "none of four", {{2, 4}}, {2, 0},
                   [](const Var& x) { return top_k(x, 0).values; });
  return family;
}

}  // namespace glim::specs

#include "tools/gradient_cases/spec.hpp"

namespace glim::specs {

Family index() {
  Family family{"index", {}, {}};
  Tensor rows = from_vector<std::int64_t>({2, 0, 0, 1, 2}, {5});  // some twice
  Tensor grid = from_vector<std::int64_t>({2, 0, 1, 1}, {2, 2});
  Tensor places = from_vector<std::int64_t>({0, 2, 2, 3, 0, 1}, {2, 3});
  Tensor nothing = from_vector<std::int64_t>({}, {0});
  auto squared = [](const Var& y) { return mul(y, y); };

  family.add({"gather", "rows", in({{2, 4}}),
              [=](const Vars& x) { return squared(gather(x[0], 1, places)); }});
  family.add({"gather", "columns", in({{4, 3}}),
              [=](const Vars& x) { return squared(gather(x[0], 0, places)); }});
  family.add({"scatter_add", "rows", in({{2, 4}, {2, 3}}),
              [=](const Vars& x) { return squared(scatter_add(x[0], 1, places, x[1])); }});
  family.add({"scatter_add", "columns", in({{4, 3}, {2, 3}}),
              [=](const Vars& x) { return squared(scatter_add(x[0], 0, places, x[1])); }});
  family.add({"index_select", "rows", in({{3, 2}}),
              [=](const Vars& x) { return squared(index_select(x[0], 0, rows)); }});
  family.add({"index_select", "columns", in({{2, 3}}),
              [=](const Vars& x) { return squared(index_select(x[0], -1, rows)); }});
  family.add({"index_select", "grid of rows, as an embedding", in({{3, 2}}),
              [=](const Vars& x) { return squared(index_select(x[0], 0, grid)); }});
  family.add({"index_add", "rows", in({{5, 2}}), [=](const Vars& x) {
                return squared(index_add({3, 2}, 0, rows, x[0]));
              }});
  family.add({"index_add", "columns", in({{2, 5}}), [=](const Vars& x) {
                return squared(index_add({2, 4}, 1, rows, x[0]));
              }});
  family.add({"index_add", "grid of rows", in({{2, 2, 2}}), [=](const Vars& x) {
                return squared(index_add({3, 2}, 0, grid, x[0]));
              }});
  family.add({"sort", "ascending", in({{2, 4}}),
              [=](const Vars& x) { return mul(sort(x[0]).values, cumsum(sort(x[0]).values, 1)); }});
  family.add({"sort", "descending, columns", in({{4, 2}}),
              [=](const Vars& x) { return squared(sort(x[0], 0, true).values); }, false, 1});
  family.add({"top_k", "two of four", in({{2, 4}}),
              [=](const Vars& x) { return squared(top_k(x[0], 2).values); }});
  family.add({"sort", "ties", exactly({1, 0, 1, 2}),
              [=](const Vars& x) { return squared(top_k(x[0], 2).values); }, true, -1});

  family.add_empty({"gather", "nothing", {{2, 4}}, {2, 0}, [=](const Vars& x) {
                      return gather(x[0], 1, empty({2, 0}, DType::Int64));
                    }});
  family.add_empty({"scatter_add", "nothing", {{2, 4}, {2, 0}}, {2, 4}, [=](const Vars& x) {
                      return scatter_add(x[0], 1, empty({2, 0}, DType::Int64), x[1]);
                    }});
  family.add_empty({"index_select", "nothing", {{3, 2}}, {0, 2}, [=](const Vars& x) {
                      return index_select(x[0], 0, nothing);
                    }});
  family.add_empty({"index_add", "nothing", {{0, 2}}, {3, 2}, [=](const Vars& x) {
                      return index_add({3, 2}, 0, nothing, x[0]);
                    }});
  family.add_empty(
      {"sort", "nothing", {{2, 0}}, {2, 0}, [=](const Vars& x) { return sort(x[0]).values; }});
  family.add_empty({"top_k", "none of four", {{2, 4}}, {2, 0}, [=](const Vars& x) {
                      return top_k(x[0], 0).values;
                    }});
  return family;
}

}  // namespace glim::specs

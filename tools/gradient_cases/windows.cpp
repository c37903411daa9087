#include "tools/gradient_cases/spec.hpp"

namespace glim::specs {

Family windows() {
  Family family{"windows", {}, {}};
  // Windows only move elements: the function is squared, so that the gradient depends on x.
  auto cut = [&](const char* name, const Shape& x, Window rows, Window columns, double fill = 0) {
    family.add({"unfold", name, in({x}), [=](const Vars& v) {
                  Var y = unfold(v[0], rows, columns, fill);
                  return mul(y, y);
                }});
  };
  auto put = [&](const char* name, Index b, Index h, Index w, Index c, Window rows,
                 Window columns) {
    Shape y{b, rows.count(h), columns.count(w), rows.kernel, columns.kernel, c};
    family.add({"fold", name, in({y}), [=](const Vars& v) {
                  Var x = fold(v[0], h, w, rows, columns);
                  return mul(x, x);
                }});
  };
  Window one{}, two{.kernel = 2}, padded{.kernel = 3, .before = 1, .after = 1},
      strided{.kernel = 2, .stride = 2}, gaps{.kernel = 2, .stride = 3},
      dilated{.kernel = 2, .dilation = 2, .before = 1, .after = 1},
      causal{.kernel = 3, .before = 2};
  cut("two by two", {1, 3, 3, 2}, two, two);
  cut("padding", {1, 2, 3, 1}, padded, padded);
  cut("stride", {2, 2, 5, 1}, two, strided);
  cut("a stride that leaves gaps", {1, 2, 6, 1}, one, gaps);
  cut("dilation", {1, 3, 4, 1}, dilated, dilated);
  cut("sequence, padding before", {2, 1, 4, 2}, one, causal);
  cut("another fill", {1, 2, 2, 1}, padded, two, -1.5);
  put("two by two", 1, 3, 3, 2, two, two);
  put("padding", 1, 2, 2, 1, padded, padded);
  put("stride", 2, 2, 5, 1, one, strided);
  put("a stride that leaves gaps", 1, 2, 6, 2, one, gaps);
  put("dilation", 1, 3, 3, 1, dilated, dilated);
  family.add_empty({"unfold", "no images", {{0, 3, 3, 2}}, {0, 2, 3, 2, 3, 2}, [=](const Vars& v) {
                      return unfold(v[0], two, padded);
                    }});
  family.add_empty(
      {"unfold", "padding alone", {{2, 0, 3, 1}}, {2, 1, 2, 2, 2, 1}, [=](const Vars& v) {
         return unfold(v[0], {.kernel = 2, .before = 1, .after = 1}, two);
       }});
  family.add_empty({"fold", "no images", {{0, 2, 3, 2, 3, 2}}, {0, 3, 3, 2}, [=](const Vars& v) {
                      return fold(v[0], 3, 3, two, padded);
                    }});
  return family;
}

}  // namespace glim::specs

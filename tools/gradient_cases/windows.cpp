#include "tools/gradient_cases/spec.hpp"

namespace glim::specs {

Family windows() {
  Family family{"windows"};
  auto cut = [](Window rows, Window columns, double fill = 0) {
    return [=](const Var& x) { return unfold(x, rows, columns, fill); };
  };
  auto put = [&](const char* name, Index b, Index h, Index w, Index c, Window rows,
                 Window columns) {
    Shape y{b, rows.count(h), columns.count(w), rows.kernel, columns.kernel, c};
    family.add("fold", name, {y},
               squared([=](const Var& x) { return fold(x, h, w, rows, columns); }));
  };
  Window one{}, two{.kernel = 2}, padded{.kernel = 3, .before = 1, .after = 1},
      strided{.kernel = 2, .stride = 2}, gaps{.kernel = 2, .stride = 3},
      dilated{.kernel = 2, .dilation = 2, .before = 1, .after = 1},
      causal{.kernel = 3, .before = 2};
  family.add("unfold", "two by two", {{1, 3, 3, 2}}, squared(cut(two, two)));
  family.add("unfold", "padding", {{1, 2, 3, 1}}, squared(cut(padded, padded)));
  family.add("unfold", "stride", {{2, 2, 5, 1}}, squared(cut(two, strided)));
  family.add("unfold", "a stride that leaves gaps", {{1, 2, 6, 1}}, squared(cut(one, gaps)));
  family.add("unfold", "dilation", {{1, 3, 4, 1}}, squared(cut(dilated, dilated)));
  family.add("unfold", "sequence, padding before", {{2, 1, 4, 2}}, squared(cut(one, causal)));
  family.add("unfold", "another fill", {{1, 2, 2, 1}}, squared(cut(padded, two, -1.5)));
  put("two by two", 1, 3, 3, 2, two, two);
  put("padding", 1, 2, 2, 1, padded, padded);
  put("stride", 2, 2, 5, 1, one, strided);
  put("a stride that leaves gaps", 1, 2, 6, 2, one, gaps);
  put("dilation", 1, 3, 3, 1, dilated, dilated);
  family.add_empty("unfold", "no images", {{0, 3, 3, 2}}, {0, 2, 3, 2, 3, 2}, cut(two, padded));
  family.add_empty("unfold", "padding alone", {{2, 0, 3, 1}}, {2, 1, 2, 2, 2, 1},
                   cut({.kernel = 2, .before = 1, .after = 1}, two));
  family.add_empty("fold", "no images", {{0, 2, 3, 2, 3, 2}}, {0, 3, 3, 2},
                   [=](const Var& x) { return fold(x, 3, 3, two, padded); });
  return family;
}

}  // namespace glim::specs

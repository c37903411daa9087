// Structs whose fields are rows (models/row.hpp), from keywords of Python.
#pragma once

#include <algorithm>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <string>
#include <vector>

#include "models/row.hpp"
#include "models/stored_rows.hpp"
#include "tools/python/arrays.hpp"

namespace glim::python {

// False for a value of another type. ValueError naming the choices for an unknown word.
inline bool assign(const Row& row, nb::handle value) {
  return std::visit(
      [&]<class T>(const T& field) {
        if constexpr (std::is_same_v<T, Choice>) {
          std::string word;
          if (!nb::try_cast(value, word)) return false;
          restore(row, word);
          return true;
        } else {
          return nb::try_cast(value, *field);
        }
      },
      row.field);
}

// A struct from keywords, its rows but those that are left out. TypeError for other keywords.
template <class C>
C from_keywords_of(const std::string& what, nb::kwargs keywords,
                   const std::vector<std::string>& left_out = {}) {
  C c;
  std::vector<std::string> known;
  for (const Row& row : c.rows()) {
    if (std::ranges::find(left_out, row.name) != left_out.end()) continue;
    known.push_back(row.name);
    const char* name = row.name.c_str();
    if (keywords.contains(name) && !assign(row, keywords[name]))
      throw nb::type_error((what + ": the argument '" + row.name + "' has another type").c_str());
  }
  for (auto [key, value] : keywords) {
    const std::string name = nb::cast<std::string>(key);
    if (std::ranges::find(known, name) != known.end()) continue;
    std::string text = what + ": unknown argument '" + name + "'; known are ";
    for (const std::string& k : known) text += (&k == &known[0] ? "" : ", ") + k;
    throw nb::type_error(text.c_str());
  }
  return c;
}

}  // namespace glim::python

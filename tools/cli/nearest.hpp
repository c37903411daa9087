// Names that look like one that is not known: what a person may have meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace glim {

// Insertions, deletions, replacements and swaps of neighbours that turn a into b (Damerau 1964, the
// restricted form: no part is edited twice). Counted in bytes, without regard to case.
std::size_t edit_distance(std::string_view a, std::string_view b);

// " (nearest: encoder.layers.0, encoder.layers.1)": the known names most like `name`, at most three,
// those that begin with it first; nothing when there is none at all.
std::string nearest_names(std::string_view name, const std::vector<std::string>& known);

}  // namespace glim

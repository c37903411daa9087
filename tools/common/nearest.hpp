// Known names that resemble an unknown one: what the user may have meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace glim {

// Insertions, deletions, replacements and swaps of neighbours that turn a into b (Damerau 1964, the
// restricted form: no part is edited twice). Counted in bytes, without regard to case.
std::size_t edit_distance(std::string_view a, std::string_view b);

// " (nearest: encoder.layers.0, encoder.layers.1)": at most three known names that are most like `name`. Names that begin
// with it come first, then names that contain it. Empty if no name is known.
std::string nearest_names(std::string_view name, const std::vector<std::string>& known);

// The known name that was probably meant: with at most a third of its letters wrong, begun or contained, with
// _ for - or without it. Empty when none is like it.
std::string meant_name(std::string_view name, const std::vector<std::string>& known);
// ": did you mean cosine?", or nothing.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& known);

// The known names that are `pattern`, or that it means with its * and ?. ValueError of `op` naming the
// nearest when there is none, or when there are more than `most`; `what` is what they name.
std::vector<std::string> matching_names(const std::string& op, const std::string& what,
                                        const std::string& pattern,
                                        const std::vector<std::string>& known,
                                        std::size_t most = 500);

// "decoder.layers.2.multihead_attn-1-dS": a name made fit for a file.
std::string file_stem(const std::string& name);

}  // namespace glim

// A matrix of probabilities as a picture in the terminal, with tokens at its rows and columns:
//
//             I    have   a    cat   </s>
//      我   ████
//      有         ████
//      一               ▓▓▓▓
//
// Each cell is as wide as its column's token, which may be cut; columns are counted as terminals
// show them, so wide characters keep their place.
#pragma once

#include <string>
#include <vector>

namespace glim {

// values[i][j]: row i, column j, each in [0, 1]. Rows may be shorter than `column_heads`; missing cells are
// blank. The text ends in a newline. Columns that do not fit into `columns`, the terminal's, are left out, with a note.
std::string matrix_picture(const std::vector<std::vector<double>>& values,
                           const std::vector<std::string>& row_heads,
                           const std::vector<std::string>& column_heads, int columns = 80);

// The shades and what they mean: "  ░ 0.05  ▒ 0.20  ▓ 0.40  █ 0.70 and more".
std::string shade_legend();

}  // namespace glim

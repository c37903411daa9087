// The abilities of the terminal.
#pragma once

#include <string>

namespace glim {

bool is_terminal(int fd);
// Columns of the terminal behind `fd`; COLUMNS or 80 where there is none.
int terminal_columns(int fd);

}  // namespace glim

// What the terminal can show.
#pragma once

#include <string>

namespace glim {

bool is_terminal(int fd);
// Columns of the terminal behind `fd`; COLUMNS or 80 where there is none.
int terminal_columns(int fd);
// Whether block characters can be shown: not on a terminal whose locale is not UTF-8.
bool shows_unicode(int fd);

}  // namespace glim

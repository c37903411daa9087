// In place of glibc's: a page has one thread.
#pragma once

inline constexpr char __libc_single_threaded = 1;

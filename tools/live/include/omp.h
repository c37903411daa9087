// In place of OpenMP: a page has one thread.
#pragma once

inline int omp_get_max_threads() { return 1; }
inline void omp_set_num_threads(int) {}
inline bool omp_in_parallel() { return false; }

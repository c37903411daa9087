// The tool is tested on this: check.py mutates it, and knows which mutants must survive.
#pragma once

namespace example {

struct Norm {
  static constexpr int kAxes[2] = {0, 1};

  // The mean of the n elements that are kept.
  double mean(const double* x, const bool* keep, int n) const {
    double sum = 0;
    int count = 0;
    for (int i = 0; i < n; ++i) {
      if (!keep[i]) continue;
      sum += x[i];
      ++count;
    }
    return count > 0 ? sum / count : 0;
  }
  double dx(double dy, double y) const { return dy * (1 - y * y); }
};

struct Counter {
  int n = 0;
  void count() { ++n; }
};
// An object stays the object that it is, in the tree of all mutants too.
inline void count(double x, Counter& low, Counter& high) { (x < 3 ? low : high).count(); }

inline int sign(double x) { return x < 0 ? -1 : 1; }  // 0 counts as positive, and no test says so

}  // namespace example

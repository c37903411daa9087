// The check of one subject, from its values to the report: what both modes need stands in compare.cpp, each mode
// in a file of its own.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include "autograd/gradcheck/mistakes.hpp"
#include "autograd/gradcheck/numeric.hpp"

namespace glim::detail {

inline bool same_doubles(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

struct Recording {
  bool rows = false;
  bool forward_elsewhere = false;  // of other values, before backward
};

class Check {
 public:
  Check(const Subject& subject, GradcheckOptions options);
  GradcheckReport run();

 private:
  struct Recorded {  // of one run on a tape
    std::vector<double> values;
    std::vector<std::vector<double>> along_u;  // Jᵀu by input
    std::vector<std::vector<double>> rows;     // J by input, row-major; Full mode
    std::vector<Shape> output_shapes;
    bool operator!=(const Recorded& o) const {
      bool same = same_doubles(values, o.values);
      for (std::size_t i = 0; i < along_u.size(); ++i)
        same = same && same_doubles(along_u[i], o.along_u[i]);
      return !same;
    }
  };

  GradcheckOptions& options() { return report_.options; }
  const GradcheckOptions& options() const { return report_.options; }
  RandomKey key(std::uint64_t purpose, std::size_t which) const {
    return {report_.options.seed, purpose << 32 | which};
  }
  bool coarse() const {  // is anything float32 on the analytic side?
    return std::any_of(wanted_.begin(), wanted_.end(),
                       [&](std::size_t k) { return subject_.values[k].dtype() == DType::Float32; });
  }

  void choose_side();
  void choose_tolerance();
  bool same_twice();
  // u for output o: the same whatever runs.
  Tensor upstream(const Var& y, std::size_t o) const { return random_like(y.value(), key(1, o)); }
  Recorded record(Recording how = {}) const;
  Neighbourhood forward_elsewhere() const;

  double epsilon() const { return report_.in_float64 ? 0x1p-52 : 0x1p-23; }
  double step_at(double x, int level) const {
    double step = report_.options.step;
    if (report_.options.precise && level < kPreciseLevels) {
      step *= std::pow(4, kPreciseFirst - level);
    } else {
      if (report_.options.precise) step = std::cbrt(epsilon());
      const int finer = level - ordinary_level();  // from kLevels on coarser
      step /=
          std::pow(refinement(report_.in_float64), finer < kLevels ? finer : kLevels - 1 - finer);
    }
    return step * std::max(1.0, std::abs(x));
  }
  int first_level() const { return report_.options.precise ? kPreciseFirst : 0; }
  int ordinary_level() const { return report_.options.precise ? kPreciseLevels : 0; }
  int pairs() const { return report_.options.precise ? 4 : 1; }
  Verdict judged(ComparedDerivative& found, const std::function<Probe(int level)>& probe,
                 Tolerance& tolerance) const;
  void note(GradcheckEntry& e, Verdict verdict, ComparedDerivative found,
            const Tolerance& tolerance) const;

  // ---- Full mode (full_mode.cpp) ----

  // All outputs on both sides of one element.
  struct Column {
    double h;
    std::vector<std::vector<double>> minus, plus;
  };
  Column column(std::size_t input, Index j, int level) const;
  Probe probe_of(const Column& c, std::size_t row) const;
  std::vector<double> excuses(std::size_t i, Index element) const;
  void full();
  void full_column(std::size_t i, Index j);
  void name_mistakes();

  // ---- Projection mode (projection_mode.cpp) ----

  double along_u_now(const std::vector<double>& values) const;
  Probe probe_along(std::size_t input, const std::vector<double>& v, Index begin, Index end,
                    int level) const;
  Index largest_difference(std::size_t i, const std::vector<double>& v,
                           const std::function<double(Index, Index)>& analytic) const;
  bool excused_by_kinks(std::size_t i, Index element) const;
  void projections();
  void project(int direction);

  const Subject& subject_;
  GradcheckReport report_;
  Tolerance tolerance_{}, ordinary_{};  // ordinary_: of what no step makes precise
  std::vector<std::size_t> wanted_;     // inputs that are checked
  std::optional<Neighbourhood> near_;
  std::vector<double> origin_;  // outputs at the copies
  JacobianPairs jacobians_;     // Full mode
  Recorded recorded_;
  std::vector<double> u_;  // of all outputs, one after the other
};

}  // namespace glim::detail

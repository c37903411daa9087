// Two magnifications of the same model.
//
//   Fused      attention, layer norm, losses ... run as hand-written kernels: one node each
//   Explicit   the same functions are recorded as their primitives: every intermediate a node
//
// A test holds values and gradients of both equal for every fused op. Training runs fused,
// inspection explicit. The choice belongs to the thread and lasts to the end of the block.
#pragma once

#include <utility>

namespace glim {

enum class Magnification { Fused, Explicit };

class Magnify {
 public:
  explicit Magnify(Magnification m) : before_(std::exchange(now_, m)) {}
  ~Magnify() { now_ = before_; }
  Magnify(const Magnify&) = delete;
  Magnify& operator=(const Magnify&) = delete;

 private:
  friend Magnification magnification();
  static inline thread_local Magnification now_ = Magnification::Fused;
  Magnification before_;
};

inline Magnification magnification() { return Magnify::now_; }

}  // namespace glim

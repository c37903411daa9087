// Two magnifications of the same model.
//
//   Fused      attention, layer norm, losses ... run as hand-written kernels: one node each
//   Explicit   the same functions are recorded as their primitives: every intermediate a node
//
// A test holds values and gradients of both equal for every fused op. Training runs fused,
// inspection explicit. The choice belongs to the thread and lasts to the end of the block.
#pragma once

namespace glim {

enum class Magnification { Fused, Explicit };

Magnification magnification();

class Magnify {
 public:
  explicit Magnify(Magnification m);
  ~Magnify();
  Magnify(const Magnify&) = delete;
  Magnify& operator=(const Magnify&) = delete;

 private:
  Magnification before_;
};

}  // namespace glim

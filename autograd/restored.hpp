// A value that may change until the end of the block, and is set back there.
//
//   Restored recording(paused, 0);      // paused is 0 now, and what it was after the block
#pragma once

#include <utility>

namespace glim {

template <class T>
class Restored {
 public:
  explicit Restored(T& place) : place_(place), before_(place) {}
  Restored(T& place, T value) : place_(place), before_(std::exchange(place, std::move(value))) {}
  ~Restored() { place_ = std::move(before_); }
  Restored(const Restored&) = delete;
  Restored& operator=(const Restored&) = delete;

 private:
  T& place_;
  T before_;
};

}  // namespace glim

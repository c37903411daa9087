#include "autograd/magnification.hpp"

#include <utility>

namespace glim {
namespace {
thread_local Magnification now = Magnification::Fused;
}

Magnification magnification() { return now; }
Magnify::Magnify(Magnification m) : before_(std::exchange(now, m)) {}
Magnify::~Magnify() { now = before_; }

}  // namespace glim

#include "autograd/observe/parts.hpp"

namespace glim {

const Replay* Replayer::of(int node) const {
  if (static_cast<std::size_t>(node) >= kept_.size() || !kept_[node].value.defined())
    return nullptr;
  return &kept_[node];
}

void Replayer::recorded_replay(int node, Replay replay) {
  if (static_cast<std::size_t>(node) >= kept_.size()) kept_.resize(node + 1);
  kept_[node] = std::move(replay);
}

// From the back, so that no chain of owners can recurse.
void Replayer::nodes_removed(int size, bool) {
  while (kept_.size() > static_cast<std::size_t>(size)) kept_.pop_back();
}

}  // namespace glim

// Memory of tapes is used again: that of removed nodes by the same tape, that of the lists by the next tape on the
// thread, unless they are long. Scope paths are kept because the next step uses the same ones.
#include "autograd/tape.hpp"

namespace glim {
namespace {

constexpr std::size_t kMost = std::size_t{1} << 16;
thread_local bool ended = false;  // the thread's spare lists; a static tape may outlive them

}  // namespace

struct Tape::Spare {
  ArenaList<Node> nodes;
  std::unordered_map<const Leaf*, int> leaf_nodes;
  std::unordered_set<std::string> names;
  ~Spare() { ended = true; }
};

void Tape::swap_lists() {
  static thread_local Spare spare;
  std::swap(nodes_, spare.nodes);
  std::swap(leaf_nodes_, spare.leaf_nodes);
  std::swap(names_, spare.names);
}

void Tape::take_lists() {
  if (!ended) swap_lists();
}

void Tape::leave_lists() {
  if (!ended && nodes_.capacity() + names_.size() <= kMost) swap_lists();
}

void Tape::truncate(const Place& place, bool keep_seen) {
  while (nodes_.size() > place.size) {
    if (Leaf* leaf = nodes_.back().leaf.get()) leaf_nodes_.erase(leaf);
    nodes_.remove_last();
  }
  arena_.rewind(place.mark);
  if (replay_.size() > place.size) replay_.resize(place.size);
  notify([&](Observer& o) { o.nodes_removed(static_cast<int>(place.size), keep_seen); });
}

}  // namespace glim

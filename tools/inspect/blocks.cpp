#include "tools/inspect/blocks.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "tools/measure/statistics.hpp"

namespace glim {
namespace {

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  while (start <= path.size() && !path.empty()) {
    std::size_t dot = path.find('.', start);
    parts.push_back(path.substr(start, dot - start));
    if (dot == std::string::npos) break;
    start = dot + 1;
  }
  return parts;
}

// The box that a scope is in; an empty module for what is in none.
Block block_of(const std::string& scope) {
  Block b;
  std::vector<std::string> parts = parts_of(scope);
  if (parts.empty()) return b;
  bool target = parts[0].starts_with("decoder") || parts[0].starts_with("tgt") ||
                parts[0] == "generator" || parts[0] == "copy";
  b.side = target ? "decoder" : "encoder";
  std::size_t layers = 0;
  while (layers < parts.size() && parts[layers] != "layers") ++layers;
  if (layers + 2 < parts.size()) {  // X.layers.N.part...
    b.layer = std::atoi(parts[layers + 1].c_str());
    b.part = parts[layers + 2];
    if (b.part == "linear1" || b.part == "linear2") b.part = "feed_forward";
    for (std::size_t i = 0; i <= layers + 1; ++i) b.module += parts[i] + ".";
    b.module += b.part;
    return b;
  }
  if (layers < parts.size()) return b;  // between the parts of a layer: residual additions
  b.part = parts.size() > 1 ? parts[0] + "." + parts[1] : parts[0];
  b.module = b.part;
  return b;
}

// Where the parameters of a module that was not entered are used (the generator, whose product may
// belong to the loss): the last node that is two ops away from them, W -> Wᵀ -> x Wᵀ, b -> + b.
int user_of(const Capture& c, const std::string& module) {
  int last = -1;
  for (const CapturedNode& n : c.nodes) {
    if (n.op != "leaf" || n.scope != module) continue;
    for (int first : c.consumers[static_cast<std::size_t>(n.number)])
      for (int second : c.consumers[static_cast<std::size_t>(first)]) last = std::max(last, second);
  }
  return last;
}

}  // namespace

std::vector<Block> blocks_of(const Capture& c) {
  std::vector<Block> list;
  std::map<std::string, std::size_t> found;
  for (const CapturedNode& n : c.nodes) {
    Block b = block_of(n.scope);
    if (b.module.empty()) continue;
    auto [at, added] = found.try_emplace(b.module, list.size());
    if (added) list.push_back(b);
    Block& block = list[at->second];
    if (n.op == "leaf") {
      block.parameter_gradient_norm = std::hypot(block.parameter_gradient_norm, n.gradient_norm);
    } else {
      block.node = n.number;
    }
  }
  std::vector<Block> boxes;
  for (Block& b : list) {
    if (b.node < 0) b.node = user_of(c, b.module);
    if (b.node < 0) continue;
    b.gradient_norm = c[b.node].gradient_norm;
    b.value_norm = statistics(c[b.node].value).norm;
    boxes.push_back(std::move(b));
  }
  return boxes;
}

}  // namespace glim

#include "tools/inspect/blocks.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "tools/measure/statistics.hpp"

namespace glim {
namespace {

// The box that a scope is in; an empty module for what is in none.
Block block_of(const Pass& pass, const std::string& scope) {
  Block b;
  if (scope.empty()) return b;
  b.side = "encoder";
  for (Role role : {Role::Target, Role::TargetPositions, Role::Decoder, Role::Output, Role::Copy})
    if (pass.roles().within(scope, role)) b.side = "decoder";
  if (const std::string layer = pass.roles().layer(scope); !layer.empty()) {
    if (layer == scope) return b;  // between the parts of a layer: residual additions
    b.layer = layer_number(layer);
    b.part = pass.roles().part(layer, scope);
    b.module = layer + "." + b.part;
    return b;
  }
  b.module = b.part =
      scope.substr(0, scope.find('.', std::min(scope.find('.'), scope.size() - 1) + 1));
  return b;
}

double gradient_norm(const PassNode& n) {
  return n.gradient.defined() ? statistics(n.gradient).norm : 0;
}

// Where the parameters of a module that was not entered are used (the generator, whose product may
// belong to the loss): the last node that is two ops away from them, W -> Wᵀ -> x Wᵀ, b -> + b.
int user_of(const Pass& pass, const std::string& module) {
  int last = -1;
  for (const PassNode& n : pass.nodes()) {
    if (n.op != "leaf" || n.scope != module) continue;
    for (int first : pass.consumers(n.number))
      for (int second : pass.consumers(first)) last = std::max(last, second);
  }
  return last;
}

}  // namespace

std::vector<Block> blocks_of(const Pass& pass) {
  std::vector<Block> list;
  std::map<std::string, std::size_t> found;
  for (const PassNode& n : pass.nodes()) {
    Block b = block_of(pass, n.scope);
    if (b.module.empty()) continue;
    auto [entry, added] = found.try_emplace(b.module, list.size());
    if (added) list.push_back(b);
    Block& block = list[entry->second];
    if (n.op == "leaf") {
      const double g = gradient_norm(n), sum = block.parameter_gradient_norm;
      block.parameter_gradient_norm = std::sqrt(sum * sum + g * g);
    } else {
      block.node = n.number;
    }
  }
  std::vector<Block> boxes;
  for (Block& b : list) {
    if (b.node < 0) b.node = user_of(pass, b.module);
    if (b.node < 0) continue;
    b.gradient_norm = gradient_norm(pass[b.node]);
    b.value_norm = statistics(pass[b.node].value).norm;
    boxes.push_back(std::move(b));
  }
  return boxes;
}

}  // namespace glim

#include "tools/pass/roles.hpp"

#include <algorithm>
#include <cstdlib>

#include "models/bert/bert.hpp"
#include "models/cnn/cnn.hpp"
#include "models/conv/conv_seq2seq.hpp"
#include "models/gpt/gpt.hpp"
#include "models/non_autoregressive/non_autoregressive.hpp"
#include "models/rnn/seq2seq_rnn.hpp"
#include "models/transformer/transformer.hpp"
#include "models/vit/vit.hpp"
#include "tools/common/ascii.hpp"

namespace glim {
namespace {

// f(path) for each beginning of a path, "encoder", "encoder.layers", ...: the first for which f is true, or "".
template <class F>
std::string beginning(const std::string& path, const F& f) {
  for (std::size_t dot = 0; dot < path.size(); ++dot) {
    dot = std::min(path.find('.', dot), path.size());
    if (std::string whole = path.substr(0, dot); f(whole)) return whole;
  }
  return {};
}

const Module* address(const Module& m) { return &m; }
template <class M>
const Module* address(const Child<std::unique_ptr<M>>& m) {
  return m ? &*m : nullptr;
}

using RolesOfModules = std::map<const Module*, Role>;

// f(m) if the module is an M.
template <class M, class F>
void if_is(const Module& module, const F& f) {
  if (const auto* m = dynamic_cast<const M*>(&module)) f(*m);
}

// The roles of a module's members.
void add_members(const Module& module, RolesOfModules& roles) {
  auto set = [&](const auto& member, Role role) { roles[address(member)] = role; };
  auto layer = [&](const auto& m) {
    set(m, Role::Layer);
    set(m.self_attn, Role::SelfAttention);
    set(m.linear1, Role::Reads);
    set(m.linear2, Role::Adds);
    if (m.linear3) set(*m.linear3, Role::Reads);
    if constexpr (requires { m.multihead_attn; }) set(m.multihead_attn, Role::CrossAttention);
  };
  if_is<EncoderLayer>(module, layer);
  if_is<DecoderLayer>(module, layer);
  if_is<GatedConvolution>(module, [&](const auto& m) { set(m, Role::Layer); });
  if_is<CnnLayer>(module, [&](const auto& m) { set(m, Role::Layer); });
  if_is<MultiheadAttention>(module, [&](const auto& m) { set(m.out_proj, Role::Adds); });
  auto translator = [&](const auto& m) {
    set(m.src_embed, Role::Source);
    set(m.encoder, Role::Encoder);
    set(m.decoder, Role::Decoder);
    set(m.generator, Role::Output);
    if constexpr (requires { m.tgt_embed; }) set(m.tgt_embed, Role::Target);
    if constexpr (requires { m.tgt_positions; }) set(m.tgt_positions, Role::TargetPositions);
    if constexpr (requires { m.copy; }) set(m.copy, Role::Copy);
  };
  if_is<Transformer>(module, translator);
  if_is<NonAutoregressive>(module, translator);
  if_is<ConvSeq2Seq>(module, translator);
  if_is<Seq2SeqRnn>(module, translator);
  if_is<Gpt>(module, [&](const Gpt& m) {
    set(m.wte, Role::Target);
    set(m.transformer, Role::Decoder);
    set(m.lm_head, Role::Output);
  });
  if_is<Bert>(module, [&](const Bert& m) {
    set(m.embed, Role::Source);
    set(m.encoder, Role::Encoder);
  });
  if_is<MaskedLanguageModel>(module, [&](const auto& m) { set(m.generator, Role::Output); });
  if_is<Vit>(module, [&](const Vit& m) { set(m.encoder, Role::Encoder); });
  if_is<Cnn>(module, [&](const Cnn& m) { set(m.layers, Role::Encoder); });
}

void add_paths(const Module& module, const std::string& prefix, RolesOfModules& found,
               std::map<std::string, Role>& paths) {
  add_members(module, found);
  for (const auto& [name, child] : module.children()) {
    add_paths(*child, prefix + name + ".", found, paths);
    paths[prefix + name] = found[child];
  }
}

}  // namespace

Roles::Roles(const Module& model) {
  RolesOfModules found;
  add_paths(model, "", found, paths_);
}

Roles::Roles(const std::vector<std::string>& modules) {
  auto numbered = [](const std::string& path) {
    const std::string name = path.substr(path.rfind('.') + 1);
    return !name.empty() && std::ranges::all_of(name, is_digit);
  };
  for (const std::string& module : modules)
    if (const std::string layer = beginning(module, numbered); !layer.empty())
      paths_[layer] = Role::Layer;
}

bool Roles::knows_sides() const {
  return std::ranges::any_of(paths_, [](const auto& entry) {
    return entry.second == Role::Encoder || entry.second == Role::Decoder;
  });
}

Role Roles::of(const std::string& module) const {
  auto entry = paths_.find(module);
  return entry == paths_.end() ? Role::None : entry->second;
}

bool Roles::within(const std::string& path, Role role) const {
  return !beginning(path, [&](const std::string& p) { return of(p) == role; }).empty();
}

std::string Roles::layer(const std::string& path) const {
  return beginning(path, [&](const std::string& p) { return of(p) == Role::Layer; });
}

std::string Roles::part(const std::string& module, const std::string& scope) const {
  const std::size_t begin =
      !module.empty() && scope.starts_with(module + ".") ? module.size() + 1 : 0;
  std::size_t end = scope.find('.', begin);
  if (end != scope.npos && of(scope.substr(0, scope.find('.', end + 1))) == Role::Layer)
    end = scope.find('.', end + 1);  // an item of a list keeps its number
  const Role role = of(scope.substr(0, end));
  if (role == Role::Reads || role == Role::Adds) return "feed_forward";
  return scope.substr(begin, end - begin);
}

int layer_number(const std::string& layer) {
  return layer.empty() ? 0 : std::atoi(layer.c_str() + layer.rfind('.') + 1);
}

}  // namespace glim
